"""Daiku and the peer, one after the other, each on a control plane of its own: the same catalogue, NodePool and pods.

2,000 pods of 40 Deployments come, and ten minutes after nothing moves any more all of them are scaled to 30 %.
Everything is read off the cluster, nothing off the controllers: prices are those of the catalogue for the types that
Nodes name, and an eviction is a pod that the eviction API has marked. The NodePool is as cheap to act on as it can be:
consolidation at once, budgets that allow everything. One line each, for Daiku another with scale-ins by node.

`PEER_PODS=200` for a look; 2,000 take 70 minutes, half of it the peer's; `PEER_ONLY=Daiku` leaves out who has another
name. Linux only: it reads /proc.
"""

import json
import os
import subprocess
import tempfile
import time
import urllib.request
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Final

from tests import build, manifests
from tests.manifests import Json
from tests.performance import bench_packing, bench_solve, peer, worlds
from tests.performance.measured import Benchmark, Line
from tests.performance.onlooker import Onlooker
from tests.running import DAIKU, free_port

import daiku
from daiku.cloud.kwok import catalogue
from daiku.kube.client import Client
from daiku.model import labels
from daiku.scheduling import problem, solver
from daiku.state import past

PODS: Final = int(os.environ.get("PEER_PODS", "2000"))
ONLY: Final = os.environ.get("PEER_ONLY", "")
SEED: Final = 7
STAYING: Final = 0.3
"""Share of the pods that a scale-down leaves."""
QUIET_SECONDS: Final = 150.0
"""Nothing has moved for so long: settled. The peer's slowest search for something to do takes two minutes."""
REST_SECONDS: Final = past.RESIDENCY.total_seconds() + 30.0
"""Nothing has moved for so long between the two stages: a scale-down does not come together with what came before, and
all that was moved may be moved again. What could be moved no sooner is moved meanwhile, and rests as well."""
MOST_SECONDS: Final = 1500.0
REST_MOST_SECONDS: Final = 5400.0
ZONES: Final = ("zone-a", "zone-b", "zone-c")


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
    asks: Mapping[str, str] = field(default_factory=dict[str, str])
    """Annotations of its NodePool."""


def _contenders() -> Iterator[Contender]:
    name = f"Karpenter {peer.VERSION}"
    if ONLY in {"", name}:
        built = peer.built()
        yield Contender(
            name=name,
            command=[str(built.program)],
            environment={"DISABLE_LEADER_ELECTION": "true", "SYSTEM_NAMESPACE": "kube-system"},
            crds=built.crds,
        )
    daiku_itself = Contender(
        name="Daiku",
        command=[DAIKU, "run", "--cloud", "kwok"],
        environment={"POD_NAMESPACE": "kube-system"},
        crds=sorted((Path(daiku.__file__).parent / "crds").glob("*.yaml")),
    )
    by_node = replace(
        daiku_itself, name="Daiku, scale-ins by node", asks={labels.SCALE_IN_BY_NODE: "true"}
    )
    yield from (each for each in (daiku_itself, by_node) if ONLY in {"", each.name})


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
    seen: Onlooker
    types: Path
    """File of the instance types."""

    def settled(self, stage: str, share: float, *, began: float, before: int) -> Line:
        """Wait until nothing has moved for long; what there is then, and what has happened since."""
        pods = sum(_replicas(body, share) for body in _deployments())

        def is_settled() -> bool:
            return self.seen.still_seconds > QUIET_SECONDS and _all_bound(self.seen, pods)

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
    with _world(contender, types) as (client, pid):
        seen = Onlooker(client)
        seen.follow()
        trial = Trial(client=client, seen=seen, types=types)
        began = time.monotonic()
        for body in _deployments():
            client.create(manifests.PATHS["Deployment"], body)
        _until("all pods have a node", lambda: _all_bound(seen, PODS), every=0.2)
        line["scheduled_seconds"] = round(time.monotonic() - began, 1)
        line |= trial.state("first", 1.0)
        line |= trial.settled("settled", 1.0, began=began, before=0)
        _until("rested", lambda: seen.still_seconds > REST_SECONDS, most=REST_MOST_SECONDS)
        began, before = time.monotonic(), len(seen.evicted)
        for body in _deployments():
            fewer = {"spec": {"replicas": _replicas(body, STAYING)}}
            client.patch(f"{manifests.PATHS['Deployment']}/{body['metadata']['name']}", fewer)
        seen.moved_at = time.monotonic()
        line |= trial.settled("scaled", STAYING, began=began, before=before)
        line["cpu_seconds"] = round(worlds.cpu_seconds(pid), 1)
        line["peak_rss_mb"] = worlds.memory_mb(pid, "VmHWM")
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
        manifests.deployment(
            pod.meta.labels["app"],
            each,
            cpu=f"{pod.requests['cpu']}m",
            memory=str(pod.requests["memory"]),
            terminationGracePeriodSeconds=30,
        )
        for pod in pods[::each]
    ]


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
def _world(contender: Contender, types: Path) -> Generator[tuple[Client, int]]:
    """An API server, and the process id of the contender that works on it."""
    with worlds.standing() as (client, inside, _):
        for file in contender.crds:
            create = ["kubectl", "create", "-f", str(file)]
            subprocess.run(create, env=inside, check=True, capture_output=True)
        manifests.create(client, manifests.node_class(), _node_pool(contender.asks))
        with _running(contender, inside, types) as pid:
            yield client, pid


@contextmanager
def _running(contender: Contender, inside: Mapping[str, str], types: Path) -> Generator[int]:
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
        yield process.pid
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


def _node_pool(asks: Mapping[str, str]) -> Json:
    pool = manifests.node_pool(
        consolidationPolicy="WhenEmptyOrUnderutilized", consolidateAfter="0s"
    )
    pool["spec"]["template"]["spec"]["expireAfter"] = "Never"
    pool["metadata"]["annotations"] = dict(asks)
    return pool


def _until(
    what: str, is_so: Callable[[], bool], every: float = 2.0, most: float = MOST_SECONDS
) -> None:
    worlds.until(what, is_so, most=most, every=every)
