"""What the reduction of a demand keeps and what it leaves out."""

from dataclasses import replace

import numpy as np
import pytest

from daiku.scheduling.packer import bound
from daiku.scheduling.packer.demand import Demand, demand
from daiku.scheduling.packer.tables import tables


def asked() -> Demand:
    """Two equal classes and a larger one, on two columns."""
    return demand(
        np.array([[250, 250, 500]]),
        np.array([3, 4, 1]),
        np.array([[1930, 3920]]),
        np.array([1.0, 1.5]),
    )


def test_equal_classes_are_one_and_remember_whose_pods_they_are() -> None:
    reduced = tables(asked())

    assert reduced.counts.tolist() == [1, 7]
    assert [member.tolist() for member in reduced.members] == [[2], [0, 1]]


def test_equal_classes_with_a_cap_stay_apart() -> None:
    reduced = tables(replace(asked(), caps=np.array([1, 1, 9])))

    assert len(reduced.counts) == 3


def test_amounts_are_counted_in_what_requests_have_in_common() -> None:
    reduced = tables(asked())

    assert reduced.requests.tolist() == [[2, 1]]
    assert reduced.room.tolist() == [[7, 15]]


def test_a_dearer_column_that_is_no_larger_is_left_out() -> None:
    worse = replace(asked(), allocatable=np.array([[1930, 1900]]))

    assert tables(worse).sources.tolist() == [0]


def test_a_dearer_column_that_is_open_to_more_is_kept() -> None:
    allowed = np.array([[False, True], [True, True], [True, True]])
    wider = replace(asked(), allocatable=np.array([[1930, 1900]]), allowed=allowed)

    assert tables(wider).sources.tolist() == [0, 1]


def test_an_amount_beyond_what_floats_count_is_rounded_so_that_less_fits() -> None:
    huge = demand(
        np.array([[2**60 + 1, 2]]), np.array([1, 1]), np.array([[2**61]]), np.array([1.0])
    )

    reduced = tables(huge)

    assert reduced.requests.max() * 2 > reduced.room.max()


@pytest.mark.parametrize(
    ("change", "message"),
    [
        pytest.param({"counts": np.array([1])}, "counts has shape", id="too few counts"),
        pytest.param({"prices": np.array([1.0, -1.0])}, "at least 0", id="a negative price"),
        pytest.param({"groups": np.array([0, 0, 0])}, "groups must be", id="an unknown group"),
        pytest.param({"counts": np.array([1, -1, 0])}, "at least 0", id="a negative count"),
    ],
)
def test_a_demand_that_makes_no_sense_says_so(change: dict[str, np.ndarray], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        replace(asked(), **change)


def test_the_bound_counts_whole_pods() -> None:
    """Three pods of 3 on nodes of 5 need three nodes, though 9 / 5 is less than two."""
    thirds = demand(np.array([[3]]), np.array([3]), np.array([[5]]), np.array([1.0]))

    assert bound.bound(tables(thirds)).usd_per_hour == pytest.approx(3.0)


def test_the_bound_charges_pods_of_one_zone_with_columns_of_that_zone() -> None:
    zones = demand(
        np.array([[4, 4]]),
        np.array([4, 4]),
        np.array([[4, 4]]),
        np.array([1.0, 5.0]),
        allowed=np.array([[True, False], [False, True]]),
    )

    assert bound.bound(tables(zones)).usd_per_hour == pytest.approx(24.0)
