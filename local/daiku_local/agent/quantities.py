"""Kubernetes quantities such as 100m, 1.5Gi or 20G as exact integers, rounded up."""

import math
import re
from fractions import Fraction

_FACTORS = {
    "": Fraction(1),
    "n": Fraction(1, 10**9),
    "u": Fraction(1, 10**6),
    "m": Fraction(1, 1000),
    "k": Fraction(10**3),
    "M": Fraction(10**6),
    "G": Fraction(10**9),
    "T": Fraction(10**12),
    "P": Fraction(10**15),
    "E": Fraction(10**18),
    "Ki": Fraction(2**10),
    "Mi": Fraction(2**20),
    "Gi": Fraction(2**30),
    "Ti": Fraction(2**40),
    "Pi": Fraction(2**50),
    "Ei": Fraction(2**60),
}

_QUANTITY = re.compile(
    r"([+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+))(?:([eE][+-]?[0-9]+)|([KMGTPE]i|[numkMGTPE]))?"
)


class QuantityError(Exception):
    """A text that is no Kubernetes quantity."""


def parse(text: str | float) -> Fraction:
    """Give the exact value of a quantity.

    Raises:
        QuantityError: The text is no quantity.
    """
    match = _QUANTITY.fullmatch(str(text).strip())
    if match is None:
        raise QuantityError(
            f"{text!r} is no quantity: write a number and one of m, k, M, G, T, Ki, Mi, Gi, Ti"
        )
    number, exponent, suffix = match.groups()
    return Fraction(number + (exponent or "")) * _FACTORS[suffix or ""]


def units(text: str | float) -> int:
    """Whole units, such as bytes, rounded up."""
    return math.ceil(parse(text))


def millis(text: str | float) -> int:
    """Thousandths, such as millicores, rounded up."""
    return math.ceil(parse(text) * 1000)
