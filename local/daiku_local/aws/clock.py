"""Time in the stand-in AWS, and what is to happen when it comes.

Nothing here runs by itself: a change of state that is due (pending to running, CREATING to ACTIVE)
is made before the next request is answered, so that nobody can see that it was late. One thread
at a time may use a Timeline; the caller holds the cloud's lock.
"""

import heapq
import itertools
import time
from collections.abc import Callable
from datetime import UTC, datetime

Now = Callable[[], float]
"""Gives the time in seconds since 1970."""


def now() -> float:
    """The machine's clock; everybody else takes a `Now`."""
    return time.time()  # noqa: TID251 the one place that reads the clock


def moment(seconds: float) -> datetime:
    """The same instant as an aware datetime."""
    return datetime.fromtimestamp(seconds, UTC)


class Timeline:
    """What is to happen, ordered by when."""

    def __init__(self, now: Now) -> None:
        self._now = now
        self._due: list[tuple[float, int, Callable[[], None]]] = []
        self._order = itertools.count()

    def after(self, seconds: float, action: Callable[[], None]) -> None:
        """Have `action` done once `seconds` have passed."""
        heapq.heappush(self._due, (self._now() + seconds, next(self._order), action))

    def settle(self) -> None:
        """Do everything that is due, in the order of its time."""
        while self._due and self._due[0][0] <= self._now():
            heapq.heappop(self._due)[2]()
