"""When Python looks for garbage that counting references does not find, and what is not freed at all.

The problem: a solve makes hundreds of thousands of small values and keeps most of them, and the collector walks over
all that is young after every 700 of them: up to a third of the time of a large solve. Almost none of our values refer
to each other in cycles, so there is next to nothing to find, and it may be looked for rarely.

A command that gives one answer and ends needs none of it: what it made goes with the process. To free a cluster of
20,000 pods value by value, as Python does when it ends, takes a fifth of the time of explaining a node.
"""

import atexit
import gc
import os
import sys
from collections.abc import Callable
from typing import Final

_YOUNG_MOST: Final = 100_000
"""Values made between two looks at the young ones; about 10 MiB."""
_LOOKS: Final = 50
"""Looks at the young ones between two at the older ones, and of those between two at all."""
_CLOSED: Final = 1
"""Exit code when the answer could not be written to the end: its reader has gone, or the disk is full."""

_kept: Final[list[object]] = []


def collect_rarely() -> None:
    """Look for cycles a hundred times less often. To be called once, when the process starts."""
    gc.set_threshold(_YOUNG_MOST, _LOOKS, _LOOKS)


def keep(value: object) -> None:
    """Hold what would be freed only because the last function that uses it returns, just before the end."""
    _kept.append(value)


def run_once(program: Callable[[], None]) -> None:
    """Run a program that gives one answer and ends the process by `sys.exit`; nothing it made is freed.

    What is registered to be done at the end is done, such as to remove files with credentials.
    """
    gc.disable()
    code = 1

    def leave() -> None:
        try:
            sys.stdout.flush()
            sys.stderr.flush()
        except OSError:
            os._exit(code or _CLOSED)
        os._exit(code)

    # The first to be registered is the last to be called.
    atexit.register(leave)
    try:
        program()
    except SystemExit as ended:
        code = ended.code if isinstance(ended.code, int) else int(ended.code is not None)
        raise
    code = 0
