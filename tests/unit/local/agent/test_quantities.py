"""Kubernetes quantities."""

import pytest

from daiku_local.agent import quantities


@pytest.mark.parametrize(
    ("text", "units"),
    [
        ("0", 0), ("100", 100), ("1.5", 2), ("1k", 1000), ("1Ki", 1024), ("100Mi", 100 * 2**20),
        ("1.5Gi", 3 * 2**29), ("20G", 20 * 10**9), ("2E", 2 * 10**18), ("1e3", 1000), ("1E3", 1000),
        ("1500m", 2), (".5", 1), ("-1", -1), (4, 4),
    ],
)  # fmt: skip
def test_a_quantity_is_whole_units_rounded_up(text: str, units: int) -> None:
    assert quantities.units(text) == units


@pytest.mark.parametrize(("text", "millis"), [("2", 2000), ("1930m", 1930), ("0.1", 100)])
def test_cpu_is_thousandths_of_a_core(text: str, millis: int) -> None:
    assert quantities.millis(text) == millis


@pytest.mark.parametrize("text", ["", "one", "1Zi", "1 Gi x", "Gi", "1mm", "1/2"])
def test_what_is_no_quantity_is_refused(text: str) -> None:
    with pytest.raises(quantities.QuantityError, match="is no quantity"):
        quantities.parse(text)
