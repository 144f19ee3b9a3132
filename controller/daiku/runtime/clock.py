"""The only place where the controller asks what time it is. The core is told."""

import time
from datetime import UTC, datetime


def now() -> datetime:
    """The time of day, UTC."""
    return datetime.now(UTC)  # noqa: TID251


def monotonic() -> float:
    """Seconds that only ever grow, for measuring how long something took."""
    return time.monotonic()
