"""Quantities are read exactly, rounded up, and written back without loss."""

from fractions import Fraction

from hypothesis import given
from hypothesis import strategies as st

from daiku.model import units

SUFFIXES = {
    "": 1,
    "k": 10**3,
    "M": 10**6,
    "G": 10**9,
    "Ki": 2**10,
    "Mi": 2**20,
    "Gi": 2**30,
    "m": Fraction(1, 1000),
}


@given(st.integers(0, 10**6), st.sampled_from(sorted(SUFFIXES)))
def test_a_quantity_is_its_number_times_its_suffix_rounded_up(number: int, suffix: str) -> None:
    exact = number * Fraction(SUFFIXES[suffix])

    read = units.parse_bytes_or_count(f"{number}{suffix}")

    assert exact <= read < exact + 1


@given(st.integers(0, 10**9), st.integers(0, 10**9))
def test_a_larger_quantity_is_never_read_as_less(a: int, b: int) -> None:
    small, large = sorted((a, b))

    assert units.parse_cpu_millis(f"{small}u") <= units.parse_cpu_millis(f"{large}u")


@given(
    st.sampled_from(["cpu", "memory", "pods", "hugepages-2Mi", "nvidia.com/gpu"]),
    st.integers(0, 2**50),
)
def test_an_amount_that_is_written_is_read_back(resource: str, amount: int) -> None:
    text = units.format_quantity(resource, amount)

    read = units.parse_cpu_millis(text) if resource == "cpu" else units.parse_bytes_or_count(text)
    assert read == amount


@given(st.text(max_size=12))
def test_no_text_makes_anything_but_a_number_or_an_error_that_shows_it(text: str) -> None:
    for read in (units.parse_cpu_millis, units.parse_bytes_or_count, units.parse_duration):
        message = repr(text)
        try:
            read(text)
        except ValueError as problem:
            message = str(problem)

        assert repr(text) in message
