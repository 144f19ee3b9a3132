"""What pods would rather be apart from: soft constraints of spread, and those that kube-scheduler has by itself.

Pods of ReplicaSets, ReplicationControllers and StatefulSets that say nothing of spread are spread over nodes and zones
all the same. It weighs twice as much as room, so it decides more often than room does.

Source: kube-scheduler's PodTopologySpread: its default constraints, and how it scores.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final

from daiku.model import labels
from daiku.model.node import Node
from daiku.model.pod import Pod
from daiku.model.requirements import Requirements
from daiku.model.topology import Spread

DEFAULTS: Final = (
    Spread(key=labels.HOSTNAME, max_skew=3, hard=False, selector=None),
    Spread(key=labels.ZONE, max_skew=5, hard=False, selector=None),
)
"""Of pods that say nothing themselves; they count pods of the same owner."""


@dataclass(slots=True)
class Wish:
    """A soft constraint of spread, and how many pods that it counts are in each domain."""

    spread: Spread
    namespace: str = ""
    inside: dict[str, int] = field(default_factory=dict[str, int])
    counts: dict[tuple[tuple[str, str], ...], bool] = field(
        default_factory=dict[tuple[tuple[str, str], ...], bool]
    )
    """Labels of pods -> whether it counts them."""

    def has(self, pod: Pod) -> bool:
        """Whether it counts a pod."""
        if pod.meta.namespace != self.namespace or self.spread.selector is None:
            return False
        key = tuple(pod.meta.labels.items())
        known = self.counts.get(key)
        if known is None:
            known = not Requirements.from_labels(pod.meta.labels).compatible(self.spread.selector)
            self.counts[key] = known
        return known

    def domain(self, node: Node) -> str | None:
        """The domain that a node is in; None: in none."""
        known = node.meta.labels.get(self.spread.key)
        return node.meta.name if known is None and self.spread.key == labels.HOSTNAME else known


def points(wishes: Sequence[Wish], nodes: Sequence[Node]) -> list[float]:
    """What each node has of 200 points for being where the fewest like the pod are."""
    if not wishes or not nodes:
        return [0.0] * len(nodes)
    crowds = [0.0] * len(nodes)
    left_out: dict[int, bool] = {}
    for wish in wishes:
        domains = [wish.domain(node) for node in nodes]
        weight = math.log(len({d for d in domains if d is not None}) + 2)
        for index, domain in enumerate(domains):
            if domain is not None:
                crowds[index] += wish.inside.get(domain, 0) * weight + wish.spread.max_skew - 1
            elif wish.spread.selector is not None:
                left_out[index] = True
    there = [crowd for index, crowd in enumerate(crowds) if index not in left_out]
    most, least = max(there, default=0.0), min(there, default=0.0)
    return [
        0.0 if index in left_out else 200.0 * (most + least - crowd) / most if most else 200.0
        for index, crowd in enumerate(crowds)
    ]
