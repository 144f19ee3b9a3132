"""What happened, in the order in which it happened: time, who, what. Text is made only when somebody reads it."""

from typing import Any

from tests.simulation.clock import Clock

LINES = 60


class Story:
    """The record of one history."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._lines: list[tuple[float, str, str, tuple[Any, ...]]] = []

    def tell(self, actor: str, what: str, *values: Any) -> None:
        """Remember that `actor` did `what`, a format string for `values`."""
        self._lines.append((self._clock.seconds, actor, what, values))

    def last(self, lines: int = LINES, about: str = "") -> str:
        """The end of the story, for people; only lines that contain `about`."""
        texts = [
            f"{int(at // 60):3d}:{at % 60:06.3f}  {actor:<14} {what % values if values else what}"
            for at, actor, what, values in (self._lines if about else self._lines[-lines:])
        ]
        return "\n".join([text for text in texts if about in text][-lines:])

    def forget(self) -> None:
        """Nobody will read it: let go of all objects that it is about."""
        self._lines.clear()

    def __len__(self) -> int:
        return len(self._lines)
