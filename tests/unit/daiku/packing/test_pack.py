"""What the packing engine does, one fact at a time."""

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest
from tests.performance import bench_packing
from tests.reference import packing as reference

from daiku.scheduling.packer import pack
from daiku.scheduling.packer.demand import Demand, Packing, demand

SMALL, LARGE = 0, 1


def two_types(*requests: int, counts: list[int], caps: list[int] | None = None) -> Demand:
    """Pods that ask for cpu only, on a node of 4 for 1 USD or a node of 10 for 2 USD."""
    return demand(
        np.array([requests], dtype=np.int64),
        np.array(counts, dtype=np.int64),
        np.array([[4, 10]], dtype=np.int64),
        np.array([1.0, 2.0]),
        caps=None if caps is None else np.array(caps, dtype=np.int64),
    )


def columns(packed: Packing) -> list[int]:
    return [nodes.column for nodes in packed.nodes for _ in range(nodes.copies)]


def stop_after(asks: int) -> Callable[[], bool]:
    """Say stop when asked for the `asks`-th time."""
    left = iter(range(asks))
    return lambda: next(left, None) is None


def test_five_equal_pods_get_the_provably_cheapest_nodes() -> None:
    packed = pack.pack(two_types(2, counts=[5]))

    assert columns(packed) == [LARGE]
    assert packed.usd_per_hour == packed.lower_bound_usd_per_hour == 2.0


def test_many_equal_pods_share_one_line_of_the_answer() -> None:
    packed = pack.pack(two_types(5, counts=[400]))

    assert [(n.column, n.copies, n.pods.tolist()) for n in packed.nodes] == [(LARGE, 200, [2])]


def test_of_equally_cheap_nodes_the_fewest_are_made() -> None:
    asked = replace(two_types(4, counts=[2]), allocatable=np.array([[4, 8]]))

    assert columns(pack.pack(asked)) == [LARGE]


def test_a_class_that_fits_no_node_is_left_out_and_the_others_are_placed() -> None:
    packed = pack.pack(two_types(11, 3, counts=[2, 1]))

    assert packed.unplaced.tolist() == [2, 0]
    assert columns(packed) == [SMALL]


def test_nothing_asked_for_costs_nothing() -> None:
    packed = pack.pack(two_types(1, counts=[0]))

    assert packed.nodes == ()
    assert packed.usd_per_hour == packed.gap == 0


def test_a_cap_of_one_gives_each_pod_its_own_node() -> None:
    packed = pack.pack(two_types(1, counts=[3], caps=[1]))

    assert columns(packed) == [SMALL] * 3


def test_classes_of_one_exclusion_group_share_its_cap() -> None:
    asked = two_types(1, 2, counts=[1, 1])
    of_one_group = np.zeros(2, dtype=np.int64)

    apart = pack.pack(replace(asked, groups=of_one_group, group_caps=np.array([1])))
    together = pack.pack(replace(asked, groups=of_one_group, group_caps=np.array([2])))

    assert columns(apart) == [SMALL] * 2
    assert columns(together) == [SMALL]


def test_classes_that_no_column_is_open_to_together_do_not_share_a_node() -> None:
    asked = replace(
        two_types(1, 1, counts=[1, 1]), allowed=np.array([[True, False], [False, True]])
    )

    assert columns(pack.pack(asked)) == [SMALL, LARGE]


def test_a_column_without_a_price_is_not_bought() -> None:
    asked = replace(two_types(1, counts=[1]), prices=np.array([np.inf, 2.0]))

    assert columns(pack.pack(asked)) == [LARGE]


def test_a_resource_that_nobody_asks_for_never_blocks() -> None:
    asked = demand(np.array([[1], [0]]), np.array([2]), np.array([[2], [-5]]), np.array([1.0]))

    assert columns(pack.pack(asked)) == [0]


def test_a_node_that_costs_nothing_is_made_once_not_for_each_pod() -> None:
    asked = replace(two_types(1, 1, counts=[30, 30]), prices=np.array([0.0, 0.0]))

    packed = pack.pack(asked)

    assert reference.problems(asked, packed) == []
    assert columns(packed) == [LARGE] * 6


@pytest.mark.parametrize("asks", [*range(8), 13, 21, 34, 55, 89, 144])
def test_an_interrupted_search_answers_with_a_legal_packing(asks: int) -> None:
    asked = bench_packing.deployments(400, 3, mixed=True)

    packed = pack.pack(asked, stop_after(asks))

    assert reference.problems(asked, packed) == []


@pytest.mark.parametrize("asks", [0, 3, 40])
def test_thousands_of_classes_are_packed_legally_however_early_the_end(asks: int) -> None:
    asked = bench_packing.distinct(1000, 4000, fake=False)
    rows = np.arange(1000)
    asked = replace(
        asked,
        caps=np.where(rows % 3 == 0, 1, asked.counts + 1),
        groups=np.where(rows % 5 == 0, rows % 7, -1),
        group_caps=np.full(7, 2, dtype=np.int64),
        allowed=(rows[:, None] % 4 != np.arange(144) % 4) | (rows[:, None] % 4 == 3),
    )

    packed = pack.pack(asked, stop_after(asks))

    assert reference.problems(asked, packed) == []


def test_a_plain_catalogue_comes_within_one_per_cent_of_the_bound() -> None:
    assert pack.pack(bench_packing.deployments(2000, 1, mixed=False)).gap < 0.01


def test_a_mixed_catalogue_comes_within_two_per_cent_of_the_bound() -> None:
    assert pack.pack(bench_packing.deployments(2000, 1, mixed=True)).gap < 0.02


def test_thousands_of_distinct_classes_come_within_six_per_cent_without_a_search() -> None:
    assert pack.pack(bench_packing.distinct(3000, 20_000, fake=False), steps=0).gap < 0.06
