"""`daiku run` as a process of its own, as all tests that need a whole controller start it."""

import random
import signal
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeVar

DAIKU = str(Path(sys.executable).parent / "daiku")
KWOK = ("--cloud", "kwok")
PORTS = range(20_000, 32_000)
"""Below those that the kernel gives to connections: one of those may be taken between finding and binding it."""
STOP_SECONDS = 60.0
TOLD_LINES = 15

T = TypeVar("T")


@dataclass
class Controller:
    """One `daiku run`, started, stopped and killed at will; every start has ports of its own."""

    environ: Mapping[str, str]
    """All of the process's environment."""
    log: Path
    """What it writes, of all starts."""
    flags: tuple[str, ...] = KWOK
    port: int = 0
    """Of its metrics."""
    health: int = 0
    """Of its probes."""
    process: subprocess.Popen[bytes] = field(init=False)

    def start(self) -> None:
        self.port, self.health = free_port(), free_port()
        ports = ["--metrics-port", str(self.port), "--health-probe-port", str(self.health)]
        with self.log.open("ab") as output:
            self.process = subprocess.Popen(
                [DAIKU, "run", *self.flags, "--bind-address", "127.0.0.1", *ports],
                env={**self.environ, "POD_NAMESPACE": "kube-system"},
                stdout=output,
                stderr=subprocess.STDOUT,
            )

    def stop(self, number: int = signal.SIGTERM) -> int:
        """Ask it to end; its exit code."""
        self.process.send_signal(number)
        return self.process.wait(STOP_SECONDS)

    def kill(self) -> None:
        """Have it gone, whether it still runs or not."""
        self.process.kill()
        self.process.wait()

    def probe(self, path: str) -> int:
        """HTTP status of a probe; 0 while nobody listens."""
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{self.health}{path}", timeout=5) as got:
                return got.status
        except urllib.error.HTTPError as error:
            return error.code
        except OSError:
            return 0

    def metrics(self) -> list[str]:
        """The lines of its metrics; none while nobody answers."""
        with suppress(OSError):
            url = f"http://127.0.0.1:{self.port}/metrics"
            with urllib.request.urlopen(url, timeout=5) as answer:
                return answer.read().decode().splitlines()
        return []

    def metric(self, name: str) -> float:
        """One that has no labels; 0 while nobody answers."""
        found = (line.split()[1] for line in self.metrics() if line.startswith(f"{name} "))
        return float(next(found, 0.0))

    def until(self, look: Callable[[], T], what: str, seconds: float, every: float = 0.1) -> T:
        """What is seen once there is something to see.

        Raises:
            AssertionError: It did not come about in time, or the controller ended; with the end of its log.
        """
        deadline = time.monotonic() + seconds
        while not (seen := look()):
            ended = self.process.poll()
            assert ended is None, f"it ended with {ended} before {what}:\n{self.told()}"
            assert time.monotonic() < deadline, f"waited {seconds} s for {what}:\n{self.told()}"
            time.sleep(every)
        return seen

    def told(self) -> str:
        """The last lines of its log."""
        lines = self.log.read_text(errors="replace").splitlines()
        return "\n".join(lines[-TOLD_LINES:])


def free_port() -> int:
    """A port of localhost that nobody listens on."""
    while True:
        port = random.choice(PORTS)
        with socket.socket() as probe, suppress(OSError):
            probe.bind(("127.0.0.1", port))
            return port
