"""One process installs at a time; the others wait and say for whom.

The lock is the kernel's (flock), so it ends with its holder however that dies. What the file says
is only for people.
"""

import fcntl
import json
import os
import sys
from collections.abc import Callable, Generator
from contextlib import contextmanager
from pathlib import Path

from daiku_local.toolchain import progress


@contextmanager
def held(path: Path, report: Callable[[str], None]) -> Generator[None]:
    """Hold the lock at `path`, waiting for whoever holds it now."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("a+") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            holder = _holder(path)
            report(f"waiting for {holder}, which makes the same tools")
            with progress.heartbeat(
                report, lambda seconds: f"still waiting for {holder}, {seconds:.0f} s so far"
            ):
                fcntl.flock(file, fcntl.LOCK_EX)
        file.truncate(0)
        file.write(json.dumps({"pid": os.getpid(), "command": " ".join(sys.orig_argv)}))
        file.flush()
        try:
            yield
        finally:
            file.truncate(0)


def _holder(path: Path) -> str:
    try:
        content = json.loads(path.read_text())
        return f"process {content['pid']} ({content['command']})"
    except (OSError, ValueError, KeyError, TypeError):
        return "another process"
