"""A bar for a person who waits: on a terminal, after two seconds, on standard error, and gone when the work is done."""

import sys
import threading
from types import TracebackType
from typing import Final, Self

from rich import progress
from rich.console import Console

PATIENCE_SECONDS: Final = 2.0
"""Work that takes no longer shows nothing."""


class Progress:
    """The steps of one piece of work; a context manager."""

    def __init__(self) -> None:
        self._bar = progress.Progress(
            progress.TextColumn("{task.description}"),
            progress.BarColumn(),
            progress.TimeElapsedColumn(),
            console=Console(stderr=True),
            transient=True,
        )
        self._task = self._bar.add_task("starting", total=None)
        self._timer = threading.Timer(PATIENCE_SECONDS, self._bar.start)
        self._timer.daemon = True

    def step(self, what: str, done: int, total: int) -> None:
        """Say what is done now, and how many of all steps are behind it."""
        self._bar.update(self._task, description=what, completed=done, total=total)

    def __enter__(self) -> Self:
        """Begin to wait."""
        if sys.stderr.isatty():
            self._timer.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Take the bar away."""
        self._timer.cancel()
        if self._bar.live.is_started:
            self._bar.stop()
