"""Simulated time: what happens when, in order of time and then of having been written down."""

import heapq
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime, timedelta


@dataclass(slots=True)
class Agenda:
    """Everything that is still to come."""

    start: datetime
    at: float = 0.0
    """Seconds since `start`."""
    _coming: list[tuple[float, int, Callable[[], None]]] = field(
        default_factory=list[tuple[float, int, Callable[[], None]]]
    )
    _count: int = 0

    @property
    def now(self) -> datetime:
        """The simulated time."""
        return self.start + timedelta(seconds=self.at)

    @property
    def next(self) -> float:
        """The second of the first thing to come."""
        return self._coming[0][0] if self._coming else float("inf")

    def after(self, seconds: float, do: Callable[[], None]) -> None:
        """Have something happen in so many seconds."""
        self.put(self.at + seconds, do)

    def put(self, at: float, do: Callable[[], None]) -> None:
        """Have something happen at a second."""
        self._count += 1
        heapq.heappush(self._coming, (at, self._count, do))

    def run(self) -> None:
        """Have everything happen that is due."""
        while self._coming and self._coming[0][0] <= self.at:
            heapq.heappop(self._coming)[2]()
