"""What has lost its other half: instances without a NodeClaim, and NodeClaims whose instance or Node is gone.

Both come of a crash, of a person, or of the cloud. They are found by comparing what the cloud lists with what is
wanted; nothing has to be remembered for it.

Source: Karpenter's nodeclaim.garbagecollection.
"""

from collections.abc import Iterator
from datetime import datetime, timedelta
from typing import Final

from daiku import reasons
from daiku.commands import DeleteNode, DeleteNodeClaim, TerminateInstance
from daiku.lifecycle.draft import Draft
from daiku.model import labels
from daiku.model.condition import find
from daiku.reason import Reason
from daiku.settings import Settings
from daiku.state.snapshot import Snapshot
from daiku.state.statenode import StateNode

_SETTLED: Final = timedelta(minutes=1)
"""What was launched or registered this long ago is in every list, unless someone removed it."""


def advance(draft: Draft, state_node: StateNode, snapshot: Snapshot) -> None:
    """Give the NodeClaim up if its Node was taken away, or if its instance is gone and no live Node denies it."""
    claim, node = draft.claim, state_node.node
    registered = find(claim.conditions, "Registered")
    launched = find(claim.conditions, "Launched")
    if launched is None or launched.status != "True" or launched.last_transition is None:
        return
    if registered is not None and registered.status == "True" and node is None:
        seen = (registered.last_transition or draft.now) + _SETTLED
        if seen <= draft.now:
            _give_up(draft, reasons.ENDED_NODE_DELETED)
        else:
            draft.wakes.append(seen)
    elif (node is None or not node.is_ready) and _is_missing(
        claim.provider_id, launched.last_transition + _SETTLED, snapshot
    ):
        _give_up(draft, reasons.ENDED_GARBAGE_COLLECTED)


def _is_missing(instance: str, since: datetime, snapshot: Snapshot) -> bool:
    """Whether a list that was made after `since` does not show the instance, or shows it on its way out."""
    listed = snapshot.instances
    if listed is None or listed.asked <= since:
        return False
    return not any(i.provider_id == instance and not i.terminating for i in listed.instances)


def _give_up(draft: Draft, reason: Reason) -> None:
    meta = draft.claim.meta
    draft.commands.append(DeleteNodeClaim(name=meta.name, uid=meta.uid, reason=reason))
    draft.ended = True


def orphans(snapshot: Snapshot, settings: Settings) -> Iterator[TerminateInstance | DeleteNode]:
    """The end of instances of this cluster that no NodeClaim stands for.

    One that is younger than `orphan_grace` may belong to a NodeClaim that has not been seen yet; one whose NodeClaim
    has no instance yet will be adopted by that claim's launch. One that runs a registered Node is drained first.
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
        if instance.terminating or instance.provider_id in wanted or adoptable or young:
            continue
        nodes = snapshot.nodes_of.get(instance.provider_id, ())
        held = [n for n in nodes if labels.TERMINATION_FINALIZER in n.meta.finalizers]
        yield from (
            DeleteNode(name=n.meta.name, uid=n.meta.uid) for n in held if n.meta.deleted is None
        )
        if not held:
            yield TerminateInstance(provider_id=instance.provider_id, node_claim="")
