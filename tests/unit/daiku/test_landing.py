"""Where kube-scheduler puts pods: beside a reference that places them one by one, as it does."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from daiku.scheduling import landing
from daiku.scheduling.columns import Ints
from daiku.scheduling.landing import Landing

AXIS = ("cpu", "memory", "pods")


def question(
    free: list[tuple[int, int, int]],
    requests: list[tuple[int, int]],
    held: list[tuple[int, int, int]] | None = None,
) -> Landing:
    """Nodes with so much free, beside what their pods hold, and classes of pods."""
    there = np.array(held or [(0, 0, 0)] * len(free), dtype=np.int64).reshape(-1, 3).T
    asks = np.array([(*each, 1) for each in requests], dtype=np.int64).T
    room = np.array(free, dtype=np.int64).reshape(-1, 3).T
    hostable = np.ones((len(requests), len(free)), dtype=np.bool_)
    return landing.of(AXIS, room, there, hostable, asks)


def fullness(asked: Landing, taken: Ints) -> float:
    """How full the fullest node is, of cpu or memory."""
    used = asked.total - asked.free + taken
    return float((used[:2] / np.maximum(asked.total[:2], 1)).max())


def one_by_one(asked: Landing, count: int) -> tuple[int, float]:
    """How many of `count` pods of the only class find room, each where it leaves the node least full; the fullest."""
    asks = asked.requests[:, 0]
    taken, placed = np.zeros_like(asked.free), 0
    for _ in range(count):
        room = asked.free - taken
        fits = [node for node in range(room.shape[1]) if (room[:, node] >= asks).all()]
        if not fits:
            break
        used = asked.total - asked.free + taken + asks[:, None]
        level = (used[:2] / np.maximum(asked.total[:2], 1)).max(axis=0)
        taken[:, min(fits, key=lambda node: (level[node], node))] += asks
        placed += 1
    return placed, fullness(asked, taken)


rooms = st.tuples(st.integers(0, 64), st.integers(0, 64), st.integers(0, 20))


@given(
    st.lists(rooms, min_size=1, max_size=6),
    st.tuples(st.integers(1, 8), st.integers(1, 8)),
    st.integers(1, 60),
)
def test_equal_pods_come_up_to_the_level_to_which_they_come_one_by_one(
    free: list[tuple[int, int, int]], asks: tuple[int, int], count: int
) -> None:
    asked = question(free, [asks])
    left = asked.left_over(np.array([[count]]))
    placed, level = one_by_one(asked, count)

    assert count - left.sum() == placed
    taken = np.zeros_like(asked.free)
    for row, (amounts,) in asked.landed(
        np.array([[count]]), np.ones((1, len(free)), dtype=np.bool_)
    ):
        taken += asked.requests[:, row][:, None] * amounts
    assert (taken <= asked.free).all()
    totals = np.maximum(asked.total[:2], 1)
    one = float((np.array(asks)[:, None] / totals).max()) if placed else 0.0
    assert fullness(asked, taken) <= level + one + 1 / 256


def test_what_a_packing_would_fit_need_not_land() -> None:
    """3 + 3 and 2 + 2 + 2 fill six and six; put up to one level they do not."""
    asked = question([(6, 64, 9), (6, 64, 9)], [(3, 1), (2, 1)])

    assert asked.left_over(np.array([[2, 3]])).tolist() == [[0, 1]]


def test_large_pods_land_before_small_ones() -> None:
    asked = question([(4, 64, 9), (4, 64, 9)], [(1, 1), (4, 1)])

    assert asked.left_over(np.array([[4, 1]])).tolist() == [[0, 0]]


def test_nodes_that_go_take_nobody_and_full_ones_only_what_they_have_room_for() -> None:
    asked = question([(4, 4, 9), (4, 4, 9)], [(1, 1)], held=[(0, 0, 0), (60, 60, 9)])

    stays = np.array([[True, True], [False, True], [True, True]])
    assert asked.left_over(np.array([[8], [8], [2]]), stays).tolist() == [[0], [4], [0]]
    ((_, taken),) = asked.landed(np.array([[2]]), stays[:1])
    assert taken.tolist() == [[2, 0]], "the other one is fuller"


def test_without_nodes_nobody_lands() -> None:
    assert question([], [(1, 1)]).left_over(np.array([[3]])).tolist() == [[3]]
