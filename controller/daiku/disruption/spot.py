"""When spot nodes may make place for spot nodes.

Source: Karpenter's computeSpotToSpotConsolidation.
"""

from collections.abc import Sequence
from typing import Final

from daiku.model import labels
from daiku.scheduling.solution import NewNode
from daiku.settings import Settings

GATE: Final = "SpotToSpotConsolidation"
WIDTH: Final = 15
"""Cheaper spot types that must be left to choose from before one spot node makes place for another one."""


def may_be(new_nodes: Sequence[NewNode]) -> bool:
    """Whether one of the new nodes may come as spot."""
    return any(labels.SPOT in node.capacity_types for node in new_nodes)


def refusal(new_nodes: Sequence[NewNode], settings: Settings, *, is_single: bool) -> str:
    """Why nodes that are all spot must not be replaced with `new_nodes`; empty when they may.

    Args:
        new_nodes: Each with the types that are cheaper than what goes.
        settings: With the feature gates.
        is_single: Whether one node makes place for one.
    """
    if not may_be(new_nodes):
        return ""
    if not settings.is_on(GATE):
        return f"{GATE} is disabled, can't replace a spot node with a spot node"
    width = min(len(node.types) for node in new_nodes)
    if is_single and width < WIDTH:
        return (
            f"{GATE} requires {WIDTH} cheaper instance type options than the current "
            f"candidate to consolidate, got {width}"
        )
    return ""
