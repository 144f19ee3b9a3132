"""Nodes that were made for pods which move stay closed until these wait for them.

The problem: what is evicted is bound again within milliseconds, each pod to the node that is then the least full, so
a repack that is exact on paper comes apart: pods that belong on nodes with much memory end on others, and more nodes
have to be bought. The idea: as long as none of the new nodes is open, pods that find no room elsewhere wait; then they
can be nominated, each to the node on which its place is kept (`state.places`), and the node opens. A pod waits for some
seconds longer than it would have; so this is done only for repacks that pay for moves, never for longer than
`OPEN_AFTER`, and not where a pod that waits could have others evicted, or where a node needs DaemonSets to come up.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

from daiku.commands import Command, PatchNode
from daiku.disruption import disruption_commands, eviction_cost
from daiku.disruption.context import DisruptionContext, MethodResult
from daiku.disruption.disruption_commands import Move
from daiku.model import condition, resources, taints
from daiku.model.node import Node
from daiku.model.nodeclaim import NodeClaim
from daiku.scheduling import nominating
from daiku.scheduling.solution import NewNode
from daiku.state.places import OPEN_AFTER
from daiku.state.statenode import StateNode

REST: Final = timedelta(seconds=3)
"""How long after the first node began to go the new ones stay closed at least: successors have to be made first, which
takes a ReplicaSet a second or two when there are hundreds."""
PATIENCE: Final = timedelta(seconds=15)
"""How long they wait for pods that have not left yet, because of their budgets or of pods that leave before them; and
how long a pod that waits may be kept waiting for others that still come."""
CLOSED_MOST: Final = timedelta(minutes=5)
"""How long one that is ready stays closed while others are still coming up."""
QUIET: Final = timedelta(seconds=3)
"""When none has come for so long no more successors are to be expected; times of creation are whole seconds."""
NOMINATING: Final = timedelta(seconds=6)
"""How long it is tried to nominate everybody: kube-scheduler may take nominations off as fast as they are made."""
_PLAIN: Final = frozenset(
    {resources.CPU, resources.MEMORY, resources.PODS, resources.EPHEMERAL_STORAGE}
)
"""Resources that every kubelet reports."""


def may_wait(nodes: Sequence[StateNode], context: DisruptionContext) -> bool:
    """Whether the pods of these nodes may be made to wait until new nodes open for them."""
    pools = {s.nodepool: context.snapshot.node_pool(s.nodepool) for s in nodes}
    if not all(pool is not None and eviction_cost.horizon(pool) for pool in pools.values()):
        return False
    # Nobody shall lose its place to a pod that waits only because its node is closed.
    running = (pod.priority for s in context.snapshot.state_nodes for pod in s.reschedulable)
    least = min(running, default=0)
    return all(pod.priority <= least for s in nodes for pod in s.reschedulable)


def is_plain(node: NewNode) -> bool:
    """Whether it comes up without the help of pods that might not tolerate the taint.

    DaemonSets report extended resources, and startup taints are taken off by something that runs there.
    """
    return not node.pool.template.startup_taints and _PLAIN.issuperset(node.requests)


def plan(context: DisruptionContext) -> MethodResult:
    """Open what need not be closed any longer: all at once, when all who wait for it have been nominated.

    Whenever a node opens, kube-scheduler tries all pods that wait; before 1.35 it takes the nominations off those whose
    node is still closed, and each that it tried in vain it puts off for longer.
    """
    awaiting = [s for s in context.snapshot.state_nodes if s.is_awaiting]
    if not awaiting:
        return MethodResult()
    quiet, by_id = _quiet_at(awaiting, context), {move.record.id: move for move in context.moves}
    closed = [c for s in awaiting if (c := _closed(s, by_id, quiet, context))]
    at = max((each.at for each in closed if each.together), default=context.now)
    opens = [min(at, each.late) if each.together else each.at for each in closed]
    wakes = [moment for moment in opens if moment > context.now]
    due = [c for c, moment in zip(closed, opens, strict=True) if moment <= context.now]
    patient = [c for c in due if context.now < min(at + NOMINATING, c.late)]
    nominations: list[Command] = [
        PatchNode(name=c.node.meta.name, resource_version=c.node.meta.resource_version, nominates=p)
        for c in patient
        if (p := nominating.guests(c.node, c.claim, context.snapshot))
    ]
    # Those who were nominated a moment ago may have been tried just then, and lose it again.
    holds = context.snapshot.holds
    fresh = [holds[key] for c in patient if (key := f"Node/{c.node.meta.name}") in holds]
    if nominations or fresh:
        wakes += [hold.until for hold in fresh if hold.until is not None]
        return MethodResult(commands=nominations, wakes=[*wakes, at + NOMINATING])
    return MethodResult(commands=[_opened(each.node) for each in due], wakes=wakes)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Closed:
    """A node that pods cannot come to yet."""

    node: Node
    claim: NodeClaim
    at: datetime
    """When it may open, as far as is known now."""
    late: datetime
    """When it opens whatever is."""
    together: bool = True
    """Whether it opens with the others; it does not wait for them while its own pods still run, or their surge."""


def _closed(
    state_node: StateNode, by_id: Mapping[str, Move], quiet: datetime, context: DisruptionContext
) -> _Closed | None:
    """What is known of a closed node; None for one that is not there or does not stay."""
    node, claim = state_node.node, state_node.claim
    if node is None or claim is None or state_node.is_leaving:
        return None
    written = disruption_commands.read(claim)
    move = by_id.get(written.id) if written is not None else None
    ready = condition.find(claim.conditions, "Initialized")
    since = ready.last_transition if ready is not None and ready.status == "True" else None
    most = (since or context.now) + CLOSED_MOST
    if move is None:
        # Called off, or over.
        return _Closed(node=node, claim=claim, at=min(quiet, most), late=most)
    if move.record.surged or move.staying:
        # What is surged waits for it while the old pods stay.
        at = context.now if move.record.surged else most
        return _Closed(node=node, claim=claim, at=at, late=most, together=False)
    began = _began(move, context)
    at = began + PATIENCE
    if not _is_expected(claim, move, context):
        at = min(max(quiet, began + REST), at)
    return _Closed(node=node, claim=claim, at=at, late=began + OPEN_AFTER)


def _opened(node: Node) -> PatchNode:
    return PatchNode(
        name=node.meta.name,
        resource_version=node.meta.resource_version,
        taints=taints.without(node.taints, (taints.AWAITING_PODS,)),
        before=node,
    )


def _began(move: Move, context: DisruptionContext) -> datetime:
    """When the first of its nodes began to go."""
    claims = (s.claim for s in move.members if s.is_leaving)
    return min(
        (c.meta.deleted or context.now for c in claims if c is not None), default=context.now
    )


def _is_expected(claim: NodeClaim, move: Move, context: DisruptionContext) -> bool:
    """Whether a pod that is to come has not been evicted yet; of any, when nobody knows who is to come."""
    running = {
        p.meta.key: True for s in move.members for p in s.reschedulable if p.meta.deleted is None
    }
    kept = context.snapshot.places.get(claim.meta.name)
    return bool(running) if kept is None else any(pod.meta.key in running for pod in kept)


def _quiet_at(awaiting: Sequence[StateNode], context: DisruptionContext) -> datetime:
    """When all who wait for these nodes are there, and kube-scheduler has looked at them, or one has waited too long.

    Whom it has not looked at cannot be nominated yet, and would go wherever there is room.
    """
    names = {name: True for s in awaiting for name in (s.claim_name, s.name)}
    nominations = context.snapshot.nominations
    waiting = [
        pod
        for pod in context.snapshot.waiting
        if pod.meta.key in nominations and nominations[pod.meta.key].target in names
    ]
    born = [pod.meta.created for pod in waiting if pod.meta.created is not None]
    if not born:
        return context.now
    most = min(born) + PATIENCE
    return min(max(born) + QUIET, most) if all(pod.unschedulable for pod in waiting) else most
