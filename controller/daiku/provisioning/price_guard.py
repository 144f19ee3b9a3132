"""No node is bought at any price while the types that would do are sold out.

When small types are sold out for a minute, the cheapest node that can be had for ten small pods may be the largest of
all, and it stays. So a new node may cost at most `FACTOR` times the on-demand list price of the cheapest type that
holds its pods and that its NodePool allows, whether that can be had now or not: the fallback from spot to on-demand
never waits. Pods that wait for `PATIENCE` may have nodes twice as dear, and so on.
"""

from collections.abc import Mapping, Sequence
from contextlib import suppress
from datetime import datetime, timedelta
from typing import Final

from daiku import reasons
from daiku.model import labels, resources
from daiku.model.instance_type import Catalogue, InstanceType
from daiku.model.nodepool import NodePool
from daiku.report import Blocker, Unschedulable
from daiku.scheduling.solution import NewNode

FACTOR: Final = 2.0
"""How many times the list price a new node may cost."""
PATIENCE: Final = timedelta(minutes=5)
"""After how long of waiting the factor doubles, and again after as long."""
FACTOR_MOST: Final = 1e6
REASON: Final = reasons.CAPACITY_UNAVAILABLE


def divide(
    nodes: Sequence[NewNode], catalogue: Catalogue, since: Mapping[str, datetime], now: datetime
) -> tuple[tuple[NewNode, ...], tuple[Unschedulable, ...]]:
    """Which of `nodes` may be bought now, and the pods of those that are too dear, with why.

    Args:
        nodes: New nodes of a plan.
        catalogue: All types, also those that are sold out.
        since: Pod namespace/name -> since when it waits.
        now: The time.
    """
    bought: list[NewNode] = []
    withheld: list[Unschedulable] = []
    for node in nodes:
        types = catalogue.instance_types.get(node.pool.template.node_class, ())
        began = min((since.get(pod, now) for pod in node.pods), default=now)
        steps = int((now - began) / PATIENCE)
        allowed = factor(node.pool) * 2.0 ** min(steps, 40)
        least = _list_price(node, types)
        if least is None or node.usd_per_hour <= allowed * least:
            bought.append(node)
            continue
        grows = began + (steps + 1) * PATIENCE
        blocker = Blocker(
            nodepool=node.pool.meta.name,
            reason=REASON,
            asked=f"a node of at most ${allowed * least:.4f}/h, {allowed:g} times the on-demand price of a type that "
            "would do",
            offered=f"all such types are sold out, and the cheapest node that can be had costs "
            f"${node.usd_per_hour:.4f}/h ({node.types[0].name}); twice as much is paid from {grows:%H:%M:%S} UTC on",
        )
        withheld.append(Unschedulable(pods=node.pods, blockers=(blocker,)))
    return tuple(bought), tuple(withheld)


def factor(pool: NodePool) -> float:
    """How many times the list price a node of `pool` may cost: its annotation, 1 at least, or the default."""
    with suppress(ValueError):
        asked = float(pool.meta.annotations.get(labels.PRICE_GUARD, ""))
        # Of no number at all ("nan") neither comparison holds.
        if asked >= 1.0:
            return min(asked, FACTOR_MOST)
    return FACTOR


def _list_price(node: NewNode, types: Sequence[InstanceType]) -> float | None:
    """The on-demand price of the cheapest type that its pods and its NodePool allow; None when none is on sale."""
    asked = node.requirements.without(labels.CAPACITY_TYPE)
    prices = [
        offering.price_usd_per_hour
        for each in types
        if resources.fits(node.requests, each.allocatable)
        and not each.requirements.intersects(asked)
        for offering in each.offerings
        if offering.capacity_type == labels.ON_DEMAND
        and not asked.intersects(offering.requirements.without(labels.CAPACITY_TYPE))
    ]
    return min(prices, default=None)
