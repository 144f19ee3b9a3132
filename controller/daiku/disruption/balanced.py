"""Whether a saving is worth the moves, for NodePools with the policy Balanced.

What a move saves, as a share of what the whole NodePool costs, must be at least half of the disruption it brings, as a
share of moving the whole NodePool.

Source: Karpenter's ScoreMove, with its k of 2.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from daiku.disruption import cost
from daiku.disruption.candidates import Candidate
from daiku.disruption.ground import Ground

K: Final = 2
POLICY: Final = "Balanced"


def score(saving: float, disruption: float, total_price: float, total_disruption: float) -> float:
    """Saving per disruption, both as shares of the whole NodePool; infinite when it disturbs nobody.

    Args:
        saving: USD per hour.
        disruption: Cost of the moves.
        total_price: USD per hour of the whole NodePool.
        total_disruption: Cost of moving all of it.
    """
    if saving <= 0 or total_price <= 0 or total_disruption <= 0:
        return 0.0
    if disruption <= 0:
        return float("inf")
    return (saving / total_price) / (disruption / total_disruption)


@dataclass(frozen=True, slots=True, kw_only=True)
class Score:
    """What a move is to one NodePool of policy Balanced."""

    pool: str
    worth: float
    saves_usd_per_hour: float
    of_usd_per_hour: float
    """What the whole NodePool costs."""
    disturbs: float
    of_disturbance: float
    """Cost of moving all of it."""

    @property
    def is_worth_it(self) -> bool:
        """Whether it reaches the threshold."""
        return self.worth >= 1 / K

    def __str__(self) -> str:
        """In Karpenter's words."""
        sign = ">=" if self.is_worth_it else "<"
        saves = _percent(self.saves_usd_per_hour, self.of_usd_per_hour)
        disturbs = _percent(self.disturbs, self.of_disturbance)
        return (
            f"score {self.worth:.2f} {sign} threshold {1 / K:.2f} "
            f"(k: {K}, savings {saves}, disruption {disturbs})"
        )


def scores(candidates: Sequence[Candidate], saving: float, ground: Ground) -> Iterator[Score]:
    """What a move is to each of its NodePools of policy Balanced, in the order of their names.

    What a move over several NodePools saves is shared out by what their nodes in it cost.
    """
    prices = ground.prices()
    total = sum(prices.get(c.state_node.name, 0.0) for c in candidates)
    for name in sorted(dict.fromkeys(c.pool.meta.name for c in candidates)):
        mine = [c for c in candidates if c.pool.meta.name == name]
        if mine[0].pool.consolidation_policy != POLICY:
            continue
        price = sum(prices.get(c.state_node.name, 0.0) for c in mine)
        share = saving * price / total if total > 0 else 0.0
        nodes = [s for s in ground.snapshot.state_nodes if s.nodepool == name]
        whole = sum(prices.get(s.name, 0.0) for s in nodes)
        disturbance = sum(cost.of_pods(s.reschedulable) for s in nodes)
        moved = sum(c.cost for c in mine)
        yield Score(
            pool=name,
            worth=score(share, moved, whole, disturbance),
            saves_usd_per_hour=share,
            of_usd_per_hour=whole,
            disturbs=moved,
            of_disturbance=disturbance,
        )


def objection(candidates: Sequence[Candidate], saving: float, ground: Ground) -> str:
    """Why a move is not worth it for one of its NodePools; empty when it is for all."""
    for each in scores(candidates, saving, ground):
        if not each.is_worth_it:
            return (
                f"NodePool {each.pool} is Balanced: {each}: saves ${each.saves_usd_per_hour:.4f}/h of "
                f"${each.of_usd_per_hour:.4f}/h, moves {each.disturbs:.1f} of {each.of_disturbance:.1f}"
            )
    return ""


def _percent(part: float, whole: float) -> str:
    return f"{100 * part / whole:.1f}%" if whole > 0 else "0.0%"
