"""Daiku and the peer, one after the other, each on a control plane of its own: the same catalogue, NodePool and pods.

2,000 pods of 40 Deployments come, and ten minutes after nothing moves any more all of them are scaled to 30 %.
Everything is read off the cluster, nothing off the controllers: prices are those of the catalogue for the types that
Nodes name, and an eviction is a pod that the eviction API has marked. The NodePool is as cheap to act on as it can be:
consolidation at once, budgets that allow everything. One line each. `PEER_PODS=200` for a look; 2,000 take an hour,
most of it the peer's. Linux only: it reads /proc.
"""

import json
import os
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from tests import build
from tests.performance import bench_packing, bench_solve, peer
from tests.performance.measured import Benchmark, Line
from tests.performance.onlooker import Onlooker
from tests.running import free_port

import daiku
from daiku.cloud.kwok import catalogue
from daiku.kube import errors
from daiku.kube.client import Client
from daiku.kube.credentials import Credentials
from daiku.model import labels
from daiku.scheduling import problem, solver
from daiku.state import past
from daiku_local import environment, toolchain, world

PODS: Final = int(os.environ.get("PEER_PODS", "2000"))
SEED: Final = 7
STAYING: Final = 0.3
"""Share of the pods that a scale-down leaves."""
QUIET_SECONDS: Final = 150.0
"""Nothing has moved for so long: settled. The peer's slowest search for something to do takes two minutes."""
REST_SECONDS: Final = past.RESIDENCY.total_seconds()
"""Between the two stages: a scale-down does not come together with the first placement, and what was moved to settle
may be moved again."""
MOST_SECONDS: Final = 1500.0
ZONES: Final = ("zone-a", "zone-b", "zone-c")
DAIKU: Final = str(Path(sys.prefix) / "bin" / "daiku")
DEPLOYMENTS: Final = "/apis/apps/v1/namespaces/default/deployments"
REF: Final = {"group": "karpenter.kwok.sh", "kind": "KWOKNodeClass", "name": "default"}
Json = dict[str, Any]


def benchmarks() -> Iterator[Benchmark]:
    """Only those that need the peer."""
    yield Benchmark(name=f"peer-{PODS}", lines=_lines)


@dataclass(frozen=True, kw_only=True)
class Contender:
    """One of the two controllers."""

    name: str
    command: Sequence[str]
    environment: Mapping[str, str]
    crds: Sequence[Path]


def _contenders() -> Iterator[Contender]:
    built = peer.built()
    yield Contender(
        name=f"Karpenter {peer.VERSION}",
        command=[str(built.program)],
        environment={"DISABLE_LEADER_ELECTION": "true", "SYSTEM_NAMESPACE": "kube-system"},
        crds=built.crds,
    )
    yield Contender(
        name="Daiku",
        command=[DAIKU, "run", "--cloud", "kwok"],
        environment={"POD_NAMESPACE": "kube-system"},
        crds=sorted((Path(daiku.__file__).parent / "crds").glob("*.yaml")),
    )


@dataclass
class Process:
    """A controller that runs."""

    process: subprocess.Popen[bytes]

    def cpu_seconds(self) -> float:
        after_name = Path(f"/proc/{self.process.pid}/stat").read_text().rpartition(")")[2].split()
        return (int(after_name[11]) + int(after_name[12])) / os.sysconf("SC_CLK_TCK")

    def peak_rss_mb(self) -> int:
        lines = Path(f"/proc/{self.process.pid}/status").read_text().splitlines()
        return next(int(x.split()[1]) // 1024 for x in lines if x.startswith("VmHWM"))


def _lines() -> Iterator[Line]:
    with tempfile.TemporaryDirectory() as name:
        types = Path(name) / "types.json"
        types.write_text(json.dumps(_types()))
        for contender in _contenders():
            yield _measured(contender, types)


@dataclass(frozen=True, kw_only=True)
class Trial:
    """One controller at work."""

    client: Client
    process: Process
    seen: Onlooker
    types: Path
    """File of the instance types."""

    def settled(self, stage: str, share: float, *, began: float, before: int) -> Line:
        """Wait until nothing has moved for long; what there is then, and what has happened since."""
        pods = sum(_replicas(body, share) for body in _deployments())

        def is_settled() -> bool:
            quiet = time.monotonic() - self.seen.moved_at > QUIET_SECONDS
            return quiet and _all_bound(self.seen, pods)

        _until(f"{stage}: nothing moves", is_settled)
        return {
            f"{stage}_seconds": round(self.seen.moved_at - began, 1),
            f"{stage}_evictions": len(self.seen.evicted) - before,
            **self.state(stage, share),
        }

    def state(self, stage: str, share: float) -> Line:
        """Nodes and what they cost, in USD per hour and against the least that the pods can cost."""
        pages = self.client.list("/api/v1/nodes")
        nodes = [json.loads(bytes(raw)) for page in pages for raw in page.items]
        known = [node["metadata"]["labels"] for node in nodes]
        own = [each for each in known if labels.NODEPOOL in each]
        usd = _prices(self.types)
        price = sum(usd[x[labels.INSTANCE_TYPE], x[labels.ZONE]] for x in own)
        return {
            f"{stage}_nodes": len(own),
            f"{stage}_usd_per_hour": round(price, 3),
            f"{stage}_over_bound": round(price / _least(self.types, share), 4),
        }


def _measured(contender: Contender, types: Path) -> Line:
    line: Line = {"name": f"peer-{PODS}", "controller": contender.name}
    with _world(contender, types) as (client, process):
        seen = Onlooker(client)
        seen.follow()
        trial = Trial(client=client, process=process, seen=seen, types=types)
        began = time.monotonic()
        for body in _deployments():
            client.create(DEPLOYMENTS, body)
        _until("all pods have a node", lambda: _all_bound(seen, PODS), every=0.2)
        line["scheduled_seconds"] = round(time.monotonic() - began, 1)
        line |= trial.state("first", 1.0)
        line |= trial.settled("settled", 1.0, began=began, before=0)
        time.sleep(REST_SECONDS)
        began, before = time.monotonic(), len(seen.evicted)
        for body in _deployments():
            fewer = {"spec": {"replicas": _replicas(body, STAYING)}}
            client.patch(f"{DEPLOYMENTS}/{body['metadata']['name']}", fewer)
        seen.moved_at = time.monotonic()
        line |= trial.settled("scaled", STAYING, began=began, before=before)
        line["cpu_seconds"] = round(process.cpu_seconds(), 1)
        line["peak_rss_mb"] = process.peak_rss_mb()
    return line


def _replicas(body: Json, share: float) -> int:
    return round(body["spec"]["replicas"] * share)


def _all_bound(seen: Onlooker, pods: int) -> bool:
    states = list(seen.bound.values())
    return len(states) == pods and all(states)


def _least(types: Path, share: float) -> float:
    """What no cluster that holds this share of the pods can cost less than, in USD per hour."""
    wanted = [
        pod
        for body in _deployments()
        for pod in build.pods(
            _replicas(body, share),
            body["metadata"]["name"],
            labels={"app": body["metadata"]["name"]},
            **_requests(body),
        )
    ]
    offered = build.catalogue(*catalogue.read(types))
    pools = (build.node_pool(), build.node_class())
    empty = build.cluster(*wanted, *pools, catalogue_of=offered).snapshot(build.NOW)
    return solver.solve(problem.build(wanted, empty, offered)).lower_bound_usd_per_hour


def _requests(body: Json) -> Json:
    (container,) = body["spec"]["template"]["spec"]["containers"]
    return container["resources"]["requests"]


def _deployments() -> list[Json]:
    """Those of `bench_solve`, as objects."""
    pods = bench_solve.deployments(PODS, SEED, mixed=False)
    each = PODS // bench_packing.DEPLOYMENTS
    return [
        _deployment(pod.meta.labels["app"], each, pod.requests["cpu"], pod.requests["memory"])
        for pod in pods[::each]
    ]


def _deployment(name: str, replicas: int, millis: int, memory: int) -> Json:
    own = {"app": name}
    container = {
        "name": "main",
        "image": "public.ecr.aws/eks-distro/kubernetes/pause:3.7",
        "resources": {"requests": {"cpu": f"{millis}m", "memory": str(memory)}},
    }
    template = {"metadata": {"labels": own}, "spec": {"containers": [container]}}
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": name},
        "spec": {"replicas": replicas, "selector": {"matchLabels": own}, "template": template},
    }


def _types() -> list[Json]:
    """The 144 types as the kwok cloud of both reads them; it takes its overhead off what a type has."""
    return [
        {
            "name": kind.name,
            "architecture": "amd64",
            "operatingSystems": ["linux"],
            "resources": {
                "cpu": f"{kind.allocatable['cpu'] + catalogue.OVERHEAD['cpu']}m",
                "memory": str(kind.allocatable["memory"] + catalogue.OVERHEAD["memory"]),
                "pods": str(kind.allocatable["pods"]),
                "ephemeral-storage": "20Gi",
            },
            "offerings": [
                {
                    "Price": offering.price_usd_per_hour,
                    "Available": True,
                    "Requirements": [
                        _in(labels.CAPACITY_TYPE, labels.ON_DEMAND),
                        _in(labels.ZONE, offering.zone),
                    ],
                }
                for offering in kind.offerings
            ],
        }
        for kind in bench_solve.instance_types()
    ]


def _in(key: str, value: str) -> Json:
    return {"key": key, "operator": "In", "values": [value]}


def _prices(types: Path) -> dict[tuple[str, str], float]:
    return {
        (kind.name, offering.zone): offering.price_usd_per_hour
        for kind in catalogue.read(types)
        for offering in kind.offerings
    }


@contextmanager
def _world(contender: Contender, types: Path) -> Generator[tuple[Client, Process]]:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name) / "world"
        here = {**os.environ, "DAIKU_WORLD": str(folder), "NO_COLOR": "1"}
        subprocess.run([DAIKU, "local", "up"], env=here, check=True, stdout=subprocess.DEVNULL)
        try:
            found = world.load(folder)
            inside = environment.of_commands(found, toolchain.ensure().folder, os.environ)
            client = Client(Credentials(inside))
            _begin(client, inside, contender)
            with _running(contender, inside, types) as process:
                yield client, process
        finally:
            down = [DAIKU, "local", "down"]
            subprocess.run(down, env=here, check=False, stdout=subprocess.DEVNULL)


@contextmanager
def _running(contender: Contender, inside: Mapping[str, str], types: Path) -> Generator[Process]:
    """The controller as a process; its log is kept when something goes wrong."""
    ports = {"METRICS_PORT": str(free_port()), "HEALTH_PROBE_PORT": str(free_port())}
    log = Path(tempfile.gettempdir()) / f"bench-peer-{contender.name.split()[0].lower()}.log"
    with log.open("wb") as output:
        process = subprocess.Popen(
            contender.command,
            env={
                **inside,
                **contender.environment,
                **ports,
                "INSTANCE_TYPES_FILE_PATH": str(types),
            },
            stdout=output,
            stderr=subprocess.STDOUT,
        )
    try:
        _until(
            f"{contender.name} is ready", lambda: _is_ready(ports["HEALTH_PROBE_PORT"]), every=0.2
        )
        yield Process(process)
        log.unlink()
    finally:
        process.kill()
        process.wait()


def _is_ready(port: str) -> bool:
    with suppress(OSError):
        url = f"http://127.0.0.1:{port}/readyz"
        with urllib.request.urlopen(url, timeout=5) as answer:
            return answer.status == 200
    return False


def _begin(client: Client, inside: Mapping[str, str], contender: Contender) -> None:
    for file in contender.crds:
        create = ["kubectl", "create", "-f", str(file)]
        subprocess.run(create, env=dict(inside), check=True, capture_output=True)
    node_class = {
        "apiVersion": f"{REF['group']}/v1alpha1",
        "kind": REF["kind"],
        "metadata": {"name": REF["name"]},
    }
    taken = {
        "/apis/karpenter.kwok.sh/v1alpha1/kwoknodeclasses": node_class,
        "/apis/karpenter.sh/v1/nodepools": _node_pool(),
    }
    for path, body in taken.items():
        _until(f"{path} takes objects", lambda path=path, body=body: _is_taken(client, path, body))


def _node_pool() -> Json:
    requirements = [
        _in(labels.CAPACITY_TYPE, labels.ON_DEMAND),
        _in(labels.ARCH, "amd64"),
        _in(labels.OS, "linux"),
    ]
    template = {"nodeClassRef": REF, "requirements": requirements, "expireAfter": "Never"}
    return {
        "apiVersion": "karpenter.sh/v1",
        "kind": "NodePool",
        "metadata": {"name": "default"},
        "spec": {
            "template": {"spec": template},
            "disruption": {
                "consolidationPolicy": "WhenEmptyOrUnderutilized",
                "consolidateAfter": "0s",
                "budgets": [{"nodes": "100%"}],
            },
        },
    }


def _is_taken(client: Client, path: str, body: Json) -> bool:
    with suppress(errors.KubeError):
        client.create(path, body)
        return True
    return False


def _until(what: str, is_so: Callable[[], bool], every: float = 2.0) -> None:
    began = time.monotonic()
    while not is_so():
        if time.monotonic() - began > MOST_SECONDS:
            raise TimeoutError(f"not within {MOST_SECONDS:.0f} s: {what}")
        time.sleep(every)
    print(f"  {what}: {time.monotonic() - began:.0f} s", file=sys.stderr)  # noqa: T201 - progress
