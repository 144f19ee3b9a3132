"""An outage of small instance types does not buy the largest node there is."""

from dataclasses import replace
from datetime import timedelta

import pytest
from tests import build
from tests.build import NOW
from tests.unit.daiku.moving_world import Moving, running, world

from daiku.cloud.errors import InsufficientCapacity
from daiku.commands import Announce, CreateNodeClaim
from daiku.events import Gone, LaunchFailed, Object, Seen
from daiku.model import labels
from daiku.model.budget import Budget
from daiku.model.condition import Condition
from daiku.model.instance_type import InstanceType
from daiku.model.nodeclaim import NodeClaim
from daiku.model.nodepool import NodePool
from daiku.provisioning import plan, static
from daiku.provisioning.plan import Provisioning
from daiku.report import Report
from daiku.scheduling import price_guard
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
    types: list[InstanceType],
    *,
    after: timedelta,
    pool: NodePool | None = None,
    settings: Settings | None = None,
) -> Provisioning:
    pods = build.pods(10, "web", cpu="1")
    cluster = build.cluster(
        *pods, pool or build.node_pool(), build.node_class(), catalogue_of=build.catalogue(*types)
    )
    cluster.snapshot(NOW)
    at = NOW + after
    return plan.plan(cluster.snapshot(at), cluster.catalogue, settings or Settings(), at)


def made(found: Provisioning | static.Static) -> int:
    return sum(isinstance(c, CreateNodeClaim) for c in found.commands)


def dear_world(beside: int, pool: NodePool) -> Moving:
    """A large node that was bought for ten small pods, and nodes a quarter full whose pods would fit together."""
    claim, node = running("zz", "large", cpu="192")
    objects: list[Object] = [claim, node]
    objects += [build.pod(f"ten-{n}", node="node-zz", cpu="1") for n in range(10)]
    for n in range(beside):
        objects += [
            *running(f"n{n}", "small", cpu="12"),
            build.pod(f"pod-{n}", node=f"node-n{n}", cpu="3"),
        ]
    budgets, quiet = (Budget(nodes="1"),), timedelta(seconds=10)
    return world(
        *objects,
        types=kinds(sold_out=()),
        pool=replace(pool, budgets=budgets, consolidate_after=quiet),
    )


@pytest.mark.parametrize("pool", [build.node_pool(), None], ids=["default", "annotated"])
@pytest.mark.parametrize("beside", [3, 8])
def test_what_was_bought_dear_goes_first(beside: int, pool: NodePool | None) -> None:
    there = dear_world(beside, pool or guarding("20"))

    there.run(17)

    assert there.tainted() == ["node-zz"]


def test_what_was_bought_dear_goes_when_the_outage_is_over() -> None:
    """What was sold out is believed to be so for three minutes."""
    there = dear_world(0, build.node_pool())
    out = InsufficientCapacity(
        "sold out", sold_out=[("small", z, "on-demand") for z in ("zone-a", "zone-b")]
    )
    there.cluster.apply(LaunchFailed("x", out))
    there.run(170)
    assert there.tainted() == []

    there.run(30)

    assert there.tainted() == ["node-zz"]


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


def test_what_is_no_factor_is_the_setting() -> None:
    settings = Settings(price_guard=5.0)
    found = [price_guard.factor(guarding(f), settings) for f in ("x", "nan", "0", "-1", "3")]

    assert found == [5, 5, 5, 5, 3]


@pytest.mark.parametrize(("factor", "bought"), [(10.0, 1), (9.0, 0)])
def test_the_factor_is_a_setting(factor: float, bought: int) -> None:
    settings = Settings(price_guard=factor)

    assert made(decide(kinds(), after=timedelta(seconds=2), settings=settings)) == bought


def test_the_time_until_the_factor_doubles_is_a_setting() -> None:
    settings = Settings(price_guard_patience=MINUTE)

    assert made(decide(kinds(), after=2 * MINUTE, settings=settings)) == 0
    assert made(decide(kinds(), after=3 * MINUTE, settings=settings)) == 1


def test_a_launch_is_not_offered_types_that_are_too_dear() -> None:
    """The cheap type may be sold out by the time of the launch, which would then take the other."""
    found = decide(kinds(sold_out=()), after=timedelta(seconds=2))

    (creation,) = (c for c in found.commands if isinstance(c, CreateNodeClaim))
    allowed = creation.node_claim.requirements.get(labels.INSTANCE_TYPE)
    assert (allowed.has("small"), allowed.has("large")) == (True, False)


class Outage:
    """A static NodePool of one node, over minutes, each a snapshot, in which types are sold out."""

    def __init__(self) -> None:
        self.cluster = build.cluster(build.node_pool(replicas=1), build.node_class())
        self.now = NOW

    def minute(self, types: list[InstanceType]) -> static.Static:
        catalogue = build.catalogue(*types)
        settings = Settings(extra={"StaticCapacity": "true"})
        found = static.plan(self.cluster.snapshot(self.now), catalogue, settings, self.now)
        self.cluster.planned(Report(looks=found.looks), self.now)
        self.now += MINUTE
        return found


def test_a_static_pool_waits_as_pods_do() -> None:
    outage = Outage()

    found = [made(outage.minute(kinds())) for _ in range(17)]

    assert found == [0] * 15 + [1, 1]


def test_a_static_pool_says_why_it_waits() -> None:
    (told,) = Outage().minute(kinds()).commands

    assert isinstance(told, Announce)
    assert (told.kind, told.reason) == ("NodePool", "CapacityUnavailable")
    assert "$5.0000/h, 10.0 times the on-demand price" in told.message
    assert "4 times is paid from 12:05:00 UTC on" in told.message


def test_a_second_outage_of_a_static_pool_begins_anew() -> None:
    outage = Outage()
    for _ in range(14):
        outage.minute(kinds())

    (creation,) = outage.minute(kinds(sold_out=())).commands
    assert isinstance(creation, CreateNodeClaim)
    name = creation.node_claim.meta.name
    outage.cluster.apply(Seen(build.node_claim(name, instance_type="small")))
    outage.minute(kinds())
    outage.cluster.apply(Gone(NodeClaim, name))
    assert [made(outage.minute(kinds())) for _ in range(5)] == [0] * 5


@pytest.mark.parametrize(("sold_out", "replaced"), [(("small",), False), ((), True)])
def test_a_node_that_has_drifted_is_not_replaced_by_one_that_is_too_dear(
    sold_out: tuple[str, ...], *, replaced: bool
) -> None:
    drifted = Condition(type="Drifted", status="True", reason="x", last_transition=NOW)
    claim, node = running("a", "small", cpu="12")
    claim = replace(claim, conditions=(*claim.conditions, drifted))
    there = world(
        claim, node, build.pod("web", node="node-a", cpu="10"), types=kinds(sold_out=sold_out)
    )

    there.step()

    assert (there.told("a") is not None) == replaced
    if not replaced:
        assert there.kept() == {"a": "CapacityUnavailable"}
