"""Where kube-scheduler puts pods: beside a reference that places them one by one, as it does."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from daiku.scheduling import landing
from daiku.scheduling.columns import Ints
from daiku.scheduling.landing import Landing

AXIS = ("cpu", "memory", "pods")


def question(
    free: list[tuple[int, int, int]],
    requests: list[tuple[int, int]],
    held: list[tuple[int, int, int]] | None = None,
    kin: list[list[int]] | None = None,
) -> Landing:
    """Nodes with so much free, beside what their pods hold, and classes of pods, of which each has some."""
    there = np.array(held or [(0, 0, 0)] * len(free), dtype=np.int64).reshape(-1, 3).T
    asks = np.array([(*each, 1) for each in requests], dtype=np.int64).T
    room = np.array(free, dtype=np.int64).reshape(-1, 3).T
    hostable = np.ones((len(requests), len(free)), dtype=np.bool_)
    same = np.array(kin if kin is not None else np.zeros_like(hostable), dtype=np.int64)
    return landing.of(AXIS, free=room, held=there, hostable=hostable, requests=asks, kin=same)


def levels(asked: Landing, came: Ints, crowd: float) -> NDArray[np.float64]:
    """How full each node is, of cpu or memory, when so many pods of the only class have come, and how crowded."""
    used = asked.total - asked.free + asked.requests[:, [0]] * came
    full = (used[:2] / np.maximum(asked.total[:2], 1)).max(axis=0)
    return full + crowd * (asked.kin[0] + came)


def one_by_one(asked: Landing, count: int, crowd: float) -> Ints:
    """How many of `count` pods of the only class come to each node, each where the level is then the least."""
    came = np.zeros(asked.free.shape[1], dtype=np.int64)
    for _ in range(count):
        room = asked.free - asked.requests[:, [0]] * came
        fits = (room >= asked.requests[:, [0]]).all(axis=0)
        if not fits.any():
            break
        came[np.argmin(np.where(fits, levels(asked, came + 1, crowd), np.inf))] += 1
    return came


rooms = st.tuples(st.integers(0, 64), st.integers(0, 64), st.integers(0, 20))


@given(
    st.lists(st.tuples(rooms, st.integers(0, 9)), min_size=1, max_size=6),
    st.tuples(st.integers(1, 8), st.integers(1, 8)),
    st.integers(1, 60),
)
def test_equal_pods_come_up_to_the_level_to_which_they_come_one_by_one(
    nodes: list[tuple[tuple[int, int, int], int]], asks: tuple[int, int], count: int
) -> None:
    asked = question([room for room, _ in nodes], [asks], kin=[[kin for _, kin in nodes]])
    fits = (asked.free // asked.requests[:, [0]]).min(axis=0)[None]
    crowd = float(landing.crowding(asked.kin[[0]], fits)[0, 0])
    came = one_by_one(asked, count, crowd)

    landed = asked.landed(np.array([[count]]), np.ones((1, len(nodes)), dtype=np.bool_))
    ((_, (amounts,)),) = landed
    assert amounts.sum() == came.sum()
    assert (amounts <= fits[0]).all()
    totals = np.maximum(asked.total[:2], 1)
    one = float((np.array(asks)[:, None] / totals).max()) + crowd
    step = (1 + crowd * (9 + count)) / 2**10
    assert levels(asked, amounts, crowd).max() <= levels(asked, came, crowd).max() + one + step


def test_pods_come_to_nodes_with_fewer_of_their_kind() -> None:
    """By kube-scheduler's defaults; the one node has more room than the other."""
    stays = np.array([[True, True]])
    alike = question([(40, 40, 90), (30, 30, 90)], [(1, 1)], kin=[[0, 0]])
    apart = question([(40, 40, 90), (30, 30, 90)], [(1, 1)], kin=[[4, 0]])

    ((_, taken),) = alike.landed(np.array([[2]]), stays)
    assert taken.tolist() == [[1, 1]]
    ((_, taken),) = apart.landed(np.array([[2]]), stays)
    assert taken.tolist() == [[0, 2]]


def test_being_spread_counts_less_the_more_of_a_kind_there_are() -> None:
    """Source: kube-scheduler's PodTopologySpread: the sum of each node, over the largest of all."""
    few, many = (np.array([[each, 0, 0]], dtype=np.int64) for each in (1, 100))
    fits = np.ones((1, 3), dtype=np.int64)

    # 3 nodes that could take it: 2 (spreading's weight) x ln 5 / (2 + 4 + ln 3 + ln 5).
    assert float(landing.crowding(few, fits)[0, 0]) == pytest.approx(0.3696, abs=1e-4)
    assert float(landing.crowding(many, fits)[0, 0]) < 0.02


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
    ((_, taken),) = asked.landed(np.array([[1]]), stays[:1])
    assert taken.tolist() == [[1, 0]], "the other one is fuller"


def test_without_nodes_nobody_lands() -> None:
    assert question([], [(1, 1)]).left_over(np.array([[3]])).tolist() == [[3]]
