"""The obvious solver: pod by pod, node by node, in plain Python. Slow, and easy to believe.

It knows the same rules as the fast one for what is modelled: resources, labels, taints, DaemonSets; of constraints
between pods only which labels a node must have for them. It does not care about price, so what it says is: which pod
goes to which existing node, and which pods could go to a new node at all.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from daiku.model import labels, resources, taints
from daiku.model.instance_type import Catalogue, InstanceType
from daiku.model.nodepool import NodePool
from daiku.model.pod import Pod
from daiku.model.requirements import NO_REQUIREMENTS, Requirements
from daiku.state.snapshot import Snapshot
from daiku.state.statenode import StateNode


@dataclass
class Answer:
    """What the obvious solver says."""

    placements: dict[str, str] = field(default_factory=dict)
    """Pod -> existing node."""
    growable: set[str] = field(default_factory=set)
    """Pods that a new node could host."""
    stuck: set[str] = field(default_factory=set)
    """Pods that fit nowhere."""


def solve(pods: Sequence[Pod], snapshot: Snapshot, catalogue: Catalogue) -> Answer:
    """Place each pod on the first existing node that lets it in, largest pods first."""
    answer = Answer()
    nodes = [s for s in snapshot.state_nodes if not s.is_deleting and s.node is not None]
    nodes.sort(key=lambda s: (not s.is_initialized, s.name))
    free = {s.name: room(s, snapshot) for s in nodes}
    for pod in sorted(pods, key=_rank):
        for state_node in nodes:
            if lets_in(pod, state_node) and resources.fits(pod.requests, free[state_node.name]):
                free[state_node.name] = resources.subtract(free[state_node.name], pod.requests)
                answer.placements[pod.meta.key] = state_node.name
                break
        else:
            grows = any(could_host(pod, pool, snapshot, catalogue) for pool in snapshot.node_pools)
            (answer.growable if grows else answer.stuck).add(pod.meta.key)
    return answer


def _rank(pod: Pod) -> tuple[object, ...]:
    """The order of classes: cpu, memory, then whatever tells classes apart; then the pod's name."""
    from daiku.scheduling import classes  # noqa: PLC0415 - the order is the one thing that is shared

    pod_class = classes.class_of(pod)
    detail = (
        f"{pod_class.requests} {[str(a) for a in pod_class.alternatives]} {pod_class.tolerations}"
    )
    return -pod.requests.get("cpu", 0), -pod.requests.get("memory", 0), detail, pod.meta.key


def room(state_node: StateNode, snapshot: Snapshot) -> dict[str, int]:
    """What pods can still have there, DaemonSets that are due taken off."""
    due = [d.template for d in snapshot.daemon_sets if lets_in(d.template, state_node)]
    present = resources.add(*(p.requests for p in state_node.pods if p.is_daemon))
    missing = {
        r: max(a - present.get(r, 0), 0)
        for r, a in resources.add(*(p.requests for p in due)).items()
    }
    return resources.subtract(
        resources.subtract(state_node.allocatable, state_node.used()), missing
    )


def lets_in(pod: Pod, state_node: StateNode) -> bool:
    """Whether taints and labels of the node let `pod` in."""
    return taints.untolerated(state_node.taints, pod.tolerations) is None and wants(
        pod, Requirements.from_labels(state_node.labels)
    )


def wants(pod: Pod, there: Requirements) -> bool:
    """Whether the labels `there` meet what `pod` selects, and have each label that its hard constraints are about."""
    if not all(key in there for key in _keys_needed(pod)):
        return False
    selector = Requirements.from_labels(pod.node_selector)
    terms = pod.required_node_affinity or (NO_REQUIREMENTS,)
    return any(
        not (selector & term).is_empty and not there.compatible(selector & term) for term in terms
    )


def _keys_needed(pod: Pod) -> Iterator[str]:
    """Labels without which kube-scheduler's podtopologyspread and interpodaffinity refuse a node."""
    constraints = (*(s for s in pod.spread if s.hard), *pod.pod_affinity)
    return (c.key for c in constraints if c.key != labels.HOSTNAME)


def could_host(pod: Pod, pool: NodePool, snapshot: Snapshot, catalogue: Catalogue) -> bool:
    """Whether an empty node of `pool` could host `pod`."""
    if taints.untolerated(pool.template.taints, pod.tolerations) is not None:
        return False
    for instance_type in catalogue.instance_types.get(pool.template.node_class, ()):
        for offering in instance_type.offerings:
            becomes = labels_of(pool, instance_type, offering.requirements)
            if not offering.available or becomes.is_empty or not wants(pod, becomes):
                continue
            daemons = [
                d.template
                for d in snapshot.daemon_sets
                if taints.untolerated(pool.template.taints, d.template.tolerations) is None
                and wants(d.template, labels_of(pool, instance_type, NO_REQUIREMENTS))
            ]
            needed = resources.add(pod.requests, *(d.requests for d in daemons))
            if resources.fits(needed, instance_type.allocatable):
                return True
    return False


def labels_of(pool: NodePool, instance_type: InstanceType, offering: Requirements) -> Requirements:
    """What the labels of such a node would be."""
    ref = pool.template.node_class
    fixed = {
        **pool.template.labels,
        labels.NODEPOOL: pool.meta.name,
        labels.node_class_label(ref.group, ref.kind): ref.name,
    }
    return (
        pool.template.requirements
        & Requirements.from_labels(fixed)
        & instance_type.requirements
        & offering
    )
