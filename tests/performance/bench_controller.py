"""The controller beside a real API server and scheduler, 1,000 nodes and 20,000 pods: what it costs, how soon it acts.

`controller-1000` runs a laptop world of its own with the kwok cloud. 40 Deployments of 500 pods each are made and
placed by the controller and kube-scheduler; then it is started anew, left alone for minutes, and given 2,000 pods more.
Takes a quarter of an hour or more, nearly all of it Kubernetes's own. Linux only: it reads /proc.
"""

import time
from collections.abc import Callable, Generator, Iterator
from contextlib import contextmanager
from typing import Any

import msgspec
from tests import manifests
from tests.performance import worlds
from tests.performance.measured import Benchmark, Line
from tests.running import Controller

from daiku.kube.client import Client

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
            "cpu_seconds": round(worlds.cpu_seconds(controller.process.pid), 1),
            "nodes": len(_items(client, "/api/v1/nodes")),
            "pods": _running(client),
        }
        time.sleep(60)  # what a start brings with it is over then
        yield _steady(controller)
        yield _more(client, controller)


def _steady(controller: Controller) -> Line:
    began, cpu = time.monotonic(), worlds.cpu_seconds(controller.process.pid)
    ticks = controller.metric("daiku_ticks_total")
    time.sleep(STEADY_SECONDS)
    seconds = time.monotonic() - began
    return {
        "name": "controller-1000-steady",
        "cores": round((worlds.cpu_seconds(controller.process.pid) - cpu) / seconds, 3),
        "ticks_per_minute": round((controller.metric("daiku_ticks_total") - ticks) * 60 / seconds),
        "rss_mb": worlds.memory_mb(controller.process.pid, "VmRSS"),
        "peak_rss_mb": worlds.memory_mb(controller.process.pid, "VmHWM"),
        "seconds": round(seconds),
    }


def _more(client: Client, controller: Controller) -> Line:
    """2,000 pods wait for a limit to go; then until the last NodeClaim for them is there."""
    client.patch(POOL, {"spec": {"limits": {"nodes": "1"}}})
    client.create(manifests.PATHS["Deployment"], _deployment(DEPLOYMENTS, MORE))
    _until("the pods wait, by kube-scheduler's word", lambda: _waiting(client) == MORE)
    time.sleep(5)
    before = len(_items(client, CLAIMS))
    cpu, began = worlds.cpu_seconds(controller.process.pid), time.monotonic()
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
        "cpu_seconds_in_30_s": round(worlds.cpu_seconds(controller.process.pid) - cpu, 1),
        "peak_rss_mb": worlds.memory_mb(controller.process.pid, "VmHWM"),
    }


@contextmanager
def _world() -> Generator[tuple[Client, Controller]]:
    with worlds.standing() as (client, inside, folder):
        _populate(client)
        controller = Controller(inside, folder / "c.log")
        controller.start()
        try:
            yield client, controller
        finally:
            controller.kill()


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
    worlds.until(what, is_so, most=POPULATED_SECONDS, every=every)
