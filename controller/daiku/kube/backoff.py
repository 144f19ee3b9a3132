"""How long to wait before trying again: longer each time, never all at once."""

import random
from typing import Final

FIRST_SECONDS: Final = 0.2
LONGEST_SECONDS: Final = 30.0


class Backoff:
    """The waits of one thing that is tried again and again."""

    def __init__(self, longest_seconds: float = LONGEST_SECONDS) -> None:
        self._longest = longest_seconds
        self._next = FIRST_SECONDS

    def reset(self) -> None:
        """It worked: start small the next time."""
        self._next = FIRST_SECONDS

    def wait_seconds(self) -> float:
        """The next wait, between half and all of a time that doubles."""
        seconds = self._next
        self._next = min(2 * seconds, self._longest)
        # Spread, not secrecy: many clients that lost the same server must not come back together.
        return seconds * random.uniform(0.5, 1)  # noqa: S311
