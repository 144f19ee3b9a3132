"""The end of a node that the cloud has announced: its NodeClaim is deleted at once, so that its pods leave in time.

No disruption budget is asked: the machine goes whatever they say. A broken machine gets a deadline of now, so that
neither its pods nor its volumes hold it. A recommendation is only told, unless a setting asks for more: then the node
counts as drifted, which gets it a replacement first, and as many at a time as budgets allow.

A warning is settled when nothing is left to be done about it: its NodeClaim is seen to be deleted, or there is none.
Until then the message that brought it stays in the queue, so a crash loses nothing.

Source: Karpenter's interruption controller.
"""

from collections.abc import Mapping, Sequence

from daiku import reasons
from daiku.commands import Announce, DeleteNodeClaim
from daiku.events import Interrupted
from daiku.lifecycle.draft import Draft
from daiku.model import interruption, labels
from daiku.model.nodeclaim import NodeClaim
from daiku.reason import Reason
from daiku.settings import Settings
from daiku.state.snapshot import Snapshot
from daiku.state.statenode import StateNode

Warnings = Mapping[str, Sequence[Interrupted]]
"""Name of a NodeClaim -> what was said about its instance."""


def by_claim(snapshot: Snapshot) -> Warnings:
    """The warnings that concern a NodeClaim."""
    if not snapshot.interruptions:
        return {}
    owners = {instance_id(i.provider_id): name for name, i in snapshot.launched.items()}
    owners |= {
        instance_id(s.claim.provider_id): s.claim_name
        for s in snapshot.state_nodes
        if s.claim is not None and s.claim.provider_id
    }
    found: dict[str, list[Interrupted]] = {}
    for warning in snapshot.interruptions:
        name = owners.get(warning.instance_id)
        if name is not None:
            found.setdefault(name, []).append(warning)
    return found


def settled(warnings: Warnings, snapshot: Snapshot, settings: Settings) -> tuple[Interrupted, ...]:
    """Warnings about which nothing is left to be done."""
    open_ = {
        warning: True
        for name, about in warnings.items()
        for warning in about
        if (state_node := snapshot.by_name.get(name)) is not None
        and state_node.claim is not None
        and _is_open(warning.kind, state_node.claim, settings)
    }
    return tuple(w for w in snapshot.interruptions if w not in open_)


def advance(
    draft: Draft, state_node: StateNode, warnings: Sequence[Interrupted], settings: Settings
) -> None:
    """Give a NodeClaim up whose instance will not stay."""
    claim = draft.claim
    if claim.meta.deleted is None:
        for kind in dict.fromkeys(w.kind for w in warnings):
            reason, what = interruption.ANNOUNCED[kind], interruption.sentence(kind)
            normal = not interruption.ends(kind)
            _announce(draft, state_node, "Normal" if normal else "Warning", reason, what)
            if kind == interruption.REBALANCE and settings.drain_on_rebalance:
                draft.annotations[labels.REBALANCE] = "true"
    ending = [w.kind for w in warnings if interruption.ends(w.kind)]
    if any(kind in interruption.FORCED for kind in ending) and not _has_deadline(claim):
        # First the deadline, then the deletion: the other way round its pods might hold it.
        draft.annotations[labels.TERMINATION_TIMESTAMP] = draft.now.isoformat(
            timespec="seconds"
        ).replace("+00:00", "Z")
    elif ending and claim.meta.deleted is None:
        what = interruption.sentence(ending[0])
        _announce(
            draft, state_node, "Warning", reasons.TERMINATING_ON_INTERRUPTION, f"drains: {what}"
        )
        meta = claim.meta
        draft.commands.append(
            DeleteNodeClaim(name=meta.name, uid=meta.uid, reason=Reason(ending[0]))
        )
        draft.ended = True


def instance_id(provider_id: str) -> str:
    """The instance that a provider id names."""
    return provider_id.rpartition("/")[2]


def _is_open(kind: str, claim: NodeClaim, settings: Settings) -> bool:
    if kind == interruption.REBALANCE and settings.drain_on_rebalance:
        return claim.meta.deleted is None and labels.REBALANCE not in claim.meta.annotations
    if not interruption.ends(kind):
        return False
    unforced = kind in interruption.FORCED and not _has_deadline(claim)
    return claim.meta.deleted is None or unforced


def _has_deadline(claim: NodeClaim) -> bool:
    return labels.TERMINATION_TIMESTAMP in claim.meta.annotations


def _announce(draft: Draft, state_node: StateNode, kind: str, reason: Reason, message: str) -> None:
    draft.announce(kind, reason, message)
    node = state_node.node
    if node is not None:
        draft.commands.append(
            Announce.on("Node", node.meta, type_=kind, reason=reason, message=message)
        )
