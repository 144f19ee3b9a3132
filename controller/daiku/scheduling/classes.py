"""Pods that no rule can tell apart, counted once.

Thousands of pods come from a few dozen templates. Everything that follows is decided per class, not per pod; which of
its pods lands where does not matter.

Every field of `Pod` is either part of the class or named in `IGNORED`; a test holds the two together.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Final

from daiku.model import resources
from daiku.model.pod import Pod
from daiku.model.requirements import NO_REQUIREMENTS, Requirements
from daiku.model.taints import Toleration

IGNORED: Final[Mapping[str, str]] = {
    "meta": "identity; labels and namespace will matter once spread and pod affinity are modelled",
    "node_name": "only pods without a node are classed",
    "nominated_node_name": "kube-scheduler is about to make room itself: such a pod is not provisionable",
    "phase": "provisionable pods are pending",
    "unschedulable": "true of every provisionable pod",
    "ready": "false of every provisionable pod",
    "scheduled": "None for every provisionable pod",
    "priority": "every pod that fits somewhere is placed, whatever its rank",
    "priority_class": "as priority",
    "scheduler_name": "any scheduler is free to bind to the nodes that are made",
    "termination_grace_seconds": "matters when a node is drained",
}
"""Fields of a pod on which no scheduling decision depends -> why not."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PodClass:
    """What a set of equal pods asks for."""

    requests: tuple[tuple[str, int], ...]
    """Resource and amount, in the order of names."""
    alternatives: tuple[Requirements, ...]
    """Node selector together with each term of the required node affinity; any one will do. Empty: they contradict
    each other, so no node can do."""
    tolerations: tuple[Toleration, ...]
    unsupported: tuple[str, ...] = ()
    """Constraints that are not modelled yet and were left out."""

    def amount(self, resource: str) -> int:
        """How much of `resource` each of its pods asks for."""
        return dict(self.requests).get(resource, 0)


@dataclass(frozen=True, slots=True, kw_only=True)
class Counted:
    """A class and its pods."""

    pod_class: PodClass
    pods: tuple[str, ...]
    """namespace/name of each, in order."""


def count(pods: Iterable[Pod]) -> tuple[Counted, ...]:
    """The classes that `pods` fall into: the largest cpu request first, then memory, then by what they ask."""
    found: dict[tuple[object, ...], tuple[Pod, list[str]]] = {}
    for pod in pods:
        found.setdefault(_key(pod), (pod, []))[1].append(pod.meta.key)
    merged: dict[PodClass, list[str]] = {}
    for representative, keys in found.values():
        merged.setdefault(class_of(representative), []).extend(keys)
    counted = [Counted(pod_class=c, pods=tuple(sorted(keys))) for c, keys in merged.items()]
    return tuple(sorted(counted, key=_rank))


def class_of(pod: Pod) -> PodClass:
    """The class of one pod."""
    selector = Requirements.from_labels(pod.node_selector) if pod.node_selector else NO_REQUIREMENTS
    terms = pod.required_node_affinity or (NO_REQUIREMENTS,)
    alternatives = dict.fromkeys(selector & term for term in terms)
    return PodClass(
        requests=tuple(sorted(pod.requests.items())),
        alternatives=tuple(a for a in alternatives if not a.is_empty),
        tolerations=tuple(sorted(pod.tolerations)),
        unsupported=pod.unsupported,
    )


def _key(pod: Pod) -> tuple[object, ...]:
    """Equal for pods that are plainly of one class; cheaper to make than the class itself."""
    return (
        tuple(pod.requests.items()),
        tuple(pod.node_selector.items()),
        pod.required_node_affinity,
        pod.tolerations,
        pod.unsupported,
    )


def _rank(counted: Counted) -> tuple[int, int, str]:
    pod_class = counted.pod_class
    detail = (
        f"{pod_class.requests} {[str(a) for a in pod_class.alternatives]} {pod_class.tolerations}"
    )
    return -pod_class.amount(resources.CPU), -pod_class.amount(resources.MEMORY), detail
