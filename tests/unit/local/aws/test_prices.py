"""Prices and the choice of pools by them."""

import pytest

from daiku_local.aws import prices
from daiku_local.aws.ec2 import allocation, facts
from daiku_local.aws.ec2.allocation import Pool


@pytest.mark.parametrize(
    ("name", "usd_per_hour"),
    [
        ("m5.large", 0.096),
        ("m5.24xlarge", 4.608),
        ("c6g.xlarge", 0.136),
        ("r7i.2xlarge", 0.5292),
        ("t3.micro", 0.0104),
        ("t4g.medium", 0.0336),
        ("g5.xlarge", 1.006),
        ("g5.48xlarge", 16.288),
        ("g4dn.12xlarge", 3.912),
        ("inf2.xlarge", 0.7582),
    ],
)
def test_well_known_prices_are_met(name: str, usd_per_hour: float) -> None:
    assert facts.on_demand_usd(name) == pytest.approx(usd_per_hour, rel=0.01)


def test_every_type_has_a_price_above_nothing() -> None:
    assert [name for name in facts.names() if facts.on_demand_usd(name) <= 0.001] == []


def test_local_disks_and_more_network_cost_more() -> None:
    assert facts.on_demand_usd("m6id.large") > facts.on_demand_usd("m6i.large")
    assert facts.on_demand_usd("c6gn.large") > facts.on_demand_usd("c6g.large")
    assert facts.on_demand_usd("m7i-flex.large") < facts.on_demand_usd("m7i.large")


def test_spot_prices_stay_within_their_share_at_any_time() -> None:
    fractions = [
        prices.spot_fraction(name, zone, day * 7000.0)
        for name in facts.names()[::37]
        for zone in ("us-west-2a", "us-west-2b")
        for day in range(13)
    ]

    assert min(fractions) >= 0.28
    assert max(fractions) <= 0.45


def test_the_spot_price_depends_on_type_and_zone_and_moves_slowly() -> None:
    here = prices.spot_fraction("m5.large", "us-west-2a", 0)

    assert here == prices.spot_fraction("m5.large", "us-west-2a", 0)
    assert here != prices.spot_fraction("m5.large", "us-west-2b", 0)
    assert here != prices.spot_fraction("m5.xlarge", "us-west-2a", 0)
    assert abs(here - prices.spot_fraction("m5.large", "us-west-2a", 60)) < 0.001


def pool(position: int, price: float, priority: float | None = None) -> Pool:
    return Pool(
        position=position,
        instance_type="m5.large",
        zone="us-west-2a",
        price_usd_per_hour=price,
        priority=priority,
    )


@pytest.mark.parametrize("strategy", ["lowest-price", "price-capacity-optimized"])
def test_pools_are_tried_by_price_then_in_the_order_of_the_request(strategy: str) -> None:
    pools = [pool(0, 0.2), pool(1, 0.1), pool(2, 0.1)]

    assert [one.position for one in allocation.rank(pools, strategy)] == [1, 2, 0]


@pytest.mark.parametrize("strategy", ["prioritized", "capacity-optimized-prioritized"])
def test_prioritized_pools_are_tried_by_priority_and_those_without_one_last(strategy: str) -> None:
    pools = [pool(0, 0.1), pool(1, 0.3, priority=2), pool(2, 0.2, priority=1)]

    assert [one.position for one in allocation.rank(pools, strategy)] == [2, 1, 0]


@pytest.mark.parametrize(
    ("arguments", "on_demand", "spot"),
    [
        pytest.param((5, None, None, "spot"), 0, 5, id="all by default"),
        pytest.param((5, 2, None, "spot"), 2, 3, id="the default takes the rest"),
        pytest.param((5, 2, 3, "on-demand"), 2, 3, id="nothing is left"),
    ],
)
def test_a_target_is_divided(
    arguments: tuple[int, int | None, int | None, str], on_demand: int, spot: int
) -> None:
    assert allocation.demand(*arguments) == allocation.Demand(on_demand=on_demand, spot=spot)
