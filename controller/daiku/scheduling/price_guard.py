"""No node is bought at any price while the types that would do are sold out.

When small types are sold out for a minute, the cheapest node that can be had for ten small pods may be the largest of
all. So a new node may cost at most a factor of the on-demand list price of the cheapest type that holds its pods and
that its NodePool allows, whether that can be had now or not: the fallback from spot to on-demand never waits. For pods
that have waited for some time twice as much may be paid, and so on. The factor and the time are settings; a NodePool
may say another factor.
"""

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import datetime
from math import inf
from typing import Final

from daiku import reasons
from daiku.model import labels
from daiku.model.instance_type import Catalogue, InstanceType
from daiku.model.nodepool import NodePool
from daiku.model.requirements import Requirements
from daiku.report import Blocker, Unschedulable
from daiku.scheduling import offers
from daiku.scheduling.solution import NewNode
from daiku.settings import Settings

FACTOR_MOST: Final = 1e6
_DOUBLINGS_MOST: Final = 40


@dataclass(frozen=True, slots=True, kw_only=True)
class Allowance:
    """What a node may cost now."""

    factor: float
    """How many times the list price."""
    grows: datetime
    """When it may cost twice as much."""


def divide(
    nodes: Sequence[NewNode],
    catalogue: Catalogue,
    since: Mapping[str, datetime],
    settings: Settings,
    now: datetime,
) -> tuple[tuple[NewNode, ...], tuple[Unschedulable, ...]]:
    """Which of `nodes` may be bought now, and the pods of those that are too dear, with why.

    Of the types of a node those are left out that cost too much: one of them would be launched if the cheaper ones
    were sold out by then. Where `minValues` ask for variety, all types stay.

    Args:
        nodes: New nodes of a plan.
        catalogue: All types, also those that are sold out.
        since: Pod namespace/name -> since when it waits.
        settings: The factor, and after how long it doubles.
        now: The time.
    """
    bought: list[NewNode] = []
    withheld: list[Unschedulable] = []
    for node in nodes:
        began = min((since.get(pod, now) for pod in node.pods), default=now)
        may = allowance(node.pool, began, settings, now)
        most = most_of(node, catalogue, may.factor)
        within = tuple(each for each in node.types if each.usd_per_hour <= most)
        if within:
            varied = any(r.min_values for r in node.requirements)
            bought.append(node if varied else replace(node, types=within))
            continue
        blocker = Blocker(
            nodepool=node.pool.meta.name,
            reason=reasons.CAPACITY_UNAVAILABLE,
            asked=f"a node of at most ${most:.4f}/h, {may.factor:g} times the on-demand price of a type that would do",
            offered=f"all such types are sold out, and the cheapest node that can be had costs "
            f"${node.usd_per_hour:.4f}/h ({node.types[0].name}); twice as much is paid from {may.grows:%H:%M:%S} UTC "
            "on",
        )
        withheld.append(Unschedulable(pods=node.pods, blockers=(blocker,)))
    return tuple(bought), tuple(withheld)


def most_of(node: NewNode, catalogue: Catalogue, times: float) -> float:
    """USD per hour that a node may cost: so many times the list price; without a bound where nothing has one."""
    types = catalogue.instance_types.get(node.pool.template.node_class, ())
    least = list_price(types, node.requirements, node.requests)
    return inf if least is None else times * least


def allowance(pool: NodePool, since: datetime, settings: Settings, now: datetime) -> Allowance:
    """What a node of `pool` may cost that has been waited for since then."""
    steps = int((now - since) / settings.price_guard_patience)
    return Allowance(
        factor=factor(pool, settings) * 2.0 ** min(steps, _DOUBLINGS_MOST),
        grows=since + (steps + 1) * settings.price_guard_patience,
    )


def factor(pool: NodePool, settings: Settings) -> float:
    """How many times the list price a node of `pool` may cost: its annotation, 1 at least, or the setting."""
    return parse(pool.meta.annotations.get(labels.PRICE_GUARD, "")) or settings.price_guard


def parse(text: str) -> float | None:
    """The factor that an annotation says; None when it is no number of 1 or more."""
    with suppress(ValueError):
        asked = float(text)
        # Of no number at all ("nan") neither comparison holds.
        if asked >= 1.0:
            return min(asked, FACTOR_MOST)
    return None


def list_price(
    types: tuple[InstanceType, ...], asked: Requirements, requests: Mapping[str, int]
) -> float | None:
    """USD per hour on demand of the cheapest type that would do, sold out or not; None when none is on sale.

    Args:
        types: Instance types of the node class.
        asked: What a node has to be; that it has to be spot does not count.
        requests: What it has to hold.
    """
    bought = asked.without(labels.CAPACITY_TYPE)
    found = offers.that_would_do(offers.on_demand(types), bought, requests)
    return next((offering.price_usd_per_hour for _, offering in found), None)
