"""Which of several ways to repack is taken: none is bought for what would do without, and few pods move for as much."""

from dataclasses import replace
from datetime import timedelta

import pytest
from tests import build
from tests.unit.daiku.moving_world import running, world
from tests.unit.daiku.test_joint_repacks import ground_of
from tests.unit.daiku.test_repack_moves import OLD, allows, settled, with_policy

from daiku.disruption import candidates, repacking
from daiku.events import Object
from daiku.report import Proposal


@pytest.mark.parametrize(
    ("pods", "evicted"), [((2, 2), 2), ((4, 5), 4), ((3, 3, 3), 6), ((2, 2, 2, 2), 6)]
)
def test_where_all_fits_on_a_node_that_is_there_none_is_bought_of_the_same_type(
    pods: tuple[int, ...], evicted: int
) -> None:
    """By the lower bound a part of a node would do for all pods; but only whole ones can be had."""
    there = list[Object]()
    for number, count in enumerate(pods):
        there += running(f"n{number}", "c-8x", cpu="8")
        there += [
            replace(
                build.pod(f"web-{number}-{i}", cpu="700m", node=f"node-n{number}"), scheduled=OLD
            )
            for i in range(count)
        ]
    types = [build.instance_type("c-8x", cpu="8", memory="16Gi", price=0.384)]
    made = world(*there, pool=allows("100%"), types=types)
    made.run(200)
    settled(made)
    assert len(made.nodes()) == 1
    assert made.nodes().keys() < {f"node-n{n}" for n in range(len(pods))}
    assert made.evicted == evicted


@pytest.mark.parametrize(
    ("decided", "is_outdone"), [(("a", "b"), True), (("a",), False), (("b",), False)]
)
def test_what_was_decided_is_decided_anew_when_as_much_can_be_saved_with_far_fewer_evictions(
    decided: tuple[str, ...], is_outdone: bool
) -> None:
    """Either node has room for the pods of the other; to buy one for all of them saves no more."""
    pods = [
        replace(build.pod(f"{name}-{n}", cpu=cpu, node=f"node-{name}"), scheduled=OLD)
        for name, count, cpu in (("a", 4, "900m"), ("b", 5, "800m"))
        for n in range(count)
    ]
    nodes = [*running("a", "c-8x", cpu="8"), *running("b", "c-8x", cpu="8")]
    types = [build.instance_type("c-8x", cpu="8", memory="16Gi", price=0.384)]
    made = world(*nodes, *pods, pool=with_policy(consolidate_after=timedelta()), types=types)
    snapshot = made.cluster.snapshot(made.now)
    ground = ground_of(snapshot, made.catalogue)
    able, _ = candidates.find(snapshot, {}, {}, made.now)
    proposal = Proposal(
        id="1",
        reason="Underutilized",
        method="repack",
        claims=decided,
        node_pools=("default",),
        new_nodes=len(decided) - 1,
        saves_usd_per_hour=0.384,
        decided=made.now,
    )
    members = [each for each in able if each.name in decided]

    why = repacking.outdone([(proposal, members)], able, ground)

    assert ("9 evictions" in why and "4 now" in why) == is_outdone == bool(why)
