"""N nodes become M: what the end state costs, and that every step on the way is worth taking."""

from dataclasses import replace
from datetime import timedelta

import pytest
from tests import build

from daiku.disruption import candidates, eviction_cost, global_consolidation
from daiku.disruption.global_consolidation import Repack
from daiku.events import Object
from daiku.model import labels
from daiku.model.nodepool import NodePool
from daiku.scheduling import whatif
from daiku.settings import Settings
from daiku.state.snapshot import Snapshot

TYPES = [
    build.instance_type("small", cpu="2", memory="4Gi", price=0.10),
    build.instance_type("large", cpu="8", memory="16Gi", price=0.38),
]
CATALOGUE = build.catalogue(*TYPES)
LATER = build.NOW + timedelta(hours=1)


def machine(name: str, of: str = "large") -> list[Object]:
    kind = next(t for t in TYPES if t.name == of)
    claim = build.node_claim(name, instance_type=of)
    claim = replace(claim, capacity=kind.capacity, allocatable=kind.allocatable)
    return [claim, build.node(claim=claim)]


def with_horizon(asked: str, **fields: object) -> NodePool:
    pool = build.node_pool(**fields)  # pyright: ignore[reportArgumentType]
    return replace(pool, meta=replace(pool.meta, annotations={eviction_cost.HORIZON: asked}))


def snapshot_of(*objects: Object, pool: NodePool | None = None) -> Snapshot:
    every = [*objects, pool or with_horizon("0"), build.node_class()]
    return build.cluster(*every, catalogue_of=CATALOGUE).snapshot(LATER)


def found(snapshot: Snapshot) -> Repack:
    world = whatif.prepare(snapshot, CATALOGUE, Settings(), {})
    may_go, _ = candidates.find(snapshot, {}, {}, LATER)
    return global_consolidation.search(
        world, global_consolidation.movable(may_go, world, snapshot, LATER)
    )


def thin(nodes: int, cpu: str = "1") -> list[Object]:
    """Large nodes with one pod each."""
    return [
        each
        for n in range(nodes)
        for each in (*machine(f"n{n}"), build.pod(f"web-{n}", cpu=cpu, node=f"node-n{n}"))
    ]


def test_many_half_empty_nodes_become_few() -> None:
    answer = found(snapshot_of(*thin(6)))

    assert answer.figures.usd_per_hour_before == pytest.approx(6 * 0.38)
    assert answer.figures.usd_per_hour_after <= 1.3 * answer.figures.lower_bound_usd_per_hour
    assert answer.figures.usd_per_hour_after >= answer.figures.lower_bound_usd_per_hour - 1e-9


def test_a_packing_that_is_good_already_is_left_alone() -> None:
    full = [build.pod(f"web-{n}", cpu="2", memory="4Gi", node="node-n0") for n in range(4)]

    answer = found(snapshot_of(*machine("n0"), *full))

    assert answer.steps == ()
    assert str(answer) == "repacking any of 1 nodes saves nothing that its moves would not cost"


def test_every_step_saves_and_moves_each_pod_to_a_place_that_is_there_by_then() -> None:
    answer = found(snapshot_of(*thin(9, cpu="1500m"), *machine("s", "small")))

    gone: list[str] = []
    moved: list[str] = []
    for step in answer.steps:
        assert step.saved_usd_per_hour > step.moving_usd_per_hour
        waiting = {pod for node in step.launched for pod in node.pods}
        assert not waiting & {*moved}
        gone += step.gone
        moved += step.moves
    placed_new = [p for step in answer.steps for node in step.launched for p in node.pods]
    assert len(gone) == len({*gone})
    assert len(moved) == len({*moved}) == answer.figures.moved
    assert {*placed_new} <= {*moved}


def test_nothing_moves_when_it_costs_more_than_it_saves_in_the_horizon() -> None:
    short, long = with_horizon("1s"), with_horizon("24h")

    assert found(snapshot_of(*thin(4), pool=short)).steps == ()
    assert found(snapshot_of(*thin(4), pool=long)).steps != ()


def test_moving_a_pod_again_that_was_moved_a_moment_ago_costs_up_to_four_times_as_much() -> None:
    pod = build.pod("web", node="node-n0")
    world = whatif.prepare(snapshot_of(*machine("n0"), pod), CATALOGUE, Settings(), {})
    costs = [
        eviction_cost.Costs(world, {}, {}, lambda _pod, f=f: f).of(pod) for f in (0.0, 0.5, 1.0)
    ]

    assert costs == pytest.approx([costs[0], 2.5 * costs[0], 4 * costs[0]])


@pytest.mark.parametrize(
    "pool",
    [
        with_horizon("0", consolidation_policy="WhenEmpty"),
        with_horizon("0", consolidate_after=None),
        with_horizon("0", replicas=4),
    ],
    ids=["WhenEmpty", "Never", "static"],
)
def test_pools_that_forbid_consolidation_are_not_repacked(pool: NodePool) -> None:
    assert found(snapshot_of(*thin(4), pool=pool)).figures.considered == 0


def test_the_same_snapshot_gives_the_same_answer() -> None:
    objects, pool = thin(7), with_horizon("0")
    first, second = snapshot_of(*objects, pool=pool), snapshot_of(*reversed(objects), pool=pool)

    assert found(first) == found(second)


@pytest.mark.parametrize(("annotation", "hours"), [("", 1), ("0", 0), ("30m", 0.5), ("a while", 1)])
def test_the_horizon_is_what_the_pool_says_or_an_hour(annotation: str, hours: float) -> None:
    assert eviction_cost.horizon(with_horizon(annotation)) == timedelta(hours=hours)


def test_a_single_replica_a_dear_pod_and_an_important_one_cost_more_to_move() -> None:
    plain = build.pod("plain", node="node-n0")
    dear = build.pod("dear", node="node-n0", annotations={labels.POD_DELETION_COST: str(2**27)})
    world = whatif.prepare(snapshot_of(*machine("n0"), plain, dear), CATALOGUE, Settings(), {})

    many = eviction_cost.Costs(world, {"uid-owner": 1000}, {})
    single = eviction_cost.Costs(world, {"uid-owner": 1}, {})

    assert many.of(dear) == pytest.approx(2 * many.of(plain))
    assert single.of(plain) == pytest.approx(10 * many.of(plain), rel=0.01)
    quick = eviction_cost.Costs(world, {"uid-owner": 1}, {"uid-owner": timedelta(seconds=20)})
    assert quick.of(plain) == pytest.approx(single.of(plain) * 140 / 180)
    assert eviction_cost.of_eviction(replace(plain, priority=2**25)) == 2.0
    assert (
        eviction_cost.of_eviction(build.pod(annotations={labels.POD_DELETION_COST: "nan"})) == 1.0
    )


def test_how_long_a_workload_takes_to_be_ready_is_seen_on_the_middle_one_of_its_pods() -> None:
    took = (4, 30, 900, 7200, 5)
    there = [
        replace(
            build.pod(f"web-{n}", node="node-n0", cpu="100m"),
            scheduled=build.NOW,
            ready_since=build.NOW + timedelta(seconds=seconds),
        )
        for n, seconds in enumerate(took)
    ]
    unready = replace(build.pod("starting", node="node-n0", cpu="100m"), ready_since=None)

    assert eviction_cost.starts(snapshot_of(*machine("n0"), *there, unready)) == {
        "uid-owner": timedelta(seconds=30)
    }
