"""Broken machines are replaced: a Node whose condition has been bad for longer than its cloud says mends itself.

No budget, annotation or grace period is asked, because nothing works there any more. But when more than a fifth of
the nodes of a NodePool are unhealthy at once, it is more likely the network, or an upgrade, than the machines: then
nothing is replaced, and that is told.

Source: Karpenter's node.health.
"""

from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from typing import Final

from daiku import reasons
from daiku.commands import Announce, DeleteNodeClaim
from daiku.lifecycle.draft import Draft
from daiku.model import labels
from daiku.model.condition import find
from daiku.model.node import Node
from daiku.model.repair import RepairPolicy
from daiku.reason import Reason
from daiku.settings import Settings
from daiku.state.snapshot import Snapshot
from daiku.state.statenode import StateNode

REASON: Final = reasons.ENDED_UNHEALTHY
_UNHEALTHY_PERCENT_MOST: Final = 20
_BLOCKED: Final = timedelta(minutes=5)
"""How often a repair that is blocked is looked at again (Karpenter's interval)."""

Unhealthy = Mapping[str, tuple[int, int]]
"""NodePool -> unhealthy nodes, and the most that may be unhealthy for any to be replaced; "" is the whole cluster."""


def count(snapshot: Snapshot, settings: Settings) -> Unhealthy:
    """How many nodes are unhealthy, however short a time."""
    if not settings.repair_policies:
        return {}
    found: dict[str, tuple[int, int]] = {}
    for state_node in snapshot.state_nodes:
        if state_node.node is None:
            continue
        bad = bool(_matching(state_node.node, settings.repair_policies))
        for pool in dict.fromkeys((state_node.nodepool, "")):
            unhealthy, nodes = found.get(pool, (0, 0))
            found[pool] = unhealthy + bad, nodes + 1
    return {
        pool: (unhealthy, -(-nodes * _UNHEALTHY_PERCENT_MOST // 100))
        for pool, (unhealthy, nodes) in found.items()
    }


def advance(draft: Draft, state_node: StateNode, unhealthy: Unhealthy, settings: Settings) -> None:
    """Give the NodeClaim up if its Node has been broken for too long."""
    node, claim = state_node.node, draft.claim
    if node is None or claim.meta.deleted is not None or not settings.repair_policies:
        return
    due = [
        (condition_since + policy.toleration, policy)
        for policy, condition_since in _matching(node, settings.repair_policies)
    ]
    if not due:
        return
    at, policy = min(due, key=lambda each: (each[0], each[1].condition))
    if at > draft.now:
        draft.wakes.append(at)
        return
    bad, most = unhealthy[claim.nodepool]
    if bad > most:
        draft.wakes.append(draft.now + _BLOCKED)
        where = f"NodePool {claim.nodepool}" if claim.nodepool else "the cluster"
        told = f"{bad} nodes of {where} are unhealthy, more than {_UNHEALTHY_PERCENT_MOST}% ({most}): none is replaced"
        draft.commands.append(_tell(node, reasons.NODE_REPAIR_BLOCKED, told))
        return
    if not _is_over(claim.meta.annotations.get(labels.TERMINATION_TIMESTAMP), draft.now):
        # First the deadline, then the deletion: the other way round its pods might hold it.
        draft.annotations[labels.TERMINATION_TIMESTAMP] = draft.now.isoformat(
            timespec="seconds"
        ).replace("+00:00", "Z")
        return
    what = f"condition {policy.condition} has been {policy.status} for {policy.toleration}"
    draft.commands.append(_tell(node, reasons.NODE_REPAIR, f"{what}: the node is replaced"))
    draft.commands.append(DeleteNodeClaim(name=claim.meta.name, uid=claim.meta.uid, reason=REASON))
    draft.ended = True


def _matching(node: Node, policies: Sequence[RepairPolicy]) -> list[tuple[RepairPolicy, datetime]]:
    """Policies whose condition the Node has, and since when."""
    found = [(p, find(node.conditions, p.condition)) for p in policies]
    return [
        (p, c.last_transition)
        for p, c in found
        if c is not None and c.status == p.status and c.last_transition is not None
    ]


def _is_over(written: str | None, now: datetime) -> bool:
    try:
        return written is not None and datetime.fromisoformat(written) <= now
    except ValueError:
        return False


def _tell(node: Node, reason: Reason, message: str) -> Announce:
    return Announce.on("Node", node.meta, type_="Warning", reason=reason, message=message)
