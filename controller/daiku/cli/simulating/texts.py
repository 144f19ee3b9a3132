"""Small values of a scenario file: durations, hours of the day, quantities; each mistake names value and remedy."""

import math
import re
from datetime import UTC, datetime
from typing import Final

from daiku.cli.simulating import wire
from daiku.model import units
from daiku.simulation.demand import Curve, Lifetime
from daiku.simulation.scenario import Pools

_CLOCK: Final = re.compile(r"([01]?[0-9]|2[0-3]):([0-5][0-9])", re.ASCII)


def seconds(text: str, what: str) -> float:
    """A Go duration in seconds.

    Raises:
        ValueError: It is none, or less than nothing.
    """
    try:
        found = units.parse_duration(text).total_seconds()
    except ValueError as error:
        raise ValueError(f"{what}: {error}") from None
    if found < 0:
        raise ValueError(f"{what}: {text} is less than nothing")
    return found


def second_of_day(text: str, what: str) -> float:
    """An hour of the day such as 14:30, in seconds after midnight.

    Raises:
        ValueError: It is none.
    """
    match = _CLOCK.fullmatch(text)
    if match is None:
        raise ValueError(f'{what}: {text!r} is no time of the day: write it as "14:30"')
    return int(match[1]) * 3600.0 + int(match[2]) * 60.0


def time(text: str, what: str) -> datetime:
    """A point in time.

    Raises:
        ValueError: It is none.
    """
    try:
        found = datetime.fromisoformat(text)
    except ValueError:
        raise ValueError(
            f'{what}: {text!r} is no time: write it as "2026-03-02T00:00:00Z"'
        ) from None
    return found if found.tzinfo is not None else found.replace(tzinfo=UTC)


def curve(value: float | wire.DailyNumber, what: str) -> Curve:
    """A number, or one that swings once a day.

    Raises:
        ValueError: It is less than nothing somewhere.
    """
    if isinstance(value, wire.DailyNumber):
        found = Curve(
            low=value.low, high=value.high, peak=second_of_day(value.peak, f"{what}.peak")
        )
    else:
        found = Curve(low=value, high=value)
    if not (0 <= found.low < math.inf and 0 <= found.high < math.inf):
        raise ValueError(f"{what}: {found.low:g} to {found.high:g}: must be at least 0")
    return found


def lifetime(value: str | wire.LifetimeText | None, what: str) -> Lifetime:
    """How long pods work.

    Raises:
        ValueError: It is missing, no duration, or nothing.
    """
    if value is None:
        raise ValueError(
            f'{what}: is missing: say how long a pod works, such as "20m" or {{mean: 20m}}'
        )
    varies = isinstance(value, wire.LifetimeText)
    mean = seconds(value.mean if isinstance(value, wire.LifetimeText) else value, what)
    if mean <= 0:
        raise ValueError(f"{what}: a pod works at least for some time")
    return Lifetime(mean=mean, varies=varies)


def pools(value: wire.PoolsText) -> Pools:
    """Which offerings are meant."""
    return Pools(
        instance_type=value.instance_type, zone=value.zone, capacity_type=value.capacity_type
    )
