"""An outage of small instance types does not buy the largest node there is."""

from dataclasses import replace
from datetime import timedelta

import pytest
from tests import build
from tests.build import NOW

from daiku.commands import CreateNodeClaim
from daiku.model import labels
from daiku.model.instance_type import InstanceType
from daiku.model.nodepool import NodePool
from daiku.provisioning import plan, price_guard
from daiku.provisioning.plan import Provisioning
from daiku.settings import Settings

MINUTE = timedelta(minutes=1)


def kinds(*, sold_out: tuple[str, ...] = ("small",), spot: float = 0.0) -> list[InstanceType]:
    """A small type for ten pods, and one ten times as large and dear, on demand; and spot at this price, if any."""
    found = [
        build.instance_type("small", cpu="12", memory="48Gi", price=0.5),
        build.instance_type("large", cpu="192", memory="768Gi", price=5.0),
    ]
    if spot:
        offers = [build.offering(spot, "zone-a", "spot"), *found[0].offerings]
        found[0] = replace(found[0], offerings=tuple(offers))
    return [
        replace(
            each,
            offerings=tuple(
                replace(o, available=False)
                if each.name in sold_out and o.capacity_type == "on-demand"
                else o
                for o in each.offerings
            ),
        )
        for each in found
    ]


def decide(
    types: list[InstanceType], *, after: timedelta, pool: NodePool | None = None
) -> Provisioning:
    pods = build.pods(10, "web", cpu="1")
    cluster = build.cluster(
        *pods, pool or build.node_pool(), build.node_class(), catalogue_of=build.catalogue(*types)
    )
    cluster.snapshot(NOW)
    at = NOW + after
    return plan.plan(cluster.snapshot(at), cluster.catalogue, Settings(), at)


def made(found: Provisioning) -> int:
    return sum(isinstance(c, CreateNodeClaim) for c in found.commands)


def guarding(factor: str) -> NodePool:
    pool = build.node_pool()
    return replace(pool, meta=replace(pool.meta, annotations={labels.PRICE_GUARD: factor}))


def test_while_what_would_do_is_sold_out_pods_wait_and_are_told_why() -> None:
    found = decide(kinds(), after=timedelta(seconds=2))

    assert made(found) == 0
    (why,) = found.unschedulable
    (blocker,) = why.blockers
    assert len(why.pods) == 10
    assert blocker.reason == "CapacityUnavailable"
    assert "$1.0000/h" in str(blocker)
    assert "$5.0000/h (large)" in str(blocker)
    assert "12:05:00" in str(blocker)
    assert found.wake_at is not None


@pytest.mark.parametrize(("minutes", "bought"), [(4, 0), (5, 0), (14, 0), (15, 1), (60, 1)])
def test_the_longer_pods_wait_the_more_may_be_paid(minutes: int, bought: int) -> None:
    """The large node costs ten times what would do: 2, 4, 8, 16 times may be paid after 0, 5, 10, 15 minutes."""
    assert made(decide(kinds(), after=minutes * MINUTE)) == bought


def test_a_type_that_can_be_had_is_bought_at_once() -> None:
    assert made(decide(kinds(sold_out=()), after=timedelta(seconds=2))) == 1


def test_the_fallback_from_spot_to_on_demand_never_waits() -> None:
    """On demand costs five times the spot price, and the list price is what counts."""
    types = kinds(sold_out=(), spot=0.1)
    gone = [
        replace(
            each,
            offerings=tuple(
                replace(o, available=o.capacity_type == "on-demand") for o in each.offerings
            ),
        )
        for each in types
    ]

    assert made(decide(gone, after=timedelta(seconds=2))) == 1


def test_a_pool_that_allows_only_large_types_gets_one() -> None:
    large = build.node_pool(
        requirements=build.needs(build.require(labels.INSTANCE_TYPE, "In", "large"))
    )

    assert made(decide(kinds(), after=timedelta(seconds=2), pool=large)) == 1


@pytest.mark.parametrize(
    ("factor", "bought"), [("10", 1), ("9", 0), ("0.5", 0), ("nan", 0), ("much", 0), ("1e400", 1)]
)
def test_a_node_pool_says_how_much_may_be_paid(factor: str, bought: int) -> None:
    assert made(decide(kinds(), after=timedelta(seconds=2), pool=guarding(factor))) == bought


def test_what_is_no_factor_is_the_default() -> None:
    assert [price_guard.factor(guarding(f)) for f in ("x", "nan", "0", "-1", "3")] == [
        2,
        2,
        2,
        2,
        3,
    ]
