"""The packing engine against the obvious one, a plain check, and itself."""

import random
from dataclasses import replace
from itertools import pairwise

import numpy as np
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from tests.reference import packing as reference

from daiku.scheduling.packer import bound, pack
from daiku.scheduling.packer.demand import Demand, Packing, demand
from daiku.scheduling.packer.effort import Effort
from daiku.scheduling.packer.tables import tables

SEARCH = settings(deadline=None, max_examples=150, derandomize=True)
FEW = settings(deadline=None, max_examples=40, derandomize=True)


@st.composite
def demands(
    draw: st.DrawFn, classes_max: int = 4, pods_max: int = 2, columns_max: int = 4
) -> Demand:
    """A demand in which most classes fit something. Small numbers, so that exact fits and ties occur."""
    classes = draw(st.integers(1, classes_max))
    columns = draw(st.integers(1, columns_max))
    resources = draw(st.integers(1, 3))
    group_count = draw(st.integers(0, 2))

    def table(rows: int, length: int, low: int, high: int) -> np.ndarray:
        row = st.lists(st.integers(low, high), min_size=length, max_size=length)
        return np.array(draw(st.lists(row, min_size=rows, max_size=rows)), dtype=np.int64)

    made = demand(
        table(resources, classes, 0, 6),
        table(1, classes, 0, pods_max)[0],
        table(resources, columns, 3, 14),
        table(1, columns, 1, 12)[0] / 4.0,
        caps=table(1, classes, 1, 4)[0],
        groups=table(1, classes, -1, group_count - 1)[0],
        group_caps=table(1, group_count, 1, 3)[0] if group_count else None,
    )
    if draw(st.booleans()):
        made = replace(made, allowed=table(classes, columns, 0, 2) > 0)
    return made


def searched(asked: Demand, steps: int) -> float:
    """What the search finds, even where the exact method would answer."""
    reduced = tables(asked)
    fleet = pack.search(reduced, bound.bound(reduced), Effort(steps))
    return fleet.price(reduced)


@SEARCH
@given(demands())
def test_a_few_pods_are_packed_as_cheaply_as_can_be(asked: Demand) -> None:
    packed = pack.pack(asked)

    assert reference.problems(asked, packed) == []
    assert abs(packed.usd_per_hour - reference.cheapest(asked)) < 1e-4
    assert packed.gap == 0


@SEARCH
@given(demands())
def test_the_search_never_costs_more_than_half_as_much_again_for_a_few_pods(asked: Demand) -> None:
    assume(len(tables(asked).counts))
    best = reference.cheapest(asked)

    assert best - 1e-4 <= searched(asked, steps=40) <= best * 1.5 + 1e-4


@SEARCH
@given(demands())
def test_no_packing_is_cheaper_than_the_bound(asked: Demand) -> None:
    reduced = tables(asked)

    assert bound.bound(reduced).usd_per_hour <= reference.cheapest(asked) + 1e-4


@FEW
@given(demands(classes_max=8, pods_max=40, columns_max=8), st.integers(0, 40))
def test_the_best_so_far_is_legal_whenever_the_search_ends(asked: Demand, steps: int) -> None:
    assert reference.problems(asked, pack.pack(asked, steps=steps)) == []


@FEW
@given(demands(classes_max=8, pods_max=40, columns_max=8))
def test_more_steps_never_give_a_dearer_answer(asked: Demand) -> None:
    prices = [pack.pack(asked, steps=steps).usd_per_hour for steps in (0, 1, 3, 9, 27, 60)]

    assert all(later <= earlier + 1e-9 for earlier, later in pairwise(prices))


@FEW
@given(demands(classes_max=8, pods_max=40, columns_max=8))
def test_the_same_demand_gets_the_same_answer(asked: Demand) -> None:
    assert listed(pack.pack(asked, steps=30)) == listed(pack.pack(asked, steps=30))


@FEW
@given(demands(classes_max=8, pods_max=40, columns_max=8), st.randoms(use_true_random=False))
def test_the_order_of_classes_and_columns_does_not_change_the_price(
    asked: Demand, dice: random.Random
) -> None:
    classes, columns = list(range(len(asked.counts))), list(range(len(asked.prices)))
    assume(len({tuple(row) for row in asked.requests.T}) == len(classes))
    assume(len(set(asked.prices)) == len(columns))
    dice.shuffle(classes)
    dice.shuffle(columns)
    renamed = replace(
        asked,
        requests=asked.requests[:, classes],
        counts=asked.counts[classes],
        caps=asked.caps[classes],
        groups=asked.groups[classes],
        allowed=asked.allowed[classes][:, columns],
        allocatable=asked.allocatable[:, columns],
        prices=asked.prices[columns],
    )

    packed = pack.pack(renamed, steps=30)

    assert packed.usd_per_hour == pack.pack(asked, steps=30).usd_per_hour


@FEW
@given(demands(classes_max=4, pods_max=30, columns_max=5))
def test_splitting_a_class_in_two_changes_nothing(asked: Demand) -> None:
    asked = replace(asked, caps=asked.counts + 1, groups=np.full(len(asked.counts), -1))
    half = asked.counts // 2
    twice = replace(
        asked,
        requests=np.hstack([asked.requests, asked.requests]),
        counts=np.concatenate([half, asked.counts - half]),
        caps=np.concatenate([asked.caps, asked.caps]),
        groups=np.concatenate([asked.groups, asked.groups]),
        allowed=np.vstack([asked.allowed, asked.allowed]),
    )

    packed = pack.pack(twice, steps=20)

    assert reference.problems(twice, packed) == []
    assert packed.usd_per_hour == pack.pack(asked, steps=20).usd_per_hour


def listed(packed: Packing) -> list[object]:
    """A packing that compares."""
    return [(n.column, n.copies, n.classes.tolist(), n.pods.tolist()) for n in packed.nodes]
