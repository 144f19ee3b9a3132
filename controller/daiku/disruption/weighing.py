"""Would it be right to take these nodes away? The rules of consolidation and drift on top of the what-if.

Source: Karpenter's computeConsolidation, filterOutSameType and computeSpotToSpotConsolidation.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final

from daiku.disruption.ground import Ground
from daiku.disruption.moves import Move
from daiku.model import labels
from daiku.scheduling.outcome import Outcome
from daiku.scheduling.solution import NewNode
from daiku.scheduling.whatif import WhatIf
from daiku.state.statenode import StateNode

WIDTH: Final = 15
"""Cheaper spot types that must be left to choose from before a spot node makes place for another one."""
SPOT_TO_SPOT: Final = "SpotToSpotConsolidation"


@dataclass(frozen=True, slots=True, kw_only=True)
class Weighing:
    """What one what-if comes to under the rules of its method."""

    new_nodes: tuple[NewNode, ...] = ()
    refusal: str = ""
    """Why not, with numbers; empty when it would be right."""
    saves_usd_per_hour: float = 0.0

    @classmethod
    def of_move(cls, move: Move, ground: Ground) -> "Weighing":
        """Whether a move under way is right, with the nodes of all others gone.

        Once it has its replacements no more are made for it.
        """
        staying = move.staying
        others = ground.members - frozenset(s.claim_name for s in staying)
        world = ground.world_with(others)
        if move.record.method == "drift":
            return of_drift(world, staying, can_grow=not move.record.replacements)
        if move.record.replacements:
            outcome = world.without(_names(staying), new_nodes_most=0)
            return _refused(outcome) or cls()
        return of_consolidation(world, staying, ground, is_single=move.record.method == "single")


def of_drift(world: WhatIf, nodes: Sequence[StateNode], *, can_grow: bool = True) -> Weighing:
    """Whether every pod has a place, on as many new nodes as it takes."""
    outcome = world.without(_names(nodes), new_nodes_most=None if can_grow else 0)
    refused = _refused(outcome)
    if refused is not None:
        return refused
    return Weighing(new_nodes=outcome.new_nodes, saves_usd_per_hour=outcome.saved_usd_per_hour)


def of_consolidation(
    world: WhatIf, nodes: Sequence[StateNode], ground: Ground, *, is_single: bool
) -> Weighing:
    """Whether the pods fit elsewhere, or on one node that is cheaper than these together."""
    gone = _names(nodes)
    price = sum(world.usd_per_hour.get(name, 0.0) for name in gone)
    outcome = world.without(
        gone, new_nodes_most=1, below_usd_per_hour=price, closed=ground.unquiet() - gone
    )
    refused = _refused(outcome)
    if refused is not None:
        return refused
    if not outcome.new_nodes:
        return Weighing(saves_usd_per_hour=outcome.saved_usd_per_hour)
    (node,) = outcome.new_nodes
    if not is_single:
        narrowed = _not_the_same_again(node, nodes, world, price)
        if narrowed is None:
            return Weighing(
                refusal="the cheapest replacement is of the type of one of the nodes themselves"
            )
        node = narrowed
    if labels.SPOT in node.capacity_types and all(_is_spot(s) for s in nodes):
        if ground.settings.extra.get(SPOT_TO_SPOT) != "true":
            return Weighing(
                refusal=f"{SPOT_TO_SPOT} is disabled, can't replace a spot node with a spot node"
            )
        if is_single:
            if len(node.types) < WIDTH:
                return Weighing(
                    refusal=f"{SPOT_TO_SPOT} requires {WIDTH} cheaper instance type options than the current "
                    f"candidate to consolidate, got {len(node.types)}"
                )
            node = _cut(node)
    return Weighing(new_nodes=(node,), saves_usd_per_hour=price - node.usd_per_hour)


def _not_the_same_again(
    node: NewNode, nodes: Sequence[StateNode], world: WhatIf, price: float
) -> NewNode | None:
    """`node` without what costs as much as keeping one of `nodes` that would do alone; None when nothing is left."""
    have = {s.labels.get(labels.INSTANCE_TYPE, ""): True for s in nodes}
    same = [t.usd_per_hour for t in node.types if t.name in have]
    if not same:
        return node
    return world.narrowed(
        node, capacity_type=node.capacity_types[0], below_usd_per_hour=min(price, *same)
    )


def _cut(node: NewNode) -> NewNode:
    """The cheapest types only, so that the next look finds the node among them and leaves it.

    `minValues` may ask for more of them than the width.
    """
    wide = max((r.min_values or 0 for r in node.requirements), default=0)
    return replace(node, types=node.types[: max(WIDTH, wide)])


def _refused(outcome: Outcome) -> Weighing | None:
    return Weighing(refusal=str(outcome.refusal)) if outcome.refusal is not None else None


def _is_spot(state_node: StateNode) -> bool:
    return state_node.labels.get(labels.CAPACITY_TYPE) == labels.SPOT


def _names(nodes: Sequence[StateNode]) -> frozenset[str]:
    return frozenset(s.name for s in nodes)
