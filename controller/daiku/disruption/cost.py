"""What it costs the people whose pods have to move: a number without a unit, by which moves are compared.

A pod that says nothing costs 1. `pod-deletion-cost` and priority make it dearer or cheaper, within bounds, so that no
single pod outweighs a whole node.

Source: Karpenter's disruption.EvictionCost and ReschedulingCost.
"""

from contextlib import suppress
from typing import Final

from daiku.model import labels, memo
from daiku.model.pod import Pod

NODE: Final = 1.0
"""What it costs to replace a node on which nobody has to move."""
_DELETION_COST_UNIT: Final = 2.0**27
_PRIORITY_UNIT: Final = 2.0**25
_MOST: Final = 10.0


def of_eviction(pod: Pod) -> float:
    """What it costs to move one pod, from -10 to 10."""
    cost = NODE + pod.priority / _PRIORITY_UNIT
    said = pod.meta.annotations.get(labels.POD_DELETION_COST)
    if said is not None:
        with suppress(ValueError):
            cost += float(said) / _DELETION_COST_UNIT
    # Of a cost that is no number ("nan") min and max would make either bound, by their order.
    return max(-_MOST, min(_MOST, cost)) if cost == cost else NODE  # noqa: PLR0124


@memo.by_identity(16_384)
def of_pods(pods: tuple[Pod, ...]) -> float:
    """What it costs to replace a node with these pods that would have to move; at least 1."""
    return NODE + sum(max(0.0, of_eviction(pod)) for pod in pods)
