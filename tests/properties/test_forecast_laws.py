"""What `daiku plan` shows is what a controller does that runs: the same NodeClaims for the same pods, bought alike."""

from dataclasses import replace
from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests import build, deciding, strategies
from tests.performance import bench_solve

from daiku.events import Object
from daiku.forecast import PlannedNode, forecast
from daiku.model import labels
from daiku.model.instance_type import Catalogue, InstanceType
from daiku.provisioning import static
from daiku.settings import Settings

STATIC = Settings(extra={static.GATE: "true"})

Shown = list[tuple[str, tuple[str, ...], tuple[str, ...], str, tuple[str, ...], float]]


def shown(nodes: tuple[PlannedNode, ...]) -> Shown:
    """What a person reads of new nodes."""
    return sorted(
        (n.nodepool, n.pods, n.instance_types, n.capacity_type, n.zones, n.usd_per_hour)
        for n in nodes
    )


def done(found: deciding.Decided) -> Shown:
    """The same of what a controller did."""
    on: dict[str, list[str]] = {}
    for pod, node in sorted(found.placements.items()):
        on.setdefault(node, []).append(pod)
    return sorted(
        (
            c.node_claim.nodepool,
            tuple(on.get(c.node_claim.meta.name, ())),
            tuple(dict.fromkeys(o.instance_type for o in options)),
            options[0].capacity_type,
            tuple(sorted({o.zone for o in options})),
            options[0].price_usd_per_hour,
        )
        for c in found.creations
        if (options := found.launches.get(c.node_claim.meta.name))
    )


def check(objects: list[Object], catalogue: Catalogue, settings: Settings) -> deciding.Decided:
    """Both say the same; what the controller did."""
    live = deciding.live(objects, catalogue, settings)

    told = forecast(objects, catalogue, settings)

    assert shown(told.new_nodes) == done(live)
    assert told.unschedulable == live.report.unschedulable
    there = {o.meta.name for o in objects}
    assert told.placements == {p: n for p, n in live.placements.items() if n in there}
    return live


def with_some_sold_out(types: list[InstanceType], names: set[str]) -> list[InstanceType]:
    return [
        replace(each, offerings=tuple(replace(o, available=False) for o in each.offerings))
        if each.name in names
        else each
        for each in types
    ]


class World:
    """What both are asked of; no dataclass, because it is too much to be printed."""

    def __init__(self, objects: list[Object], catalogue: Catalogue, settings: Settings) -> None:
        self.objects, self.catalogue, self.settings = objects, catalogue, settings


@st.composite
def worlds(draw: st.DrawFn) -> World:
    """Pods that wait or lose their node, static and other NodePools, types that are sold out, settings."""
    claim = build.node_claim(deleted=draw(st.sampled_from([None, build.NOW])))
    running = [build.pod("mover", node="node-default-aaaaa", cpu="1"), build.node(claim=claim)]
    replicas = draw(st.sampled_from([None, None, 1, 3]))
    pools = draw(strategies.node_pools())
    pools[:1] = [replace(pool, replicas=replicas) for pool in pools[:1]]
    sold_out = draw(st.sets(st.sampled_from(["t-1x", "t-2x", "t-4x"])))
    types = with_some_sold_out(draw(strategies.instance_types()), sold_out)
    policy = draw(st.sampled_from(["Respect", "Ignore"]))
    objects = [*draw(strategies.pods()), *draw(strategies.nodes()), *pools, claim, *running]
    return World(
        [*objects, build.node_class()],
        build.catalogue(*types),
        replace(STATIC, preference_policy=policy),
    )


@given(world=worlds())
def test_a_plan_shows_the_node_claims_that_the_controller_makes(world: World) -> None:
    check(world.objects, world.catalogue, world.settings)


SMALL = build.instance_type("small", cpu="12", memory="48Gi", price=0.5)
LARGE = build.instance_type("large", cpu="192", memory="768Gi", price=5.0)


@pytest.mark.parametrize(
    ("objects", "types", "claims", "reasons"),
    [
        pytest.param(
            [*build.pods(10, cpu="1"), build.node_pool()],
            with_some_sold_out([SMALL, LARGE], {"small"}),
            0,
            {"CapacityUnavailable"},
            id="no node is bought at any price",
        ),
        pytest.param(
            [*bench_solve.deployments(2000, 3, mixed=False), build.node_pool()],
            bench_solve.instance_types(),
            23,
            set[str](),
            id="equal nodes, where a tight packing would leave pods over",
        ),
        pytest.param(
            [*build.pods(3, cpu="1"), build.node_pool(replicas=2), build.node_pool("other")],
            [SMALL],
            2,
            set[str](),
            id="nodes of a static NodePool take pods before others are made",
        ),
        pytest.param(
            [
                build.node_claim(deleted=build.NOW),
                build.node(claim=build.node_claim(deleted=build.NOW)),
                build.pod("mover", node="node-default-aaaaa", cpu="3"),
                build.node_pool(),
            ],
            build.family(),
            1,
            set[str](),
            id="a pod whose node goes",
        ),
        pytest.param(
            [
                *build.pods(2, cpu="1"),
                build.node_pool(
                    requirements=build.needs(
                        build.require(labels.CAPACITY_TYPE, "In", "spot", "on-demand")
                    )
                ),
            ],
            [build.instance_type(capacity_types=("spot", "on-demand"))],
            1,
            set[str](),
            id="spot before on-demand",
        ),
    ],
)
def test_what_only_the_controller_knew_is_in_the_plan(
    objects: list[Object], types: list[InstanceType], claims: int, reasons: set[str]
) -> None:
    found = check([*objects, build.node_class()], build.catalogue(*types), STATIC)

    assert len(found.creations) == claims
    why = {b.reason for each in found.report.unschedulable for b in each.blockers}
    assert why == reasons


def test_who_has_waited_for_long_may_have_a_dearer_node_in_the_plan_too() -> None:
    pods = build.pods(10, cpu="1")
    long_ago = build.NOW - timedelta(minutes=25)
    waited = [replace(each, meta=replace(each.meta, created=long_ago)) for each in pods]
    catalogue = build.catalogue(*with_some_sold_out([SMALL, LARGE], {"small"}))
    about = [build.node_pool(), build.node_class()]

    told = [
        forecast([*each, *about], catalogue, Settings(), now=build.NOW) for each in (pods, waited)
    ]

    assert [len(each.new_nodes) for each in told] == [0, 1]
