"""The only place where the controller asks what time it is. The core is told."""

import time
from collections.abc import Callable
from datetime import UTC, datetime, timedelta


def now() -> datetime:
    """The time of day, UTC."""
    return datetime.now(UTC)  # noqa: TID251


def monotonic() -> float:
    """Seconds that only ever grow, for measuring how long something took."""
    return time.monotonic()


def ends_after(duration: timedelta) -> Callable[[], bool]:
    """Whether so much time has passed since this call."""
    end = monotonic() + duration.total_seconds()
    return lambda: monotonic() >= end
