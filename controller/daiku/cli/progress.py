"""A bar for a person who waits: on a terminal, after two seconds, on standard error, and gone when the work is done."""

import sys
import threading
from types import TracebackType
from typing import TYPE_CHECKING, Final, Self

if TYPE_CHECKING:
    from rich import progress

PATIENCE_SECONDS: Final = 2.0
"""Work that takes no longer shows nothing."""


class Progress:
    """The steps of one piece of work; a context manager."""

    def __init__(self) -> None:
        self._bar: progress.Progress | None = None
        self._said: tuple[str, int, int | None] = ("starting", 0, None)
        self._timer = threading.Timer(PATIENCE_SECONDS, self._show)
        self._timer.daemon = True

    def step(self, what: str, done: int, total: int) -> None:
        """Say what is done now, and how many of all steps are behind it."""
        self._said = (what, done, total)
        if self._bar is not None:
            self._update(self._bar)

    def _show(self) -> None:
        # Most commands are done before, and need not pay for what draws it.
        from rich import progress  # noqa: PLC0415
        from rich.console import Console  # noqa: PLC0415

        bar = progress.Progress(
            progress.TextColumn("{task.description}"),
            progress.BarColumn(),
            progress.TimeElapsedColumn(),
            console=Console(stderr=True),
            transient=True,
        )
        bar.add_task("")
        self._bar = bar
        self._update(bar)
        bar.start()

    def _update(self, bar: "progress.Progress") -> None:
        what, done, total = self._said
        bar.update(bar.task_ids[0], description=what, completed=done, total=total)

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
        if self._timer.is_alive():
            self._timer.join()
        if self._bar is not None:
            self._bar.stop()
