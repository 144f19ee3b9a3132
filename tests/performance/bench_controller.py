"""The controller beside a real API server and scheduler, 1,000 nodes and 20,000 pods: what it costs, how soon it acts.

`controller-1000` runs a laptop world of its own with the kwok cloud. 40 Deployments of 500 pods each are made and
placed by the controller and kube-scheduler; then it is started anew, left alone for minutes, and given 2,000 pods more.
Takes a quarter of an hour or more, nearly all of it Kubernetes's own. Linux only: it reads /proc.
"""

import os
import socket
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Callable, Generator, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import msgspec
from tests.performance.measured import Benchmark, Line

import daiku
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
REF = {"group": "karpenter.kwok.sh", "kind": "KWOKNodeClass", "name": "default"}
DAIKU = str(Path(sys.prefix) / "bin" / "daiku")


def benchmarks() -> Iterator[Benchmark]:
    """All of them."""
    yield Benchmark(name="controller-1000", lines=_lines)


@dataclass
class Controller:
    """`daiku run` with the kwok cloud."""

    environment: dict[str, str]
    log: Path
    port: int = 0
    process: subprocess.Popen[bytes] = field(init=False)

    def start(self) -> None:
        self.port, health = _free_port(), _free_port()
        ports = ["--metrics-port", str(self.port), "--health-probe-port", str(health)]
        flags = ["run", "--cloud", "kwok", "--bind-address", "127.0.0.1", *ports]
        with self.log.open("ab") as output:
            self.process = subprocess.Popen(
                [DAIKU, *flags], env=self.environment, stdout=output, stderr=subprocess.STDOUT
            )

    def stop(self) -> None:
        self.process.terminate()
        self.process.wait(60)

    def metric(self, name: str) -> float:
        """One that has no labels; 0 while nobody answers."""
        with suppress(OSError):
            url = f"http://127.0.0.1:{self.port}/metrics"
            with urllib.request.urlopen(url, timeout=5) as answer:
                lines = answer.read().decode().splitlines()
            return next((float(x.split()[1]) for x in lines if x.startswith(f"{name} ")), 0.0)
        return 0.0

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


def _steady(controller: Controller) -> Line:
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


def _more(client: Client, controller: Controller) -> Line:
    """2,000 pods wait for a limit to go; then until the last NodeClaim for them is there."""
    client.patch(POOL, {"spec": {"limits": {"nodes": "1"}}})
    body = _deployment(DEPLOYMENTS, MORE)
    client.create("/apis/apps/v1/namespaces/default/deployments", body)
    _until("the pods are there", lambda: len(_pods(client)) == DEPLOYMENTS * PODS_EACH + MORE)
    time.sleep(15)
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
def _world() -> Generator[tuple[Client, Controller]]:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name) / "world"
        here = {**os.environ, "DAIKU_WORLD": str(folder), "NO_COLOR": "1"}
        subprocess.run([DAIKU, "local", "up"], env=here, check=True, stdout=subprocess.DEVNULL)
        try:
            found = world.load(folder)
            inside = environment.of_commands(found, toolchain.ensure().folder, os.environ)
            client = Client(Credentials(inside))
            _populate(client, inside)
            controller = Controller(inside | {"POD_NAMESPACE": "kube-system"}, folder / "c.log")
            controller.start()
            try:
                yield client, controller
            finally:
                controller.process.kill()
                controller.process.wait()
        finally:
            down = [DAIKU, "local", "down"]
            subprocess.run(down, env=here, check=False, stdout=subprocess.DEVNULL)


def _populate(client: Client, inside: dict[str, str]) -> None:
    crds = sorted((Path(daiku.__file__).parent / "crds").glob("*.yaml"))
    for file in crds:
        subprocess.run(
            ["kubectl", "create", "-f", str(file)], env=inside, check=True, capture_output=True
        )
    kinds = {
        "/apis/karpenter.kwok.sh/v1alpha1/kwoknodeclasses": {
            "apiVersion": "karpenter.kwok.sh/v1alpha1", "kind": REF["kind"], "metadata": {"name": "default"},
        },
        "/apis/karpenter.sh/v1/nodepools": _node_pool(),
    }  # fmt: skip
    for path, body in kinds.items():
        _until(f"{path} takes objects", lambda path=path, body=body: _is_taken(client, path, body))
    for number in range(DEPLOYMENTS):
        body = _deployment(number, PODS_EACH)
        client.create("/apis/apps/v1/namespaces/default/deployments", body)


def _is_taken(client: Client, path: str, body: dict[str, Any]) -> bool:
    with suppress(Exception):
        client.create(path, body)
        return True
    return False


def _node_pool() -> dict[str, Any]:
    requirements = [
        {"key": "karpenter.sh/capacity-type", "operator": "In", "values": ["on-demand"]},
        {"key": "kubernetes.io/arch", "operator": "In", "values": ["amd64"]},
        {"key": "kubernetes.io/os", "operator": "In", "values": ["linux"]},
        {"key": "karpenter.kwok.sh/instance-cpu", "operator": "In", "values": ["16"]},
    ]
    template = {"nodeClassRef": REF, "requirements": requirements}
    return {
        "apiVersion": "karpenter.sh/v1",
        "kind": "NodePool",
        "metadata": {"name": "default"},
        "spec": {"template": {"spec": template}, "disruption": {"consolidateAfter": "30s"}},
    }


def _deployment(number: int, replicas: int) -> dict[str, Any]:
    """Twenty of its pods and those like it fill a node of 16 cores."""
    name = f"app-{number:02d}"
    container = {
        "name": "main",
        "image": "public.ecr.aws/eks-distro/kubernetes/pause:3.7",
        "env": [{"name": f"SETTING_{n}", "value": "x" * 20} for n in range(10)],
        "resources": {"requests": {"cpu": "790m", "memory": "900Mi"}},
    }
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": name},
        "spec": {
            "replicas": replicas,
            "selector": {"matchLabels": {"app": name}},
            "template": {
                "metadata": {"labels": {"app": name}},
                "spec": {"containers": [container]},
            },
        },
    }


def _items(client: Client, path: str, **query: str) -> list[Any]:
    decoder = msgspec.json.Decoder(dict[str, Any])
    query = {"resourceVersion": "0", **query}
    return decoder.decode(client.get(path, query))["items"]


def _pods(client: Client) -> list[Any]:
    return _items(client, "/api/v1/namespaces/default/pods")


def _running(client: Client) -> int:
    return sum(pod["status"].get("phase") == "Running" for pod in _pods(client))


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


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]
