"""Nodes that were made for pods which move stay closed until these wait for them.

The problem: what is evicted is bound again within milliseconds, each pod to the node that is then the least full, so
a repack that is exact on paper comes apart: pods that belong on nodes with much memory end on others, and more nodes
have to be bought. The idea: as long as none of the new nodes is open, pods that find no room elsewhere wait; then they
can be nominated, each to the node on which its place is kept (`state.places`), and the node opens. A pod waits for some
seconds longer than it would have; so this is done only for repacks that pay for moves, never for longer than
`OPEN_AFTER`, and not where a pod that waits could have others evicted, or where a node needs DaemonSets to come up.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Final

from daiku.commands import PatchNode
from daiku.disruption import payback, record
from daiku.disruption.ground import Ground
from daiku.disruption.moves import Move
from daiku.model import condition, resources, taints
from daiku.model.nodeclaim import NodeClaim
from daiku.scheduling import nominating
from daiku.scheduling.solution import NewNode
from daiku.state.statenode import StateNode

REST: Final = timedelta(seconds=3)
"""How long after the first node began to go the new ones stay closed at least: successors have to be made first, which
takes a ReplicaSet a second or two when there are hundreds."""
PATIENCE: Final = timedelta(seconds=8)
"""How long they wait for pods that have not left yet, because of their budgets or of pods that leave before them."""
OPEN_AFTER: Final = timedelta(seconds=20)
"""After this they are opened all at once and without nominations, which are made for one node after the other."""
CLOSED_MOST: Final = timedelta(minutes=5)
"""How long one that is ready stays closed while others are still coming up."""
_PLAIN: Final = frozenset(
    {resources.CPU, resources.MEMORY, resources.PODS, resources.EPHEMERAL_STORAGE}
)
"""Resources that every kubelet reports."""


@dataclass(slots=True)
class Opening:
    """Which nodes open now, and when to look at the others again."""

    commands: list[PatchNode] = field(default_factory=list[PatchNode])
    wakes: list[datetime] = field(default_factory=list[datetime])


def may_wait(nodes: Sequence[StateNode], ground: Ground) -> bool:
    """Whether the pods of these nodes may be made to wait until new nodes open for them."""
    pools = {s.nodepool: ground.snapshot.node_pool(s.nodepool) for s in nodes}
    if not all(pool is not None and payback.horizon(pool) for pool in pools.values()):
        return False
    # Nobody shall lose its place to a pod that waits only because its node is closed.
    least = ground.least_priority()
    return all(pod.priority <= least for s in nodes for pod in s.reschedulable)


def is_plain(node: NewNode) -> bool:
    """Whether it comes up without the help of pods that might not tolerate the taint.

    DaemonSets report extended resources, and startup taints are taken off by something that runs there.
    """
    return not node.pool.template.startup_taints and _PLAIN.issuperset(node.requests)


def plan(ground: Ground) -> Opening:
    """Open what need not be closed any longer."""
    made, by_id = Opening(), {move.record.id: move for move in ground.moves}
    for state_node in ground.snapshot.state_nodes:
        node, claim = state_node.node, state_node.claim
        if not state_node.is_awaiting or node is None or claim is None or state_node.is_leaving:
            continue
        written = record.read(claim)
        move = by_id.get(written.id) if written is not None else None
        at = _opens_at(state_node, move, ground)
        if at is None or at > ground.now:
            made.wakes += [at] if at is not None else []
            continue
        late = move is not None and ground.now - _began(move, ground) >= OPEN_AFTER
        made.commands.append(
            PatchNode(
                name=node.meta.name,
                resource_version=node.meta.resource_version,
                taints=taints.without(node.taints, (taints.AWAITING_PODS,)),
                taints_before=node.taints,
                nominates=() if late else nominating.guests(node, claim, ground.snapshot),
            )
        )
    return made


def _opens_at(state_node: StateNode, move: Move | None, ground: Ground) -> datetime | None:
    """When it is to open; None when only an event says so."""
    claim = state_node.claim
    if move is None or claim is None or move.record.surged:
        # Called off, or over; or it is surged pods that wait, while the old ones stay.
        return ground.now
    if move.staying:
        ready = condition.find(claim.conditions, "Initialized")
        since = ready.last_transition if ready is not None and ready.status == "True" else None
        return since + CLOSED_MOST if since is not None else None
    return _began(move, ground) + (PATIENCE if _is_expected(claim, move, ground) else REST)


def _began(move: Move, ground: Ground) -> datetime:
    """When the first of its nodes began to go."""
    claims = (s.claim for s in move.members if s.is_leaving)
    return min((c.meta.deleted or ground.now for c in claims if c is not None), default=ground.now)


def _is_expected(claim: NodeClaim, move: Move, ground: Ground) -> bool:
    """Whether a pod that is to come has not been evicted yet; of any, when nobody knows who is to come.

    Or kube-scheduler has not looked at it yet: until then it cannot be nominated, and would go wherever there is room.
    """
    running = {
        p.meta.key: True for s in move.members for p in s.reschedulable if p.meta.deleted is None
    }
    kept = ground.snapshot.places.get(claim.meta.name)
    if bool(running) if kept is None else any(pod.meta.key in running for pod in kept):
        return True
    nominations = ground.snapshot.nominations
    fresh = (pod.meta.key for pod in ground.snapshot.waiting if not pod.unschedulable)
    return any(key in nominations and nominations[key].target == claim.meta.name for key in fresh)
