"""An interruption leaves nothing behind: commands that are run end by themselves, and ends are not interrupted again.

A command that is killed when its caller is interrupted cannot stop what it started itself, as `subprocess.run` has it.
So it has a session of its own, which a terminal's Ctrl-C does not reach; it is told once, by its caller, and
again by each further Ctrl-C; what is left of its session when it has ended is killed: Pulumi's engine gives each plugin
a process group, and a program whose engine was killed waits for it for ever.
"""

import os
import signal
import subprocess
import threading
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import NoReturn

from daiku_local import processes

ENDS = (signal.SIGTERM, signal.SIGHUP)
"""Signals that ask for an end, beside SIGINT, for which Python raises an exception by itself."""
PATIENCE_SECONDS = 60.0
"""How long a command that was told to end may take, unless it is said: it may have a world to stop."""


def end_in_order() -> None:
    """Have a polite kill unwind the stack as a Ctrl-C does, from now on."""
    for number in ENDS:
        # Somebody who ignores a signal for us, as nohup does, means it.
        if signal.getsignal(number) is not signal.SIG_IGN:
            signal.signal(number, _end)


@contextmanager
def shielded(report: Callable[[str], None]) -> Generator[None]:
    """Work that is not interrupted, because it ends what else would stay behind; it must be short."""
    if threading.current_thread() is not threading.main_thread():
        # Signals reach the main thread only.
        yield
        return

    def told(_number: int, _frame: object) -> None:
        # A closed terminal sends signals and takes no lines; nor does a stream that is just being written to.
        with suppress(OSError, RuntimeError):
            report("what was started is being stopped; that takes some seconds")

    numbers = (signal.SIGINT, *ENDS)
    before = {number: signal.getsignal(number) for number in numbers}
    for number in numbers:
        if before[number] is not signal.SIG_IGN:
            signal.signal(number, told)
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def run(
    command: Sequence[str],
    *,
    folder: Path | None = None,
    environment: Mapping[str, str] | None = None,
    output: int | None = None,
    patience_seconds: float = PATIENCE_SECONDS,
) -> subprocess.CompletedProcess[str]:
    """Run a command that needs no terminal, and give how it ended.

    Args:
        command: Program and arguments.
        folder: Where it runs; None: here.
        environment: All of its variables; None: ours.
        output: Where its standard output goes, as `subprocess` has it; None: to ours.
        patience_seconds: How long it may take to end once it is told to.

    Raises:
        KeyboardInterrupt: We were interrupted; the command has ended.
        SystemExit: We were told to end, after `end_in_order`; the command has ended.
    """
    process = subprocess.Popen(
        command,
        cwd=folder,
        env=environment,
        stdin=subprocess.DEVNULL,
        stdout=output,
        text=True,
        start_new_session=True,
    )
    try:
        said, _ = process.communicate()
    except BaseException:
        end(process, patience_seconds=patience_seconds)
        raise
    return subprocess.CompletedProcess(command, process.returncode, said)


def end(
    process: subprocess.Popen[str],
    *,
    number: int = signal.SIGINT,
    patience_seconds: float = PATIENCE_SECONDS,
) -> None:
    """Have a command of `run`, or of another session of its own, ended, and all of its session (Linux) or group."""
    left = patience_seconds
    while process.poll() is None and left > 0:
        with suppress(ProcessLookupError):
            process.send_signal(number)
        try:
            process.wait(left)
        except subprocess.TimeoutExpired:
            left = 0
        except (KeyboardInterrupt, SystemExit):
            left /= 2
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, signal.SIGKILL)
    for pid in processes.of_session(process.pid):
        with suppress(ProcessLookupError, PermissionError):
            os.kill(pid, signal.SIGKILL)
    process.wait()


def _end(number: int, _frame: object) -> NoReturn:
    raise SystemExit(128 + number)
