"""N nodes become M: the cheapest end state, and the way there in steps that are each worth taking.

Karpenter looks at one node at a time, or at a prefix of a list. What a person sees by eye, that these five could be
those three, it finds by luck. Here the whole set is looked at: which nodes are worth keeping, where everybody else
goes, and which nodes to make for those who find no room.

    found = repack.search(world, payback.movable(candidates, world, snapshot, now))

How: `keeping` finds the nodes that had better go. That set is solved in earnest, and so is everything anew; all
places come from `scheduling.whatif`, so every constraint that holds for pods that wait holds here. `steps` makes the
way there.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

import numpy as np

from daiku.disruption import keeping, payback, spot, steps
from daiku.disruption.keeping import Keeping
from daiku.disruption.steps import Movable, Step
from daiku.report import Repacked
from daiku.scheduling.columns import Mask
from daiku.scheduling.outcome import Outcome
from daiku.scheduling.packer.effort import Stop
from daiku.scheduling.whatif import WhatIf

TRIES: Final = 400
"""Sets of nodes that are weighed unless another number is asked for: a fraction of a second."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Repack:
    """The cheapest end state that was found, and the way there."""

    steps: tuple[Step, ...]
    """In order; each leaves the cluster cheaper and no pod without a place."""
    usd_per_hour_before: float
    """All launched nodes, now."""
    usd_per_hour_after: float
    """The same after all steps."""
    lower_bound_usd_per_hour: float
    """No cluster that holds the pods that run can cost less."""
    moved: int
    """Pods that are evicted on the way."""
    considered: int
    """Nodes that could have gone."""
    tried: int = 0
    """Sets of nodes that were weighed."""

    @property
    def figures(self) -> Repacked:
        """The same in numbers."""
        return Repacked(
            considered=self.considered,
            gone=sum(len(step.gone) for step in self.steps),
            made=sum(len(step.launched) for step in self.steps),
            steps=len(self.steps),
            moved=self.moved,
            usd_per_hour_before=self.usd_per_hour_before,
            usd_per_hour_after=self.usd_per_hour_after,
            lower_bound_usd_per_hour=self.lower_bound_usd_per_hour,
        )

    def __str__(self) -> str:
        """One sentence for a person."""
        return str(self.figures)


def search(
    world: WhatIf,
    movable: Sequence[Movable],
    *,
    closed: frozenset[str] = frozenset(),
    tries: int = TRIES,
    stop: Stop | None = None,
    allows: Callable[[Step], bool] = lambda _step: True,
) -> Repack:
    """The cheapest end state that is found.

    Args:
        world: The snapshot, ready to be asked.
        movable: Nodes that may go, in the order of names.
        closed: Nodes that shall take no pod while they stay.
        tries: How many changes of the best set are tried.
        stop: Asked between two tries whether the best so far will do.
        allows: Whether a step may be taken, beside what the rules for spot nodes say.
    """
    known = {each.name: each for each in movable}
    spots = [each for each in movable if each.is_spot]

    def is_allowed(step: Step) -> bool:
        return not _spot_to_spot(step, known, world) and allows(step)

    def found(
        some: Sequence[Movable], *, may_grow: bool
    ) -> tuple[tuple[Step, ...], frozenset[str]]:
        """The way, and nodes that the end state would do without and no step takes away."""
        nonlocal tried
        asked = keeping.question(world, some, closed, may_grow=may_grow)
        best = _best(asked, tries, stop)
        tried += asked.tried
        if best is None:
            return (), frozenset()
        steps_there = steps.ordered(best, some, world, is_allowed)
        return steps_there, frozenset(best.gone).difference(*(step.gone for step in steps_there))

    least, before, tried = world.bound().usd_per_hour, world.total_usd_per_hour, 0
    way: tuple[Step, ...] = ()
    if movable and least > 0:
        forbidden = not world.settings.is_on(spot.GATE)
        left = frozenset(known)
        if not (forbidden and len(spots) == len(movable)):
            way, left = found(movable, may_grow=True)
        if any(each.name in left for each in spots):
            # What may not be replaced may find room on nodes that are there.
            way = max((way, found(spots, may_grow=False)[0]), key=_net)
    saved = sum(step.saved_usd_per_hour for step in way)
    return Repack(
        steps=way,
        usd_per_hour_before=before,
        usd_per_hour_after=before - saved,
        lower_bound_usd_per_hour=least,
        moved=sum(len(step.moves) for step in way),
        considered=len(movable),
        tried=tried,
    )


def _best(asked: Keeping, tries: int, stop: Stop | None) -> Outcome | None:
    """What becomes of the set that had better go; None when no set was found that may."""
    order = asked.order()
    first = asked.first(order)
    gone = asked.improved(first, tries, stop)
    # Everything anew is weighed too well or too badly at times, so it is always solved in earnest.
    every = np.ones(len(asked.movable), dtype=np.bool_)
    sets = {each.tobytes(): each for each in (gone, first, every)}
    cost, best = min((_solved(asked, each) for each in sets.values()), key=lambda each: each[0])
    return best if np.isfinite(cost) else None


def _net(way: Sequence[Step]) -> float:
    """What steps save, moves deducted, in USD per hour."""
    return sum(step.saved_usd_per_hour - step.moving_usd_per_hour for step in way)


def _spot_to_spot(step: Step, known: Mapping[str, Movable], world: WhatIf) -> str:
    """Why spot nodes must not be replaced with spot nodes; empty when they may, or are not."""
    if not step.launched or not all(known[name].is_spot for name in step.gone):
        return ""
    new_nodes, is_single = step.launched, len(step.gone) == len(step.launched) == 1
    if is_single:
        (name,), (node,) = step.gone, new_nodes
        moving = step.moving_usd_per_hour
        cheaper = world.narrowed(
            node,
            capacity_type=node.capacity_types[0],
            below_usd_per_hour=known[name].gain / payback.friction(moving),
        )
        new_nodes = (cheaper or replace(node, types=()),)
    return spot.refusal(new_nodes, world.settings, is_single=is_single)


def ranked(world: WhatIf, movable: Sequence[Movable]) -> list[Movable]:
    """The nodes that are least worth keeping first."""
    return [movable[i] for i in reversed(keeping.question(world, movable).order())]


def _solved(asked: Keeping, gone: Mask) -> tuple[float, Outcome]:
    """What it would cost if these went, moves and what landings go wrong included, and how."""
    names = frozenset(m.name for m, goes in zip(asked.movable, gone, strict=True) if goes)
    outcome = asked.world.without(
        names,
        new_nodes_most=None if asked.may_grow else 0,
        closed=asked.closed - names,
        landed=True,
    )
    if outcome.refusal is not None:
        return np.inf, outcome
    kept = float(asked.price[~gone].sum()) + float(asked.moving[gone].sum())
    return kept + asked.friction * (outcome.new_usd_per_hour + asked.beyond_size(gone)), outcome
