"""Kubernetes quantities and Go durations as exact numbers, and back.

Everything is counted in whole units: millicores for cpu, bytes or pieces for the rest. What is asked is rounded up,
so that nothing is ever promised more than there is. No float takes part in it.

Source: k8s.io/apimachinery resource.Quantity; Go time.ParseDuration.
"""

import re
from collections.abc import Iterable
from datetime import timedelta
from decimal import Decimal
from fractions import Fraction
from functools import lru_cache
from math import ceil
from typing import Final

QUANTITY_MAX: Final = 2**63 - 1
"""Larger quantities are cut to this, as the API server does."""

_QUANTITY = re.compile(
    r"([+-]?)([0-9]+(?:\.[0-9]*)?|\.[0-9]+)([KMGTPE]i|[numkMGTPE]|[eE][+-]?[0-9]{1,3})?", re.ASCII
)
_BINARY: Final = {"Ki": 2**10, "Mi": 2**20, "Gi": 2**30, "Ti": 2**40, "Pi": 2**50, "Ei": 2**60}
_DECIMAL: Final = {
    "n": -9,
    "u": -6,
    "m": -3,
    "": 0,
    "k": 3,
    "M": 6,
    "G": 9,
    "T": 12,
    "P": 15,
    "E": 18,
}

_DURATION_PART = re.compile(r"([0-9]+(?:\.[0-9]*)?|\.[0-9]+)(ns|us|µs|μs|ms|s|m|h)", re.ASCII)
_NANOSECONDS: Final = {
    "ns": 1,
    "us": 10**3,
    "µs": 10**3,
    "μs": 10**3,
    "ms": 10**6,
    "s": 10**9,
    "m": 60 * 10**9,
    "h": 3600 * 10**9,
}


def parse_cpu_millis(quantity: str | float) -> int:
    """Millicores of a cpu quantity such as "1500m", "2" or 0.5, rounded up.

    Raises:
        ValueError: It is not a quantity.
    """
    return _whole(quantity, 1000)


def parse_bytes_or_count(quantity: str | float) -> int:
    """Whole units of any other quantity, such as "1Gi" or "110", rounded up.

    Raises:
        ValueError: It is not a quantity.
    """
    return _whole(quantity, 1)


@lru_cache(maxsize=1024)
def parse_duration(text: str) -> timedelta:
    """The length of a Go duration such as "1h30m", "15s" or "0".

    Raises:
        ValueError: It is not a duration.
    """
    sign, digits = (-1, text[1:]) if text.startswith("-") else (1, text.removeprefix("+"))
    if digits == "0":
        return timedelta(0)
    nanoseconds, end = Fraction(0), 0
    while (part := _DURATION_PART.match(digits, end)) is not None:
        nanoseconds += Fraction(Decimal(part[1])) * _NANOSECONDS[part[2]]
        end = part.end()
    if end == 0 or end != len(digits):
        raise ValueError(
            f'{text!r} is not a duration: write numbers with units, such as "90s", "15m" or "1h30m"'
        )
    try:
        return timedelta(microseconds=sign * int(nanoseconds / 1000))
    except OverflowError:
        raise ValueError(f"{text!r} is longer than any duration that can be kept") from None


def format_quantity(resource: str, amount: int) -> str:
    """The API's notation of `amount`: cpu in cores or millicores, memory with the largest suffix that is exact."""
    if resource == "cpu":
        return str(amount // 1000) if amount % 1000 == 0 else f"{amount}m"
    if amount and (
        resource in {"memory", "ephemeral-storage"} or resource.startswith("hugepages-")
    ):
        for suffix in ("Gi", "Mi", "Ki"):
            if amount % _BINARY[suffix] == 0:
                return f"{amount // _BINARY[suffix]}{suffix}"
    return str(amount)


def counted(number: int, noun: str) -> str:
    """Such as "1 pod" or "2,000 pods"."""
    return f"{number} {noun}" if number == 1 else f"{number:,} {noun}s"


def listed(names: Iterable[str], most: int = 10) -> str:
    """The first names, and how many more there are."""
    found = list(names)
    more = f" and {len(found) - most:,} more" if len(found) > most else ""
    return ", ".join(found[:most]) + more


@lru_cache(maxsize=4096)
def _whole(quantity: str | float, per_unit: int) -> int:
    text = str(quantity)
    match = _QUANTITY.fullmatch(text)
    if match is None:
        raise ValueError(
            f'{text!r} is not a quantity: write a number with a suffix at most, such as "500m", "2" or "1.5Gi"'
        )
    sign, number, suffix = match[1], Fraction(Decimal(match[2])), match[3] or ""
    if suffix in _BINARY:
        number *= _BINARY[suffix]
    elif suffix in _DECIMAL:
        number *= Fraction(10) ** _DECIMAL[suffix]
    else:
        number *= Fraction(10) ** int(suffix[1:])
    whole = min(ceil(number * per_unit), QUANTITY_MAX)
    return -whole if sign == "-" else whole
