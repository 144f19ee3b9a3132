"""The controller beside an API server that is played from recorded objects: 5,000 nodes, 100,000 pods.

`stream-5000` starts `daiku run` with the kwok cloud beside `stream_server`: how long it takes until it decides, what it
costs while nothing but heartbeats comes, and how far it is behind at 500 pod events a second. What a real API server
takes to answer is not in these figures. Linux only: it reads /proc.
"""

import json
import os
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from tests.performance import worlds
from tests.performance.measured import Benchmark, Line
from tests.running import Controller

NODES, REPLICA_SETS = 5000, 2000
PODS = NODES * 20
STEADY_SECONDS = 60.0
EVENTS_A_SECOND = 500
START_SECONDS = 600.0
"""How long the first decision may take before it counts as none."""
SERVER = Path(__file__).with_name("stream_server.py")


def benchmarks() -> Iterator[Benchmark]:
    """All of them."""
    yield Benchmark(name="stream-5000", lines=_lines)


def _lines() -> Iterator[Line]:
    with tempfile.TemporaryDirectory() as name, _serving() as (port, server):
        folder = Path(name)
        (folder / "kubeconfig").write_text(_kubeconfig(port))
        environ = {**os.environ, "KUBECONFIG": str(folder / "kubeconfig")}
        controller = Controller(environ, folder / "c.log")
        began = time.monotonic()
        controller.start()
        try:
            _until_decided(controller)
            seconds = time.monotonic() - began
            yield {
                "name": "stream-5000-start",
                "seconds": round(seconds, 1),
                **_usage(controller),
                "server_cpu_seconds": round(worlds.cpu_seconds(server), 1),
                "nodes": NODES,
                "pods": PODS,
            }
            time.sleep(60)  # what a start brings with it is over then
            yield _during(controller, port, "stream-5000-steady", rate=None)
            yield _during(controller, port, "stream-5000-heartbeats", rate=0)
            yield _during(controller, port, "stream-5000-events", rate=EVENTS_A_SECOND)
        finally:
            print(controller.told(), file=sys.stderr)  # noqa: T201 - progress
            controller.kill()


def _until_decided(controller: Controller) -> None:
    def decides() -> bool:
        return controller.metric("daiku_ticks_total") > 0

    worlds.until("it decides", decides, most=START_SECONDS, every=0.1)


def _usage(controller: Controller) -> Line:
    pid = controller.process.pid
    return {
        "cpu_seconds": round(worlds.cpu_seconds(pid), 1),
        "rss_mb": worlds.memory_mb(pid, "VmRSS"),
        "peak_rss_mb": worlds.memory_mb(pid, "VmHWM"),
    }


def _during(controller: Controller, port: int, name: str, *, rate: int | None) -> Line:
    """What the controller uses while events come at `rate`: 0 heartbeats of Nodes only, None nothing."""
    pid = controller.process.pid
    began, cpu = time.monotonic(), worlds.cpu_seconds(pid)
    ticks = controller.metric("daiku_ticks_total")
    if rate is not None:
        _ask(port, f"/control/stream?rate={rate}&seconds={STEADY_SECONDS}", b"")
    time.sleep(STEADY_SECONDS)
    seconds = time.monotonic() - began
    line: Line = {
        "name": name,
        "cores": round((worlds.cpu_seconds(pid) - cpu) / seconds, 3),
        "ticks_per_minute": round((controller.metric("daiku_ticks_total") - ticks) * 60 / seconds),
        **_usage(controller),
        "seconds": round(seconds),
    }
    if not rate:
        return line
    time.sleep(10)  # for the answer to the last of the pods that wait
    report = _ask(port, "/control/report")
    delays = [each for each in report["delays"] if each is not None]
    return line | {
        "events_a_second": round(report["events"] / report["seconds"]),
        "behind_seconds_most": max(delays, default=None),
        "behind_seconds_middle": sorted(delays)[len(delays) // 2] if delays else None,
        "behind_seconds_last": delays[-1] if delays else None,
        "pods_that_need_nodes": len(report["delays"]),
        "undecided": len(report["delays"]) - len(delays),
        "stream_late_seconds": report["late_seconds"],
    }


@contextmanager
def _serving() -> Generator[tuple[int, int]]:
    """Port and process of the API server; gone afterwards."""
    child = [sys.executable, str(SERVER), str(NODES), str(REPLICA_SETS)]
    process = subprocess.Popen(child, stdout=subprocess.PIPE)
    try:
        assert process.stdout is not None
        yield int(process.stdout.readline()), process.pid
    finally:
        process.kill()
        process.wait()


def _ask(port: int, path: str, body: bytes | None = None) -> Any:
    with urllib.request.urlopen(f"http://127.0.0.1:{port}{path}", data=body, timeout=60) as answer:
        return json.loads(answer.read())


def _kubeconfig(port: int) -> str:
    return json.dumps(
        {
            "apiVersion": "v1",
            "kind": "Config",
            "current-context": "stream",
            "clusters": [{"name": "stream", "cluster": {"server": f"http://127.0.0.1:{port}"}}],
            "users": [{"name": "stream", "user": {}}],
            "contexts": [{"name": "stream", "context": {"cluster": "stream", "user": "stream"}}],
        }
    )
