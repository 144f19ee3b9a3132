"""Which of several ways to repack is taken: none is bought for what would do without one."""

from dataclasses import replace

import pytest
from tests import build
from tests.unit.daiku.moving_world import running, world
from tests.unit.daiku.test_repack_moves import OLD, allows, settled

from daiku.events import Object


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
