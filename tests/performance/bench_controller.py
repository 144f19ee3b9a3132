"""The controller beside a real API server and scheduler, 1,000 nodes and 20,000 pods: what it costs, how soon it acts.

`controller-1000` runs a laptop world of its own with the kwok cloud. 40 Deployments of 500 pods each are made and
placed by the controller and kube-scheduler; then it is started anew, left alone for minutes, and given 2,000 pods more.
Takes a quarter of an hour or more, nearly all of it Kubernetes's own. Linux only: it reads /proc.
"""

import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Generator, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import msgspec
from tests import manifests
from tests.performance.measured import Benchmark, Line
from tests.running import DAIKU, Controller

from daiku.kube.client import Client
from daiku.kube.credentials import Credentials
from daiku_local import environment, toolchain, world

DEPLOYMENTS, PODS_EACH, NODES = 40, 500, 1000
MORE = 2000
STEADY_SECONDS = 180.0
POPULATED_SECONDS = 2400.0
"""How long the world may take to have all its pods running."""
CLAIMS = "/apis/karpenter.sh/v1/nodeclaims"
POOL = "/apis/karpenter.sh/v1/nodepools/default"


def benchmarks() -> Iterator[Benchmark]:
    """All of them."""
    yield Benchmark(name="controller-1000", lines=_lines)


class Measured(Controller):
    """A controller whose process is looked at."""

    def cpu_seconds(self) -> float:
        after_name = Path(f"/proc/{self.process.pid}/stat").read_text().rpartition(")")[2].split()
        return (int(after_name[11]) + int(after_name[12])) / os.sysconf("SC_CLK_TCK")

    def memory_mb(self, name: str) -> int:
        """VmRSS now, or VmHWM, the most there ever was."""
        lines = Path(f"/proc/{self.process.pid}/status").read_text().splitlines()
        return next(int(x.split()[1]) // 1024 for x in lines if x.startswith(name))


def _lines() -> Iterator[Line]:
    with _world() as (client, controller):
        _until("all pods run", lambda: _running(client) == DEPLOYMENTS * PODS_EACH)
        _until("nothing is left to be done", lambda: _is_still(client))
        controller.stop()
        began = time.monotonic()
        controller.start()
        _until("it decides", lambda: controller.metric("daiku_ticks_total") > 0, every=0.1)
        yield {
            "name": "controller-1000-start",
            "seconds": round(time.monotonic() - began, 1),
            "cpu_seconds": round(controller.cpu_seconds(), 1),
            "nodes": len(_items(client, "/api/v1/nodes")),
            "pods": _running(client),
        }
        time.sleep(60)  # what a start brings with it is over then
        yield _steady(controller)
        yield _more(client, controller)


def _steady(controller: Measured) -> Line:
    began, cpu = time.monotonic(), controller.cpu_seconds()
    ticks = controller.metric("daiku_ticks_total")
    time.sleep(STEADY_SECONDS)
    seconds = time.monotonic() - began
    return {
        "name": "controller-1000-steady",
        "cores": round((controller.cpu_seconds() - cpu) / seconds, 3),
        "ticks_per_minute": round((controller.metric("daiku_ticks_total") - ticks) * 60 / seconds),
        "rss_mb": controller.memory_mb("VmRSS"),
        "peak_rss_mb": controller.memory_mb("VmHWM"),
        "seconds": round(seconds),
    }


def _more(client: Client, controller: Measured) -> Line:
    """2,000 pods wait for a limit to go; then until the last NodeClaim for them is there."""
    client.patch(POOL, {"spec": {"limits": {"nodes": "1"}}})
    client.create(manifests.PATHS["Deployment"], _deployment(DEPLOYMENTS, MORE))
    _until("the pods wait, by kube-scheduler's word", lambda: _waiting(client) == MORE)
    time.sleep(5)
    before = len(_items(client, CLAIMS))
    cpu, began = controller.cpu_seconds(), time.monotonic()
    client.patch(POOL, {"spec": {"limits": None}})
    counts: list[tuple[float, int]] = []
    while not counts or time.monotonic() - began < 30:
        counts.append((time.monotonic() - began, len(_items(client, CLAIMS))))
        time.sleep(0.1)
    most = max(count for _, count in counts)
    return {
        "name": "controller-1000-more",
        "seconds": round(next(at for at, count in counts if count == most), 2),
        "node_claims": most - before,
        "pods": MORE,
        "cpu_seconds_in_30_s": round(controller.cpu_seconds() - cpu, 1),
        "peak_rss_mb": controller.memory_mb("VmHWM"),
    }


@contextmanager
def _world() -> Generator[tuple[Client, Measured]]:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name) / "world"
        here = {**os.environ, "DAIKU_WORLD": str(folder), "NO_COLOR": "1"}
        subprocess.run([DAIKU, "local", "up"], env=here, check=True, stdout=subprocess.DEVNULL)
        try:
            found = world.load(folder)
            inside = environment.of_commands(found, toolchain.ensure().folder, os.environ)
            client = Client(Credentials(inside))
            _populate(client)
            controller = Measured(inside, folder / "c.log")
            controller.start()
            try:
                yield client, controller
            finally:
                controller.kill()
        finally:
            down = [DAIKU, "local", "down"]
            subprocess.run(down, env=here, check=False, stdout=subprocess.DEVNULL)


def _populate(client: Client) -> None:
    pool = manifests.node_pool(
        only={"karpenter.kwok.sh/instance-cpu": ["16"]},
        consolidateAfter="30s",
        budgets=[{"nodes": "10%"}],
    )
    apps = [_deployment(number, PODS_EACH) for number in range(DEPLOYMENTS)]
    manifests.install(client, manifests.node_class(), pool, *apps)


def _deployment(number: int, replicas: int) -> manifests.Json:
    """Twenty of its pods and those like it fill a node of 16 cores."""
    env = {f"SETTING_{n}": "x" * 20 for n in range(10)}
    name = f"app-{number:02d}"
    return manifests.deployment(name, replicas, cpu="790m", memory="900Mi", env=env)


def _items(client: Client, path: str, **query: str) -> list[Any]:
    decoder = msgspec.json.Decoder(dict[str, Any])
    query = {"resourceVersion": "0", **query}
    return decoder.decode(client.get(path, query))["items"]


def _pods(client: Client) -> list[Any]:
    return _items(client, "/api/v1/namespaces/default/pods")


def _running(client: Client) -> int:
    return sum(pod["status"].get("phase") == "Running" for pod in _pods(client))


def _waiting(client: Client) -> int:
    """Pods of which kube-scheduler has said that there is no place for them."""
    return sum(
        condition.get("reason") == "Unschedulable"
        for pod in _pods(client)
        for condition in pod["status"].get("conditions", ())
    )


def _is_still(client: Client) -> bool:
    """Whether within half a minute no NodeClaim came or went."""
    before = {c["metadata"]["uid"] for c in _items(client, CLAIMS)}
    time.sleep(30)
    return before == {c["metadata"]["uid"] for c in _items(client, CLAIMS)}


def _until(what: str, is_so: Callable[[], bool], every: float = 5.0) -> None:
    began = time.monotonic()
    while not is_so():
        if time.monotonic() - began > POPULATED_SECONDS:
            raise TimeoutError(f"not within {POPULATED_SECONDS:.0f} s: {what}")
        time.sleep(every)
    print(f"  {what}: {time.monotonic() - began:.0f} s", file=sys.stderr)  # noqa: T201 - progress
