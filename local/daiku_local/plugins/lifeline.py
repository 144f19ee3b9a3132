"""A plugin ends with the engine that started it.

The engine ends its plugins when it ends in order. One that is killed cannot, and a plugin that
stays behind holds memory and the port of nobody.
"""

import os
import signal
import threading
import time
from collections.abc import Callable
from typing import Final

LOOK_SECONDS: Final = 1.0


def _watch(engine: int, end: Callable[[], None]) -> None:
    # The system gives an orphan another parent.
    while os.getppid() == engine:
        time.sleep(LOOK_SECONDS)
    end()


def _end_now() -> None:
    # Whatever is being done, there is nobody left to tell.
    os._exit(0)


def follow_engine(end: Callable[[], None] = _end_now) -> None:
    """Call `end`, which ends this process unless told otherwise, as soon as its parent is gone; not before.

    A terminal's Ctrl-C reaches a plugin too, but it is the engine that decides what becomes of what is under way.
    """
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    thread = threading.Thread(target=_watch, args=(os.getppid(), end), name="lifeline", daemon=True)
    thread.start()
