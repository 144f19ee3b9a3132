"""Which nodes may be disrupted at all, and what keeps the others.

A candidate is a node that nothing forbids to take away: it is ours, complete, not going already, nobody counts on it,
and no pod on it objects. Whether it is worth taking away, and whether its NodePool allows it now, is asked by the
methods.

Source: Karpenter's NewCandidate.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime

from daiku.model import labels, selectors, taints
from daiku.model.node import Node
from daiku.model.nodeclaim import NodeClaim
from daiku.model.nodepool import NodePool
from daiku.model.pod import Pod
from daiku.report import Kept
from daiku.state.snapshot import Snapshot
from daiku.state.statenode import StateNode


@dataclass(frozen=True, slots=True, kw_only=True)
class Candidate:
    """A node that may be disrupted."""

    state_node: StateNode
    claim: NodeClaim
    node: Node
    pool: NodePool

    @property
    def reschedulable(self) -> tuple[Pod, ...]:
        """Pods that would have to run elsewhere."""
        return tuple(pod for pod in self.state_node.pods if pod.is_reschedulable)


def find(
    snapshot: Snapshot, placements: Mapping[str, str], now: datetime
) -> tuple[list[Candidate], list[Kept]]:
    """Every candidate, in the order of names, and why each other node of a NodePool is kept.

    Args:
        snapshot: Nodes, pods and budgets.
        placements: Where pending pods are expected, by this tick's word.
        now: The time.
    """
    found: list[Candidate] = []
    kept: list[Kept] = []
    expected_on = {target: pod for pod, target in sorted(placements.items(), reverse=True)}
    for state_node in snapshot.state_nodes:
        if state_node.claim is None or state_node.is_leaving or state_node.expected:
            continue
        candidate = _candidate(state_node, snapshot, expected_on, now)
        if isinstance(candidate, Kept):
            kept.append(candidate)
        else:
            found.append(candidate)
    return found, kept


def _candidate(
    state_node: StateNode, snapshot: Snapshot, expected_on: Mapping[str, str], now: datetime
) -> Candidate | Kept:
    name = state_node.claim_name
    claim, node = state_node.claim, state_node.node
    if claim is None or node is None or not state_node.is_initialized:
        return Kept(
            node_claim=name, reason="NotInitialized", message="its node is not ready for pods yet"
        )
    pool = snapshot.node_pool(state_node.nodepool)
    if pool is None:
        missing = f"there is no NodePool {state_node.nodepool!r} to say how it may be disrupted"
        return Kept(node_claim=name, reason="NodePoolNotFound", message=missing)
    waiting = expected_on.get(state_node.name) or expected_on.get(name)
    if waiting is not None:
        return Kept(
            node_claim=name, reason="Nominated", message=f"pending pod {waiting} is expected on it"
        )
    if _forbids(claim.meta.annotations) or _forbids(node.meta.annotations):
        forbidden = f"its annotation {labels.DO_NOT_DISRUPT} forbids it"
        return Kept(node_claim=name, reason="DoNotDisrupt", message=forbidden)
    objection = _objection(state_node, snapshot, now)
    if objection is not None:
        return Kept(node_claim=name, reason=objection[0], message=objection[1])
    return Candidate(state_node=state_node, claim=claim, node=node, pool=pool)


def _forbids(annotations: Mapping[str, str]) -> bool:
    return annotations.get(labels.DO_NOT_DISRUPT) == "true"


def _objection(state_node: StateNode, snapshot: Snapshot, now: datetime) -> tuple[str, str] | None:
    """Reason and sentence of the first pod that objects."""
    for pod in state_node.pods:
        if pod.is_active and pod.must_not_be_disrupted(now):
            return "PodDoNotDisrupt", f"pod {pod.meta.key} carries {labels.DO_NOT_DISRUPT}"
        if not _is_evictable(pod):
            continue
        budgets = [
            pdb
            for pdb in snapshot.pdbs
            if pdb.meta.namespace == pod.meta.namespace
            and selectors.selects(pdb.selector, pod.meta.labels)
        ]
        if len(budgets) > 1:
            names = " and ".join(pdb.meta.name for pdb in budgets)
            return (
                "SeveralBudgets",
                f"pod {pod.meta.key} has PodDisruptionBudgets {names}; eviction allows one",
            )
        for pdb in budgets:
            if pdb.disruptions_allowed < 1:
                return (
                    "PodDisruptionBudget",
                    f"PodDisruptionBudget {pdb.meta.key} allows 0 disruptions",
                )
    return None


def _is_evictable(pod: Pod) -> bool:
    return (
        pod.is_active
        and not pod.is_mirror
        and not taints.tolerates(pod.tolerations, taints.DISRUPTED)
    )
