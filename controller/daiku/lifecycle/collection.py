"""What has lost its other half: instances without a NodeClaim, and NodeClaims whose instance is gone.

Both come of a crash, of a person, or of the cloud. They are found by comparing what the cloud lists with what is
wanted; nothing has to be remembered for it.

Source: Karpenter's nodeclaim.garbagecollection.
"""

from collections.abc import Iterator

from daiku.commands import DeleteNodeClaim, TerminateInstance
from daiku.lifecycle.draft import Draft
from daiku.settings import Settings
from daiku.state.snapshot import Snapshot
from daiku.state.statenode import StateNode


def advance(draft: Draft, state_node: StateNode, snapshot: Snapshot) -> None:
    """Give the NodeClaim up if its instance is gone and its Node does not prove otherwise."""
    claim, listed = draft.claim, snapshot.instances
    if listed is None or not claim.provider_id or not claim.is_true("Registered"):
        return
    if state_node.node is not None and state_node.node.is_ready:
        return
    registered = draft.condition("Registered")
    since = registered.last_transition if registered is not None else None
    if since is None or listed.asked <= since:
        return
    if any(i.provider_id == claim.provider_id and not i.terminating for i in listed.instances):
        return
    meta = claim.meta
    draft.commands.append(DeleteNodeClaim(name=meta.name, uid=meta.uid, reason="garbage_collected"))
    draft.ended = True


def orphans(snapshot: Snapshot, settings: Settings) -> Iterator[TerminateInstance]:
    """Instances of this cluster that no NodeClaim stands for.

    One that is younger than `orphan_grace` may belong to a NodeClaim that has not been seen yet; one whose NodeClaim
    has no instance yet will be adopted by that claim's launch.
    """
    if snapshot.instances is None:
        return
    claims = {s.claim_name: s.claim for s in snapshot.state_nodes if s.claim is not None}
    wanted = {claim.provider_id: True for claim in claims.values() if claim.provider_id}
    wanted |= {instance.provider_id: True for instance in snapshot.launched.values()}
    for instance in snapshot.instances.instances:
        claim = claims.get(instance.node_claim)
        adoptable = claim is not None and not claim.provider_id
        young = snapshot.instances.asked - instance.launched < settings.orphan_grace
        if not (instance.terminating or instance.provider_id in wanted or adoptable or young):
            yield TerminateInstance(provider_id=instance.provider_id, node_claim="")
