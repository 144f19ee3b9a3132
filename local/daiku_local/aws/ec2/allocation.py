"""Which pools a fleet takes, in which order: pure, from prices and priorities.

A pool is one instance type in one zone for one capacity type. The depth of pools is not known here,
so the strategies of spot that weigh it come down to price among the pools that have capacity.
"""

from collections.abc import Iterable
from dataclasses import dataclass

LOWEST_PRICE = "lowest-price"
PRIORITIZED = "prioritized"
SPOT_PRIORITIZED = "capacity-optimized-prioritized"
SPOT_STRATEGIES = (
    "price-capacity-optimized",
    "capacity-optimized",
    SPOT_PRIORITIZED,
    LOWEST_PRICE,
    "diversified",
)
ON_DEMAND_STRATEGIES = (LOWEST_PRICE, PRIORITIZED)


@dataclass(frozen=True, slots=True, kw_only=True)
class Pool:
    """A place where a fleet may take instances from."""

    position: int
    """Place in the request, which breaks ties."""
    instance_type: str
    """Instance type."""
    zone: str
    """Availability zone."""
    price_usd_per_hour: float
    """What an instance of it costs now."""
    priority: float | None = None
    """Priority of the override, lower is better; None comes last."""


def rank(pools: Iterable[Pool], strategy: str) -> list[Pool]:
    """The pools in the order in which a fleet tries them.

    Args:
        pools: What the request allows.
        strategy: An allocation strategy of on-demand or spot, as the API spells it.
    """
    if strategy in (PRIORITIZED, SPOT_PRIORITIZED):
        return sorted(pools, key=_by_priority)
    return sorted(pools, key=lambda pool: (pool.price_usd_per_hour, pool.position))


def _by_priority(pool: Pool) -> tuple[bool, float, int]:
    return (pool.priority is None, pool.priority or 0.0, pool.position)


@dataclass(frozen=True, slots=True, kw_only=True)
class Demand:
    """How many instances a fleet wants of each capacity type."""

    on_demand: int
    """Instances at list price."""
    spot: int
    """Spot instances."""


def demand(total: int, on_demand: int | None, spot: int | None, otherwise: str) -> Demand:
    """Divide the total target of a fleet.

    Args:
        total: TotalTargetCapacity.
        on_demand: OnDemandTargetCapacity, None if not given.
        spot: SpotTargetCapacity, None if not given.
        otherwise: DefaultTargetCapacityType, which takes what the other two leave.
    """
    wanted_on_demand, wanted_spot = on_demand or 0, spot or 0
    rest = max(0, total - wanted_on_demand - wanted_spot)
    if otherwise == "spot":
        return Demand(on_demand=wanted_on_demand, spot=wanted_spot + rest)
    return Demand(on_demand=wanted_on_demand + rest, spot=wanted_spot)
