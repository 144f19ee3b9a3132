"""Cron lines of disruption budgets: when one next comes due, in UTC.

Five fields (minute, hour, day of month, month, day of week), names, lists, ranges and steps, and the
macros @yearly to @hourly. If both day fields are restricted, either is enough, as cron has always had it.
No seconds, no time zones.
"""

from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import lru_cache
from typing import Final

_MACROS: Final = {
    "@yearly": "0 0 1 1 *",
    "@annually": "0 0 1 1 *",
    "@monthly": "0 0 1 * *",
    "@weekly": "0 0 * * 0",
    "@daily": "0 0 * * *",
    "@midnight": "0 0 * * *",
    "@hourly": "0 * * * *",
}
_MONTHS: Final = (
    "jan",
    "feb",
    "mar",
    "apr",
    "may",
    "jun",
    "jul",
    "aug",
    "sep",
    "oct",
    "nov",
    "dec",
)
_DAYS: Final = ("sun", "mon", "tue", "wed", "thu", "fri", "sat")
_FIELDS: Final = (
    ("minute", 0, 59),
    ("hour", 0, 23),
    ("day of month", 1, 31),
    ("month", 1, 12),
    ("day of week", 0, 6),
)
_SEARCH_DAYS: Final = 5 * 366
"""How far ahead a next time is looked for; only a 30 February lies beyond."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Schedule:
    """The times of one cron line, as the allowed numbers of each field."""

    minutes: tuple[int, ...]
    hours: tuple[int, ...]
    days: tuple[int, ...]
    months: tuple[int, ...]
    weekdays: tuple[int, ...]
    """0 is Sunday."""
    either_day: bool
    """Day of month and day of week are both restricted, so that either is enough."""

    def next_after(self, moment: datetime) -> datetime | None:
        """The first due time strictly after `moment`; None when there is none within five years."""
        start = moment.replace(second=0, microsecond=0) + timedelta(minutes=1)
        for ahead in range(_SEARCH_DAYS):
            day = start.replace(hour=0, minute=0) + timedelta(days=ahead)
            if not self._due_on(day):
                continue
            for hour in self.hours:
                for minute in self.minutes:
                    due = day.replace(hour=hour, minute=minute)
                    if due >= start:
                        return due
        return None

    def _due_on(self, day: datetime) -> bool:
        if day.month not in self.months:
            return False
        by_date = day.day in self.days
        by_weekday = day.isoweekday() % 7 in self.weekdays
        return (by_date or by_weekday) if self.either_day else (by_date and by_weekday)


@lru_cache(maxsize=256)
def parse(line: str) -> Schedule:
    """The schedule that a cron line describes.

    Raises:
        ValueError: It is not one; the message names the field.
    """
    fields = _MACROS.get(line.strip(), line).split()
    if len(fields) != len(_FIELDS):
        raise ValueError(
            f"schedule {line!r} has {len(fields)} fields: a cron line has five (minute, hour, day of month, "
            "month, day of week), or is one of " + ", ".join(sorted(_MACROS))
        )
    minutes, hours, days, months, weekdays = (
        _numbers(text, *bounds) for text, bounds in zip(fields, _FIELDS, strict=True)
    )
    return Schedule(
        minutes=minutes,
        hours=hours,
        days=days,
        months=months,
        weekdays=weekdays,
        either_day=not (fields[2][0] in "*?" or fields[4][0] in "*?"),
    )


def _numbers(text: str, name: str, low: int, high: int) -> tuple[int, ...]:
    chosen: list[int] = []
    for part in text.split(","):
        span, slash, step_text = part.partition("/")
        step = int(step_text) if step_text.isdecimal() else 0
        if slash and step < 1:
            raise ValueError(f"{name} {part!r}: the step after the slash is a number from 1 on")
        if span in {"*", "?"}:
            first, last = low, high
        else:
            start, dash, end = span.partition("-")
            first = _number(start, name)
            last = _number(end, name) if dash else (high if slash else first)
        if not low <= first <= last <= high:
            raise ValueError(f"{name} {part!r} lies outside {low} to {high}, or runs backwards")
        chosen += range(first, last + 1, step or 1)
    return tuple(sorted(dict.fromkeys(chosen)))


def _number(text: str, name: str) -> int:
    word = text.lower()
    if name == "month" and word in _MONTHS:
        return _MONTHS.index(word) + 1
    if name == "day of week" and word in _DAYS:
        return _DAYS.index(word)
    if not text.isdecimal():
        raise ValueError(f"{name} {text!r} is not a number")
    return int(text)
