"""What a pod would like, and in which order it gives that up.

A preference is first treated as if it were required. While there is no place for the pod, it gives up one preference
after the other, the cheapest to give up first, and is tried again: pod affinity, then pod anti-affinity, then node
affinity, each with the heaviest first, then spread that may be broken, last the taints that it would rather avoid.

Source: Karpenter, scheduling/preferences.go; its policies Respect and Ignore.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Literal

from daiku.model.pod import Pod
from daiku.model.requirements import Requirements
from daiku.model.topology import AffinityTerm, Preferred, Spread

Policy = Literal["Respect", "Ignore"]
"""Whether preferences count when nodes are planned."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Wishes:
    """What is asked of a pod's place beside what its requests, selectors and required affinity ask."""

    node: Requirements | None = None
    """The heaviest preferred node affinity that is left."""
    near: tuple[AffinityTerm, ...] = ()
    shuns: tuple[AffinityTerm, ...] = ()
    spread: tuple[Spread, ...] = ()
    """Those that must hold, and those that should and are left."""
    minds_preferred_taints: bool = False


def rungs(pod: Pod, policy: Policy, *, taints_preferred: bool) -> Iterator[Wishes]:
    """What `pod` asks for at first, then with one preference less each time.

    Args:
        pod: The pod.
        policy: With Ignore only what is required is asked for.
        taints_preferred: Whether any node or NodePool has a taint of effect PreferNoSchedule.
    """
    hard = pod.spread if all(s.hard for s in pod.spread) else tuple(s for s in pod.spread if s.hard)
    if policy == "Ignore":
        yield Wishes(spread=hard)
        return
    near = _heaviest_first(pod.preferred_pod_affinity)
    shuns = _heaviest_first(pod.preferred_pod_anti_affinity)
    nodes = _heaviest_first(pod.preferred_node_affinity)
    soft = [s for s in pod.spread if not s.hard]
    asked = Wishes(
        node=nodes[0].node if nodes else None,
        near=_terms(near),
        shuns=_terms(shuns),
        spread=(*hard, *soft) if soft else hard,
        minds_preferred_taints=taints_preferred,
    )
    yield asked
    while near:
        near = near[1:]
        asked = replace(asked, near=_terms(near))
        yield asked
    while shuns:
        shuns = shuns[1:]
        asked = replace(asked, shuns=_terms(shuns))
        yield asked
    while nodes:
        nodes = nodes[1:]
        asked = replace(asked, node=nodes[0].node if nodes else None)
        yield asked
    while soft:
        # The first goes and the last takes its place, as in Karpenter.
        soft = [soft[-1], *soft[1:-1]] if len(soft) > 1 else []
        asked = replace(asked, spread=(*hard, *soft))
        yield asked
    if taints_preferred:
        yield replace(asked, minds_preferred_taints=False)


def _heaviest_first(wishes: tuple[Preferred, ...]) -> tuple[Preferred, ...]:
    return tuple(sorted(wishes, key=lambda w: -w.weight))


def _terms(wishes: tuple[Preferred, ...]) -> tuple[AffinityTerm, ...]:
    return tuple(w.pods for w in wishes if w.pods is not None)
