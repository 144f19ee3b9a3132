"""Lines that tell a waiting person what is being done, and that it is still alive.

Everything here reports through one callable that takes a line. Nothing is coloured or overwritten:
the same lines go to a terminal and to a log. The callable is called from a thread of its own while
something long runs.
"""

import sys
import threading
import time
from collections.abc import Callable, Generator
from contextlib import contextmanager

HEARTBEAT_SECONDS = 15.0
"""Nobody looks at a silent screen for longer than this."""


def to_stderr(line: str) -> None:
    """Print `line` on standard error."""
    sys.stderr.write(f"tools: {line}\n")
    sys.stderr.flush()


@contextmanager
def heartbeat(
    report: Callable[[str], None],
    line: Callable[[float], str],
    *,
    seconds: float = HEARTBEAT_SECONDS,
) -> Generator[None]:
    """Report `line(seconds so far)` every `seconds` until the block ends."""
    done = threading.Event()
    start = time.monotonic()

    def beat() -> None:
        while not done.wait(seconds):
            report(line(time.monotonic() - start))

    thread = threading.Thread(target=beat, daemon=True, name="toolchain-heartbeat")
    thread.start()
    try:
        yield
    finally:
        done.set()
        thread.join()
