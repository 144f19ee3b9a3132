"""How long to search.

The number of steps is set by the size of the problem, so that the same problem is searched in the same way each time.
The core has no clock: a caller that has one gives `stop`, which is asked between two steps, a few milliseconds apart,
and cuts the search short.
"""

from collections.abc import Callable
from dataclasses import dataclass

Stop = Callable[[], bool]
"""Whether to stop now with the best answer so far."""


@dataclass(slots=True)
class Effort:
    """Counts steps, and ends for good once `stop` says so or there are no more of them."""

    steps: int
    stop: Stop | None = None
    ended: bool = False

    def spent(self) -> bool:
        """Take one step; whether there is none left to take."""
        self.steps -= 1
        if not self.ended:
            self.ended = self.steps < 0 or (self.stop is not None and self.stop())
        return self.ended
