"""Whether a pod may run on a node with certain taints, about whose labels certain things are sure.

Source: kube-scheduler, nodeaffinity and tainttoleration.
"""

from collections.abc import Iterable, Iterator

from daiku.model import taints
from daiku.model.pod import Pod
from daiku.model.requirements import NO_REQUIREMENTS, Requirements
from daiku.model.taints import Taint


def problems(pod: Pod, marks: Iterable[Taint], becomes: Requirements) -> Iterator[tuple[str, str]]:
    """Rule and sentence for all that keeps `pod` off such a node."""
    taint = taints.untolerated(marks, pod.tolerations)
    if taint is not None:
        yield "Taints", f"pod {pod.meta.key} does not tolerate {taint.key}:{taint.effect}"
    if not any(is_sure(asked, becomes) for asked in alternatives(pod)):
        yield "Labels", f"pod {pod.meta.key} asks for labels that are not sure to be there"


def alternatives(pod: Pod) -> tuple[Requirements, ...]:
    """What `pod` asks of the labels of its node; one of them must hold."""
    terms = pod.required_node_affinity or (NO_REQUIREMENTS,)
    if not pod.node_selector:
        return terms
    selector = Requirements.from_labels(pod.node_selector)
    return tuple(selector & term for term in terms)


def is_sure(asked: Requirements, becomes: Requirements) -> bool:
    """Whether every thing that meets `becomes` meets `asked`."""
    for requirement in asked:
        there = becomes.by_key.get(requirement.key)
        if there is None:
            if not requirement.absent:
                return False
        elif there.complement:
            both = there & requirement
            if (both.complement, both.values, both.gte, both.lte, both.absent) != (
                there.complement,
                there.values,
                there.gte,
                there.lte,
                there.absent,
            ):
                return False
        elif not all(requirement.has(value) for value in there.values) or (
            there.absent and not requirement.absent
        ):
            return False
    return True
