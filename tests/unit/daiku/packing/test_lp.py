"""Covering programs."""

import numpy as np
import pytest

from daiku.scheduling.packer import lp


def test_a_program_buys_what_is_cheapest_and_prices_the_rows() -> None:
    covering = lp.Covering(np.array([6.0, 4.0]))
    covering.add(np.array([[1.0, 0.0], [0.0, 1.0], [2.0, 1.0]]), np.array([1.0, 1.0, 2.0]))

    solved = covering.solve()

    assert solved.values @ np.array([6.0, 4.0]) == pytest.approx(7.0)


def test_a_program_goes_on_after_a_new_column_and_another_demand() -> None:
    covering = lp.Covering(np.array([6.0]))
    covering.add(np.array([[1.0]]), np.array([3.0]))
    dear = covering.solve()

    covering.add(np.array([[4.0]]), np.array([2.0]))
    covering.change(np.array([8.0]))
    cheap = covering.solve()

    assert (dear.amounts.tolist(), dear.values.tolist()) == ([6.0], [3.0])
    assert (cheap.amounts.tolist(), cheap.values.tolist()) == ([0.0, 2.0], [0.5])


def test_a_row_that_nothing_covers_is_an_error_that_says_so() -> None:
    covering = lp.Covering(np.array([1.0, 1.0]))
    covering.add(np.array([[1.0, 0.0]]), np.array([1.0]))

    with pytest.raises(RuntimeError, match="no optimum: kInfeasible"):
        covering.solve()
