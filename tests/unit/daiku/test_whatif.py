"""What if nodes went away: the rules that consolidation leans on, one by one."""

from dataclasses import replace

import pytest
from tests import build

from daiku.events import Object
from daiku.model import labels
from daiku.model.instance_type import InstanceType
from daiku.scheduling import whatif
from daiku.scheduling.whatif import WhatIf
from daiku.settings import Settings

TYPES = build.family("c", 2, (1, 2, 4, 8), capacity_types=("on-demand", "spot"))
PRICE_4X = 4 * 0.04 + 8 * 0.004


def machine(name: str, *, cpu: str = "4", memory: str = "8Gi", **fields: object) -> list[Object]:
    """A node of the pool, named node-<name>."""
    claim = build.node_claim(name, cpu=cpu, memory=memory, **fields)  # pyright: ignore[reportArgumentType]
    return [claim, build.node(claim=claim)]


def world(
    *objects: Object,
    types: list[InstanceType] | None = None,
    placements: dict[str, str] | None = None,
    **pool: object,
) -> WhatIf:
    catalogue = build.catalogue(*(types or TYPES))
    pools = [build.node_pool(**pool), build.node_class()]  # pyright: ignore[reportArgumentType]
    snapshot = build.cluster(*objects, *pools, catalogue_of=catalogue).snapshot(build.NOW)
    return whatif.prepare(snapshot, catalogue, Settings(), placements or {})


def test_pods_go_to_the_room_that_other_nodes_have() -> None:
    asked = world(
        *machine("a"),
        *machine("b"),
        build.pod("web-1", cpu="1", node="node-a"),
        build.pod("web-2", cpu="2", node="node-b"),
    )

    outcome = asked.without(frozenset({"node-a"}), new_nodes_most=0)

    assert outcome.refusal is None
    assert outcome.moved == ("default/web-1",)
    assert outcome.placements == {"default/web-1": "node-b"}
    assert outcome.usd_per_hour_before == pytest.approx(2 * PRICE_4X)
    assert outcome.usd_per_hour_after == pytest.approx(PRICE_4X)


def test_nodes_that_are_open_can_be_filled_as_kube_scheduler_does_it() -> None:
    """3 + 3 and 2 + 2 + 2 would do; put where there is the most room they do not."""
    asked = world(
        *machine("a", cpu="16", memory="64Gi"),
        *machine("b", cpu="6", memory="64Gi"),
        *machine("c", cpu="6", memory="64Gi"),
        *(build.pod(f"large-{n}", cpu="3", node="node-a") for n in range(2)),
        *(build.pod(f"small-{n}", cpu="2", node="node-a") for n in range(3)),
    )

    packed = asked.without(frozenset({"node-a"}))
    landed = asked.without(frozenset({"node-a"}), landed=True)

    assert (len(packed.placements), packed.new_nodes) == (5, ())
    (made,) = landed.new_nodes
    assert made.pods == ("default/small-2",)
    on = [
        sorted(p for p, n in landed.placements.items() if n == node)
        for node in ("node-b", "node-c")
    ]
    assert on == [
        ["default/large-0", "default/small-0"],
        ["default/large-1", "default/small-1"],
    ]


def test_asking_changes_nothing() -> None:
    asked = world(*machine("a"), *machine("b"), build.pod("web-1", cpu="3", node="node-a"))

    first = asked.without(frozenset({"node-a"}))
    asked.without(frozenset({"node-a", "node-b"}))

    assert asked.without(frozenset({"node-a"})) == first


def test_what_does_not_fit_gets_a_new_node_with_every_type_that_holds_it_cheapest_first() -> None:
    asked = world(*machine("a"), build.pod("web-1", cpu="1500m", node="node-a"))

    outcome = asked.without(frozenset({"node-a"}), new_nodes_most=1)

    assert [t.name for t in outcome.new_nodes[0].types] == ["c-2x", "c-4x", "c-8x"]
    assert outcome.new_nodes[0].pods == ("default/web-1",)


def test_with_one_new_node_allowed_pods_share_it_even_if_two_are_cheaper() -> None:
    types = [
        build.instance_type("small", cpu="2", memory="4Gi", price=0.1),
        build.instance_type("large", cpu="8", memory="16Gi", price=0.9),
    ]
    asked = world(
        *machine("a"),
        *[build.pod(f"web-{n}", cpu="1500m", node="node-a") for n in range(2)],
        types=types,
    )

    one = asked.without(frozenset({"node-a"}), new_nodes_most=1)
    many = asked.without(frozenset({"node-a"}))

    assert [n.types[0].name for n in one.new_nodes] == ["large"]
    assert [n.types[0].name for n in many.new_nodes] == ["small", "small"]


def test_pods_that_cannot_share_the_one_new_node_are_a_refusal() -> None:
    types = [build.instance_type("small", cpu="2", memory="4Gi", price=0.1)]
    asked = world(
        *machine("a"),
        *[build.pod(f"web-{n}", cpu="1500m", node="node-a") for n in range(2)],
        types=types,
    )

    outcome = asked.without(frozenset({"node-a"}), new_nodes_most=1)

    assert outcome.refusal is not None
    assert not outcome.new_nodes or len(outcome.new_nodes) > 1


def test_pods_without_any_place_are_named_with_the_reason() -> None:
    asked = world(*machine("a"), build.pod("web-1", cpu="3", node="node-a"), limits={"cpu": "4"})

    outcome = asked.without(frozenset({"node-a"}))

    assert outcome.refusal is not None
    assert outcome.refusal.reason == "NoPlace"
    assert str(outcome.refusal).startswith(
        "no place for default/web-1: NodePool default: LimitExceeded"
    )


def test_a_node_that_is_not_initialized_takes_nothing() -> None:
    asked = world(
        *machine("a"),
        young := build.node_claim("b", initialized=False),
        build.node(claim=young, initialized=False),
        build.pod("web-1", cpu="1", node="node-a"),
    )

    outcome = asked.without(frozenset({"node-a"}), new_nodes_most=0)

    assert outcome.refusal is not None
    assert outcome.placements == {}


def test_a_node_that_is_closed_takes_nothing() -> None:
    asked = world(*machine("a"), *machine("b"), build.pod("web-1", cpu="1", node="node-a"))

    outcome = asked.without(frozenset({"node-a"}), new_nodes_most=0, closed=frozenset({"node-b"}))

    assert outcome.refusal is not None


def test_pods_that_wait_keep_the_room_that_they_would_get() -> None:
    asked = world(
        *machine("a"),
        *machine("b"),
        build.pod("web-1", cpu="3", node="node-a"),
        build.pod("waiting", cpu="2"),
    )

    # The pod that waits takes 2 of node-a, which it loses, and then 2 of node-b like any other.
    moved = asked.without(frozenset({"node-b"}), new_nodes_most=0)
    both = asked.without(frozenset({"node-a"}), new_nodes_most=0)

    assert moved.refusal is None
    assert both.refusal is not None


def test_pods_expected_on_a_node_that_goes_are_no_reason_to_keep_it() -> None:
    asked = world(*machine("a"), build.pod("waiting", cpu="3"), placements={"default/waiting": "a"})

    outcome = asked.without(frozenset({"node-a"}), new_nodes_most=0)

    assert outcome.refusal is None
    assert outcome.moved == ()


def test_daemons_and_finished_pods_move_nowhere() -> None:
    asked = world(
        *machine("a"),
        build.pod("agent", owner="DaemonSet", node="node-a"),
        replace(build.pod("job", node="node-a"), phase="Succeeded"),
    )

    assert asked.without(frozenset({"node-a"}), new_nodes_most=0).moved == ()


def test_below_a_price_only_cheaper_types_of_one_capacity_type_are_left() -> None:
    asked = world(*machine("a"), build.pod("web-1", cpu="500m", node="node-a"))

    outcome = asked.without(frozenset({"node-a"}), new_nodes_most=1, below_usd_per_hour=PRICE_4X)

    node = outcome.new_nodes[0]
    assert outcome.refusal is None
    assert node.capacity_types == ("spot",)
    assert [t.name for t in node.types] == ["c-1x", "c-2x", "c-4x", "c-8x"]
    assert all(t.usd_per_hour < PRICE_4X for t in node.types)


def test_a_type_is_cheaper_only_if_it_is_in_every_zone() -> None:
    types = [
        build.instance_type("c-4x", cpu="4", price=0.2),
        build.instance_type(
            "c-2x",
            cpu="2",
            offerings=[build.offering(0.1, "zone-a"), build.offering(0.25, "zone-b")],
        ),
    ]
    asked = world(*machine("a"), build.pod("web-1", cpu="1", node="node-a"), types=types)

    outcome = asked.without(frozenset({"node-a"}), new_nodes_most=1, below_usd_per_hour=0.2)

    assert outcome.refusal is not None
    assert str(outcome.refusal) == (
        "its pods need a new node, and none costs less than $0.2000/h in every zone that a launch may be "
        "given; the cheapest costs $0.1000/h, in the cheapest of its zones"
    )


def test_a_new_node_can_be_narrowed_to_one_capacity_type() -> None:
    asked = world(*machine("a"), build.pod("web-1", cpu="500m", node="node-a"))
    node = asked.without(frozenset({"node-a"})).new_nodes[0]

    on_demand = asked.narrowed(node, capacity_type=labels.ON_DEMAND, below_usd_per_hour=0.1)

    assert on_demand is not None
    assert on_demand.capacity_types == ("on-demand",)
    assert [t.name for t in on_demand.types] == ["c-1x", "c-2x"]
    assert asked.narrowed(node, capacity_type=labels.RESERVED) is None


def test_a_node_that_nobody_knows_is_a_mistake() -> None:
    with pytest.raises(KeyError):
        world(*machine("a")).without(frozenset({"node-x"}))
