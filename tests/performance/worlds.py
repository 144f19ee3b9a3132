"""A laptop world for one benchmark, what a process costs, and waiting with progress. Linux only: it reads /proc."""

import os
import re
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Generator
from contextlib import contextmanager
from pathlib import Path

from tests.running import DAIKU

from daiku.kube.client import Client
from daiku.kube.credentials import Credentials
from daiku_local import down, environment, interruption, toolchain, world


@contextmanager
def standing() -> Generator[tuple[Client, dict[str, str], Path]]:
    """Its API server, the environment of commands in it, and its folder; gone afterwards."""
    interruption.end_in_order()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name) / "world"
        here = {**os.environ, "DAIKU_WORLD": str(folder), "NO_COLOR": "1"}
        try:
            begun = [DAIKU, "local", "up"]
            ended = interruption.run(begun, environment=here, output=subprocess.DEVNULL)
            ended.check_returncode()
            found = world.load(folder)
            inside = environment.of_commands(found, toolchain.ensure().folder, os.environ)
            yield Client(Credentials(inside)), inside, folder
        finally:
            down.down(folder, lambda _said: None)


def writes(client: Client) -> dict[str, int]:
    """Requests that change something, as the API server counted them: "PATCH nodes/status 200" -> how many."""
    found: Counter[str] = Counter()
    for line in client.get("/metrics").decode().splitlines():
        if line.startswith("apiserver_request_total{"):
            marks = dict(re.findall(r'(\w+)="([^"]*)"', line))
            if marks["verb"] in {"POST", "PUT", "PATCH", "DELETE"}:
                kind = "/".join(filter(None, (marks["resource"], marks["subresource"])))
                found[f"{marks['verb']} {kind} {marks['code']}"] += int(
                    float(line.rpartition(" ")[2])
                )
    return dict(found)


def cpu_seconds(pid: int) -> float:
    """What a process has used so far."""
    after_name = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(after_name[11]) + int(after_name[12])) / os.sysconf("SC_CLK_TCK")


def memory_mb(pid: int, name: str) -> int:
    """VmRSS now, or VmHWM, the most there ever was."""
    lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    return next(int(x.split()[1]) // 1024 for x in lines if x.startswith(name))


def until(what: str, is_so: Callable[[], bool], *, most: float, every: float) -> None:
    """Wait at most so many seconds until `is_so`, and say how long it took.

    Raises:
        TimeoutError: It never was.
    """
    began = time.monotonic()
    while not is_so():
        if time.monotonic() - began > most:
            raise TimeoutError(f"not within {most:.0f} s: {what}")
        time.sleep(every)
    print(f"  {what}: {time.monotonic() - began:.0f} s", file=sys.stderr)  # noqa: T201 - progress
