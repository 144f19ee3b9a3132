"""Time that passes only when everybody has done what was due: a queue of what happens next.

Whoever waits inside a call (`run` from within a callback) lets the others go on meanwhile, so that one thread is
enough to have calls overlap.
"""

import heapq
import itertools
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Final

START: Final = datetime(2026, 3, 2, 12, 0, tzinfo=UTC)


class Clock:
    """Simulated time, in seconds since START."""

    def __init__(self) -> None:
        self.seconds = 0.0
        self._queue: list[tuple[float, int, Callable[[], None]]] = []
        self._order = itertools.count()
        self._stamp = (-1, "")
        self._now = (-1.0, START)

    def after(self, seconds: float, do: Callable[[], None]) -> None:
        """Have `do` called in `seconds`."""
        heapq.heappush(self._queue, (self.seconds + seconds, next(self._order), do))

    def run(self, until: float) -> None:
        """Let everything happen that is due before or at `until`."""
        queue = self._queue
        while queue and queue[0][0] <= until:
            at, _order, do = heapq.heappop(queue)
            self.seconds = max(self.seconds, at)
            do()
        self.seconds = max(self.seconds, until)

    def now(self, offset: float = 0.0) -> datetime:
        """The time of day, on a machine whose clock is wrong by `offset` seconds."""
        seconds = self.seconds + offset
        if self._now[0] != seconds:
            self._now = (seconds, START + timedelta(seconds=seconds))
        return self._now[1]

    def stamp(self) -> str:
        """The time of day as the API server writes it: whole seconds."""
        whole = int(self.seconds)
        if self._stamp[0] != whole:
            self._stamp = (whole, wire(whole))
        return self._stamp[1]


def wire(seconds: float) -> str:
    """A simulated time as the API server writes it."""
    return (START + timedelta(seconds=int(seconds))).strftime("%Y-%m-%dT%H:%M:%SZ")


def seconds_of(stamp: str) -> float:
    """The simulated time that the API server wrote as `stamp`."""
    return (datetime.fromisoformat(stamp) - START).total_seconds()
