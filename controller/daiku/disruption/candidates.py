"""Which nodes may be disrupted at all, and what keeps the others.

A candidate is a node that nothing forbids to take away: it is ours, complete, not going already, and nobody counts on
it. Its pods may still object; then only a method may take it that is allowed to overrule them, because the node's
termination grace period bounds how long they can hold it. Whether it is worth taking away, and whether its NodePool
allows it now, is asked by the methods.

Source: Karpenter's NewCandidate and ValidateNodeDisruptable.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

from daiku import reasons
from daiku.disruption import disruption_commands, eviction_cost
from daiku.model import labels, taints
from daiku.model.condition import find as find_condition
from daiku.model.node import Node
from daiku.model.nodeclaim import NodeClaim
from daiku.model.nodepool import NodePool
from daiku.model.pdb import Budgets
from daiku.model.pod import Pod
from daiku.reason import NO_REASON, Reason
from daiku.report import Kept
from daiku.state.snapshot import Snapshot
from daiku.state.statenode import StateNode
from daiku.surge.asks import Asks

_AGAIN: Final = {
    disruption_commands.REPLACEMENT_FAILED: timedelta(minutes=10),
    disruption_commands.SURGE_STOPPED: timedelta(hours=1),
}
"""How long a node is left alone after it was let off, by the reason why."""
_AGAIN_SOON: Final = timedelta(minutes=1)
_SECOND: Final = timedelta(seconds=1)
"""Times of creation are whole seconds."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Candidate:
    """A node that may be disrupted."""

    state_node: StateNode
    claim: NodeClaim
    node: Node
    pool: NodePool
    objection: Kept | None = None
    """What a pod on it has against it; None when none has."""
    cost: float = eviction_cost.NODE
    """What moving them costs (`eviction_cost.of_pods`)."""

    @property
    def name(self) -> str:
        """The NodeClaim's name."""
        return self.claim.meta.name

    @property
    def reschedulable(self) -> tuple[Pod, ...]:
        """Pods that would have to run elsewhere."""
        return self.state_node.reschedulable

    @property
    def is_empty(self) -> bool:
        """Nobody has to move for it."""
        return not self.reschedulable

    @property
    def is_dry(self) -> bool:
        """Whether its NodePool wants to know what would be done, and not have it done."""
        return self.pool.disruption_mode == "dry-run"

    @property
    def objection_to_drift(self) -> Kept | None:
        """What keeps it even from methods that may overrule pods.

        Source: Karpenter's eventual disruption class.
        """
        return self.objection if self.claim.termination_grace_period is None else None


def find(
    snapshot: Snapshot, placements: Mapping[str, str], moving: Mapping[str, str], now: datetime
) -> tuple[list[Candidate], list[Kept]]:
    """Every candidate, in the order of names, and why each other node of a NodePool is kept.

    Args:
        snapshot: Nodes, pods and budgets.
        placements: Where pending pods are expected, by this tick's word.
        moving: NodeClaims that have a part in a command under way -> which one, for people.
        now: The time.
    """
    found: list[Candidate] = []
    kept: list[Kept] = []
    expected_on = {target: pod for pod, target in sorted(placements.items(), reverse=True)}
    standing = _Standing(
        snapshot, expected_on, moving, Budgets.of(snapshot.pdbs), Asks.of(snapshot), now
    )
    for state_node in snapshot.state_nodes:
        if state_node.claim is None or state_node.is_leaving or state_node.expected:
            continue
        candidate = _candidate(state_node, standing)
        if isinstance(candidate, Kept):
            kept.append(candidate)
        else:
            found.append(candidate)
    return found, kept


@dataclass(frozen=True, slots=True)
class _Standing:
    """What is the same for all nodes of one tick."""

    snapshot: Snapshot
    expected_on: Mapping[str, str]
    """Node or NodeClaim -> a pending pod that is expected there."""
    moving: Mapping[str, str]
    budgets: Budgets
    asks: Asks
    now: datetime


def _candidate(state_node: StateNode, standing: _Standing) -> Candidate | Kept:
    name = state_node.claim_name
    claim, node = state_node.claim, state_node.node
    if claim is None or node is None or not state_node.is_initialized:
        return Kept(
            node_claim=name,
            reason=reasons.NOT_INITIALIZED,
            message="its node is not ready for pods yet",
        )
    if state_node.is_awaiting:
        closed = "it is closed until the pods that it was made for wait for it"
        return Kept(node_claim=name, reason=reasons.NOMINATED, message=closed)
    if name in standing.moving:
        return Kept(node_claim=name, reason=reasons.DISRUPTING, message=standing.moving[name])
    pool = standing.snapshot.node_pool(state_node.nodepool)
    if pool is None:
        missing = f"there is no NodePool {state_node.nodepool!r} to say how it may be disrupted"
        return Kept(node_claim=name, reason=reasons.NODE_POOL_NOT_FOUND, message=missing)
    if pool.disruption_mode == "paused":
        paused = f"NodePool {pool.meta.name} is paused by its annotation {labels.DISRUPTION_MODE}"
        return Kept(node_claim=name, reason=reasons.PAUSED, message=paused)
    waiting = standing.expected_on.get(state_node.name) or standing.expected_on.get(name)
    if waiting is not None:
        return Kept(
            node_claim=name,
            reason=reasons.NOMINATED,
            message=f"pending pod {waiting} is expected on it",
        )
    began = standing.snapshot.scale_out_since
    if began is not None and (claim.meta.created or began) >= began - _SECOND:
        coming = "it was made in a scale-out whose pods are still coming"
        return Kept(node_claim=name, reason=reasons.NOMINATED, message=coming)
    if is_forbidden(state_node):
        forbidden = f"its annotation {labels.DO_NOT_DISRUPT} forbids it"
        return Kept(node_claim=name, reason=reasons.DO_NOT_DISRUPT, message=forbidden)
    again = let_off_until(claim)
    if state_node.reschedulable and again is not None and again > standing.now:
        return Kept(
            node_claim=name,
            reason=reasons.LET_OFF,
            message=f"{_why_let_off(claim)}; looked at again from {again:%H:%M:%S} UTC on",
        )
    return Candidate(
        state_node=state_node,
        claim=claim,
        node=node,
        pool=pool,
        objection=objection(state_node, standing.budgets, standing.now, standing.asks),
        cost=eviction_cost.of_pods(state_node.reschedulable),
    )


def kept_from_consolidation(candidate: Candidate, now: datetime | None) -> tuple[Reason, str]:
    """Why a node may not be consolidated whatever it would save, as reason and message; both empty when it may.

    Args:
        candidate: Any, empty or not.
        now: The time; None to leave aside how long it has been quiet.
    """
    pool = candidate.pool
    due = candidate.state_node.consolidatable_at(pool)
    if candidate.objection is not None:
        return candidate.objection.reason, candidate.objection.message
    if pool.replicas is not None:
        return reasons.STATIC_NODE_POOL, f"NodePool {pool.meta.name} has a fixed number of nodes"
    if pool.consolidate_after is None or (now is not None and due is None):
        return (
            reasons.CONSOLIDATION_DISABLED,
            f"NodePool {pool.meta.name} has consolidateAfter Never",
        )
    if now is not None and due is not None and due > now:
        message = f"a pod came or went recently; it may go from {due:%H:%M:%S} UTC on"
        return reasons.TOO_YOUNG, message
    return NO_REASON, ""


def _why_let_off(claim: NodeClaim) -> str:
    told = find_condition(claim.conditions, disruption_commands.CONDITION)
    why = f", {told.reason}: {told.message}" if told is not None else ""
    return f"a disruption was called off{why}"


def let_off_until(claim: NodeClaim) -> datetime | None:
    """Until when a node whose disruption was called off is left alone; None when none was."""
    told = find_condition(claim.conditions, disruption_commands.CONDITION)
    if told is None or told.status != "False" or told.last_transition is None:
        return None
    return told.last_transition + _AGAIN.get(Reason(told.reason), _AGAIN_SOON)


def is_forbidden(state_node: StateNode) -> bool:
    """Whether the annotation of the node itself forbids to disrupt it."""
    halves = (half for half in (state_node.claim, state_node.node) if half is not None)
    return any(h.meta.annotations.get(labels.DO_NOT_DISRUPT) == "true" for h in halves)


def objection(
    state_node: StateNode, budgets: Budgets, now: datetime, asks: Asks | None = None
) -> Kept | None:
    """What the first pod that objects has against taking the node away.

    A budget does not keep pods that `asks` says can have their replacements first.
    """
    name = state_node.claim_name
    if not (state_node.protected or budgets.concern(state_node.namespaces)):
        return None
    for pod in state_node.pods:
        if not pod.is_active:
            continue
        if pod.must_not_be_disrupted(now):
            message = f"pod {pod.meta.key} carries {labels.DO_NOT_DISRUPT}"
            return Kept(node_claim=name, reason=reasons.POD_DO_NOT_DISRUPT, message=message)
        about = budgets.about(pod)
        if not about or pod.is_mirror or taints.tolerates(pod.tolerations, taints.DISRUPTED):
            continue
        if len(about) > 1:
            names = " and ".join(pdb.meta.name for pdb in about)
            message = f"pod {pod.meta.key} has PodDisruptionBudgets {names}; eviction allows one"
            return Kept(node_claim=name, reason=reasons.SEVERAL_BUDGETS, message=message)
        for pdb in about:
            if pdb.disruptions_allowed < 1 and (pod.ready or not pdb.lets_unready_go):
                if pod.ready and asks is not None and asks.can_have(pod, state_node):
                    continue
                message = f"PodDisruptionBudget {pdb.meta.key} allows 0 disruptions, and selects pod {pod.meta.key}"
                return Kept(node_claim=name, reason=reasons.POD_DISRUPTION_BUDGET, message=message)
    return None
