"""Would it be right to take these nodes away? The rules of consolidation and drift on top of the what-if.

Source: Karpenter's computeConsolidation and filterOutSameType.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import timedelta
from typing import Final

from daiku.disruption import payback, spot
from daiku.disruption.ground import Ground
from daiku.disruption.moves import Move
from daiku.model import labels
from daiku.scheduling.outcome import Outcome
from daiku.scheduling.solution import NewNode
from daiku.scheduling.whatif import WhatIf
from daiku.state.statenode import StateNode

PATIENCE: Final = timedelta(minutes=5)
"""How long after its beginning a move may still find that it takes more replacements."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Weighing:
    """What one what-if comes to under the rules of its method."""

    new_nodes: tuple[NewNode, ...] = ()
    refusal: str = ""
    """Why not, with numbers; empty when it would be right."""
    saves_usd_per_hour: float = 0.0
    made_usd_per_hour: float = 0.0
    """What all nodes cost that would be made for this move and for those that begin with it."""
    awaits_pods: bool = False
    """Whether the new nodes are to stay closed until the pods wait for which they are made."""

    @classmethod
    def of_move(cls, move: Move, ground: Ground) -> "Weighing":
        """Whether a move under way is right, with the nodes of all others gone.

        Pods fill several nodes that are there less well than they were packed on paper. So where a move may make
        several replacements, it may make some more when the first are there, as long as it pays with all of them.
        """
        staying = move.staying
        others = ground.members - frozenset(s.claim_name for s in staying)
        world = ground.world_with(others)
        made = move.replacements
        may_grow = not made or move.is_younger_than(PATIENCE, ground.now)
        if move.record.surged:
            # Nodes that got a replacement lately are not left in peace for this move, and it buys none any more.
            outcome = world.without(_names(staying), new_nodes_most=0)
            return _refused(outcome) or cls()
        if move.record.method == "drift":
            return of_drift(world, staying, can_grow=may_grow)
        if move.is_repack and may_grow:
            return Together(world, ground).weigh(staying, made)
        if made:
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
    moving = ground.moving(nodes, world)
    outcome = world.without(
        gone, new_nodes_most=1, below_usd_per_hour=price, closed=ground.unquiet() - gone
    )
    refused = _refused(outcome)
    if refused is not None:
        return refused
    if not outcome.new_nodes:
        return _paid(outcome.saved_usd_per_hour, moving)
    (node,) = outcome.new_nodes
    if not is_single:
        narrowed = _not_the_same_again(node, nodes, world, price)
        if narrowed is None:
            return Weighing(
                refusal="the cheapest replacement is of the type of one of the nodes themselves"
            )
        node = narrowed
    against = _spot_to_spot((node,), nodes, ground, is_single=is_single)
    if against:
        return Weighing(refusal=against)
    if is_single and all(_is_spot(s) for s in nodes) and spot.may_be((node,)):
        node = _cut(node)
    return _paid(price - node.usd_per_hour, moving, (node,))


@dataclass(slots=True)
class Together:
    """Moves that begin together. Each is weighed as if those before it had been made, and has to pay by itself."""

    world: WhatIf
    ground: Ground
    _gone: frozenset[str] = frozenset()
    _made_usd_per_hour: float = 0.0

    def weigh(
        self,
        nodes: Sequence[StateNode],
        made: Sequence[StateNode] = (),
        slack: float = 0.0,
        *,
        landed: bool = False,
    ) -> Weighing:
        """Whether the pods fit elsewhere and on any number of new nodes that are clearly cheaper than these together.

        Args:
            nodes: Nodes that would go.
            made: Nodes that were made for them already, and are paid for.
            slack: Share by which pods are taken for larger than they are.
            landed: Whether nodes that are open are filled as kube-scheduler does it.
        """
        names, there, known = _names(nodes), _names(made), self.world.usd_per_hour
        price = sum(known.get(name, 0.0) for name in names)
        price -= sum(known.get(name, 0.0) for name in there)
        moving = self.ground.moving(nodes, self.world)
        if moving >= price:
            return _paid(price, moving)
        gone = self._gone | names
        outcome = self.world.without(
            gone,
            below_usd_per_hour=self._made_usd_per_hour
            + (price - moving) / payback.friction(moving),
            closed=self.ground.unquiet() - gone - there,
            slack=slack,
            landed=landed,
        )
        refused = _refused(outcome)
        if refused is not None:
            return refused
        single = len(nodes) == len(outcome.new_nodes) == 1
        against = _spot_to_spot(outcome.new_nodes, nodes, self.ground, is_single=single)
        if against:
            return Weighing(refusal=against)
        new = outcome.new_usd_per_hour
        saved = price - (new - self._made_usd_per_hour)
        return replace(_paid(saved, moving, outcome.new_nodes), made_usd_per_hour=new)

    def take(self, nodes: Sequence[StateNode], weighing: Weighing) -> None:
        """Count a move that was found right for those that follow."""
        self._gone |= _names(nodes)
        self._made_usd_per_hour = weighing.made_usd_per_hour


def _paid(saved: float, moving: float, new_nodes: tuple[NewNode, ...] = ()) -> Weighing:
    """The move, if it saves more than its evictions cost; where these are free, nodes may go that cost nothing."""
    if saved <= moving and (moving > 0 or new_nodes):
        return Weighing(
            refusal=f"it would save ${saved:.4f}/h, and moving its pods costs ${moving:.4f}/h over the payback horizon"
        )
    return Weighing(new_nodes=new_nodes, saves_usd_per_hour=saved)


def _spot_to_spot(
    new_nodes: Sequence[NewNode], nodes: Sequence[StateNode], ground: Ground, *, is_single: bool
) -> str:
    """Why spot nodes must not be replaced with spot nodes; empty when they may, or are not."""
    if not all(_is_spot(s) for s in nodes):
        return ""
    return spot.refusal(new_nodes, ground.settings, is_single=is_single)


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
    return replace(node, types=node.types[: max(spot.WIDTH, wide)])


def _refused(outcome: Outcome) -> Weighing | None:
    return Weighing(refusal=str(outcome.refusal)) if outcome.refusal is not None else None


def _is_spot(state_node: StateNode) -> bool:
    return state_node.labels.get(labels.CAPACITY_TYPE) == labels.SPOT


def _names(nodes: Sequence[StateNode]) -> frozenset[str]:
    return frozenset(s.name for s in nodes)
