"""Lines that tell a waiting person what is being done, and that it is still alive.

Everything here reports through one callable that takes a line. Nothing is coloured or overwritten:
the same lines go to a terminal and to a log.
"""

import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

HEARTBEAT_SECONDS = 15.0


def to_stderr(line: str) -> None:
    """Print `line` on standard error."""
    print(f"tools: {line}", file=sys.stderr, flush=True)


@contextmanager
def heartbeat(
    report: Callable[[str], None],
    line: Callable[[float], str],
    *,
    seconds: float = HEARTBEAT_SECONDS,
) -> Iterator[None]:
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
