"""Detached processes of the laptop world: start, recognise, await and stop them.

A process outlives the command that starts it, so it must be found again from a file, and a recycled
pid must never be mistaken for it: it is known by its pid and its start time together. It must also
never run unrecorded, even when the starter is killed half-way: the child first waits behind a gate
that opens only after its record is written, and a gate whose keeper died never opens.
"""

import os
import signal
import subprocess
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from daiku_local.world import Process

POLL_SECONDS = 0.05
"""Time between two looks at a process or its readiness."""
TAIL_LINES = 15
"""How much of a log an error shows: enough for a Go panic's head or a Python traceback."""
PROC = Path("/proc/self/stat")
"""There on Linux; elsewhere a process is known by its pid alone."""
GATE = 'read -r go && exec "$@" </dev/null'
"""Shell text of the gate; the program replaces the shell, so its pid and start time stay the same."""


class PartFailedError(Exception):
    """A part of the world ended, or did not become ready in time."""

    def __init__(self, process: Process, problem: str) -> None:
        self.process = process
        self.lines = tail(Path(process.log))
        super().__init__(f"{process.name} {problem}")

    @property
    def port_was_taken(self) -> bool:
        """Whether it ended because another process took its port first: new ports are the remedy."""
        return any("address already in use" in line.lower() for line in self.lines)


@dataclass(frozen=True, slots=True, kw_only=True)
class Command:
    """What to run, and where its output goes."""

    name: str
    """Short name of the process, such as "kube-apiserver"."""
    arguments: Sequence[str]
    """Program (an absolute path) and its arguments."""
    environment: Mapping[str, str]
    """The whole environment of the process."""
    log: Path
    """File that its output is appended to; made with mode 0600."""


def start(command: Command, record: Callable[[Process], None]) -> Process:
    """Run `command` in a session of its own, after `record` has written down what will run."""
    command.log.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    log = os.open(command.log, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    gate, opener = os.pipe()
    try:
        child = subprocess.Popen(
            ["/bin/sh", "-c", GATE, "sh", *command.arguments],
            stdin=gate,
            stdout=log,
            stderr=log,
            env=dict(command.environment),
            start_new_session=True,
            close_fds=True,
        )
    except BaseException:
        os.close(opener)
        raise
    finally:
        os.close(log)
        os.close(gate)
    # Somebody has to collect the exit status, or a dead child would stay in the process table.
    threading.Thread(target=child.wait, name=f"reaper of {command.name}", daemon=True).start()
    process = Process(
        name=command.name,
        pid=child.pid,
        started_ticks=start_ticks(child.pid) or 0,
        log=str(command.log),
    )
    try:
        record(process)
        os.write(opener, b"go\n")
    finally:
        os.close(opener)
    return process


def start_ticks(pid: int) -> int | None:
    """Start time of a living process in clock ticks since boot; None if it is dead or there is no /proc."""
    fields = stat_fields(pid)
    if fields is None or fields[0] in "ZX":
        return None
    return int(fields[19])


def is_alive(process: Process) -> bool:
    """Tell whether exactly this process still runs."""
    if PROC.exists():
        return start_ticks(process.pid) == process.started_ticks
    try:
        os.kill(process.pid, 0)
    except (ProcessLookupError, PermissionError):
        return False
    return True


def stop(process: Process, grace_seconds: float) -> bool:
    """End a process and its group: ask, wait up to `grace_seconds`, then force. True if it was alive."""
    return bool(stop_together([process], grace_seconds))


def stop_together(processes: Sequence[Process], grace_seconds: float) -> list[Process]:
    """End several processes at the same time. Returns those that were alive."""
    living = [process for process in processes if is_alive(process)]
    for process in living:
        _signal(process, signal.SIGTERM)
    deadline = time.monotonic() + grace_seconds
    while any(is_alive(process) for process in living) and time.monotonic() < deadline:
        time.sleep(POLL_SECONDS)
    for process in living:
        # Also after a polite end: a helper that it left in its group has nobody else to stop it.
        # The group's number cannot be reused while a member lives, nor within the last poll.
        _signal(process, signal.SIGKILL)
    while any(is_alive(process) for process in living):
        time.sleep(POLL_SECONDS)
    return living


def is_ready(process: Process, ready: Callable[[], bool], seconds_left: float) -> bool:
    """Ask once whether a process that was started is ready.

    Raises:
        PartFailedError: It ended, or it is not ready and no time is left.
    """
    # The order matters: readiness counts only if the process lived after it was seen, since another
    # program that took the port first might have answered.
    answer = ready()
    if not is_alive(process):
        raise PartFailedError(process, "ended before it was ready")
    if not answer and seconds_left <= 0:
        raise PartFailedError(process, "was not ready in time")
    return answer


def tail(log: Path, lines: int = TAIL_LINES) -> list[str]:
    """Last lines of a log file; none if there is no such file."""
    try:
        with log.open("rb") as file:
            file.seek(max(0, log.stat().st_size - 16_384))
            text = file.read().decode(errors="replace")
    except FileNotFoundError:
        return []
    return [line for line in text.splitlines() if line.strip()][-lines:]


def stat_fields(pid: int) -> list[str] | None:
    """Fields of /proc/PID/stat from the third (state) on; the second, the name, may hold anything."""
    try:
        text = Path(f"/proc/{pid}/stat").read_text()
    except (FileNotFoundError, ProcessLookupError):
        return None
    return text.rpartition(")")[2].split()


def of_session(number: int) -> list[int]:
    """Pids of the living processes of a session, which its leader's pid names; none where there is no /proc."""
    if not PROC.exists():
        return []
    pids = (int(place.name) for place in Path("/proc").iterdir() if place.name.isdigit())
    return [
        pid
        for pid in pids
        if (fields := stat_fields(pid)) and fields[0] not in "ZX" and int(fields[3]) == number
    ]


def _signal(process: Process, number: signal.Signals) -> None:
    try:
        os.killpg(process.pid, number)
    except (ProcessLookupError, PermissionError):
        # It is gone. macOS says "permission" of a group that holds only a dead process.
        return
