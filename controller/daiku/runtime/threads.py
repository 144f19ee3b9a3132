"""The process's threads: each has a name, and the death of any ends the process.

A thread that died would leave the controller half blind; Kubernetes restarts the whole, and every tick could be the
first. This is the one place where every exception is caught.
"""

import threading
from collections.abc import Callable
from dataclasses import dataclass, field

from daiku.telemetry import log

_log = log.get("threads")


@dataclass(slots=True)
class Supervisor:
    """Starts threads and knows when one has died."""

    expected: tuple[type[BaseException], ...] = ()
    """Failures that say all there is to say in their message; any other is logged with its stack."""
    stop: threading.Event = field(default_factory=threading.Event)
    """Set when the process is to end, for whatever reason."""
    failure: BaseException | None = None
    """Why it ends, if not because it was asked to."""

    def start(self, name: str, run: Callable[[], None]) -> threading.Thread:
        """Run `run` in a thread that must live as long as the process."""
        thread = threading.Thread(target=self._guarded, args=(name, run), name=name, daemon=True)
        thread.start()
        return thread

    def _guarded(self, name: str, run: Callable[[], None]) -> None:
        try:
            run()
            why: Exception = RuntimeError("it ended, which it must not while the process lives")
        except Exception as error:  # noqa: BLE001  # the one place where every exception is caught
            why = error
        if self.stop.is_set():
            return
        self.failure = why
        stack = None if isinstance(why, self.expected) else why
        _log.error("thread died; the process ends", thread=name, error=str(why), exc_info=stack)
        self.stop.set()
