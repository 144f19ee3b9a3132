"""The process of a container: started here, or found again after this agent's predecessor died.

It differs from the world's other processes (daiku_local.processes) in that its exit status is
wanted, and that stopping it must not block whoever watches over the pod.
"""

import os
import signal
import subprocess
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import IO, cast

from daiku_local import processes, world
from daiku_local.agent.container_life import LOST_EXIT_CODE
from daiku_local.processes import Command


@dataclass(slots=True)
class Child:
    """One run of a container."""

    process: world.Process
    """Identifies it."""
    popen: "subprocess.Popen[bytes] | None" = None
    """Handle, when it was started here."""
    kill_at: float | None = None
    """Monotonic time at which it is forced to end; None while it may run."""

    def poll(self) -> int | None:
        """Exit code if it has ended (128 + signal number if one ended it), else None."""
        if self.popen is None:
            return None if processes.is_alive(self.process) else LOST_EXIT_CODE
        code: int | None = self.popen.returncode
        if code is None:
            ended = os.waitid(os.P_PID, self.process.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT)
            if ended is None:
                return None
            # What it left in its group ends with it. Its own pid cannot be anybody else's yet,
            # because the exit status is still to be collected.
            self._signal(signal.SIGKILL)
            code = self.popen.wait()
        return 128 - code if code < 0 else code

    def stop(self, now: float, grace_seconds: float) -> None:
        """Ask it to end, once, and force it when the grace is over; call again until it has ended."""
        if self.kill_at is None:
            self.kill_at = now + grace_seconds
            if grace_seconds > 0:
                self._signal(signal.SIGTERM)
        self.kill_at = min(self.kill_at, now + grace_seconds)
        if now >= self.kill_at:
            self._signal(signal.SIGKILL)

    def _signal(self, number: signal.Signals) -> None:
        if self.popen is None and not processes.is_alive(self.process):
            return
        try:
            os.killpg(self.process.pid, number)
        except (ProcessLookupError, PermissionError):
            return


def start(command: Command, home: Path, record: Callable[[world.Process], None]) -> Child:
    """Run `command` in `home`, after `record` has written down what will run."""
    command.log.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    log = os.open(command.log, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    try:
        popen = subprocess.Popen(
            ["/bin/sh", "-c", processes.GATE, "sh", *command.arguments],
            stdin=subprocess.PIPE,
            stdout=log,
            stderr=log,
            env=dict(command.environment),
            cwd=home,
            start_new_session=True,
            close_fds=True,
        )
    finally:
        os.close(log)
    process = world.Process(
        name=command.name,
        pid=popen.pid,
        started_ticks=processes.start_ticks(popen.pid) or 0,
        log=str(command.log),
    )
    gate = cast("IO[bytes]", popen.stdin)
    opened = False
    try:
        record(process)
        gate.write(b"go\n")
        opened = True
    finally:
        gate.close()
        if not opened:
            popen.wait()  # a gate that is closed unopened lets nothing through and ends
    return Child(process, popen)
