"""DescribeSpotPriceHistory: what a spot instance costs by type and zone, now and before.

The price is a function of time (`prices`), so the history is made as it is asked for: one row for
each pool at the end of the range, and before it one for every six hours.
"""

from datetime import datetime
from typing import Any

from daiku_local.aws import clock
from daiku_local.aws.cloud import Asked, Cloud
from daiku_local.aws.ec2 import facts, filters

STEP_SECONDS = 6 * 3600
PRODUCT = "Linux/UNIX"
PRODUCTS = (PRODUCT, "Linux/UNIX (Amazon VPC)")
PAGE = 1000
FILTERS = {
    "availability-zone": filters.at("AvailabilityZone"),
    "instance-type": filters.at("InstanceType"),
    "product-description": filters.at("ProductDescription"),
    "spot-price": filters.at("SpotPrice"),
    "timestamp": filters.at("Timestamp"),
}


def describe(cloud: Cloud, asked: Asked) -> dict[str, Any]:
    """DescribeSpotPriceHistory."""
    now = cloud.now()
    end = min(_seconds(asked.get("EndTime"), now), now)
    start = min(_seconds(asked.get("StartTime"), end), end)
    products: list[str] = asked.get("ProductDescriptions") or list(PRODUCTS)
    wanted = frozenset(asked.get("InstanceTypes", []))
    zone = asked.get("AvailabilityZone")
    pools: list[tuple[str, str, float]] = []
    if any(product in PRODUCTS for product in products):
        pools = [
            (instance_type, offered, at)
            for instance_type, offered in facts.offerings("availability-zone", cloud.world.region)
            if (not wanted or instance_type in wanted) and zone in (None, offered)
            for at in _instants(start, end)
        ]
    size = int(asked.get("MaxResults") or PAGE)
    first = int(asked.get("NextToken") or 0)
    if asked.get("Filters"):
        rows = filters.keep([_row(cloud, *pool) for pool in pools], asked["Filters"], FILTERS)
        total, page = len(rows), rows[first : first + size]
    else:
        total, page = len(pools), [_row(cloud, *pool) for pool in pools[first : first + size]]
    rest = first + size < total
    return {"SpotPriceHistory": page, "NextToken": str(first + size) if rest else ""}


def _instants(start: float, end: float) -> list[float]:
    """The end, and every step between it and the start, newest first."""
    last_step = end // STEP_SECONDS * STEP_SECONDS
    steps = int((last_step - start) // STEP_SECONDS) + 1 if last_step >= start else 0
    before = [last_step - number * STEP_SECONDS for number in range(min(steps, 360))]
    return [end, *(at for at in before if at < end)]


def usd(cloud: Cloud, instance_type: str, zone: str, seconds: float) -> float:
    """Spot price per hour at an instant, to four digits as EC2 gives it."""
    fraction = cloud.weather.spot_fraction(instance_type, zone, seconds)
    return round(facts.on_demand_usd(instance_type) * fraction, 4)


def _row(cloud: Cloud, instance_type: str, zone: str, at: float) -> dict[str, Any]:
    return {
        "AvailabilityZone": zone,
        "InstanceType": instance_type,
        "ProductDescription": PRODUCT,
        "SpotPrice": f"{usd(cloud, instance_type, zone, at):.6f}",
        "Timestamp": clock.moment(at),
    }


def _seconds(value: Any, otherwise: float) -> float:
    if value is None:
        return otherwise
    if isinstance(value, str):
        return datetime.fromisoformat(value).timestamp()
    return float(value)


HANDLERS = {"DescribeSpotPriceHistory": describe}
