"""Daiku and the peer, one after the other, each on a control plane of its own: the same catalogue, NodePool and pods.

2,000 pods of 40 Deployments come; as soon as nothing moves any more, all of them are scaled to 30 %. Everything is
read off the cluster, nothing off the controllers: prices are those of the catalogue for the types that Nodes name, an
eviction is a pod that the eviction API has marked, and writes are what the API server counted until all pods had a
node. The NodePool is as cheap to act on as it can be: consolidation at once, budgets that allow everything. One line
for each controller.

`PEER_PODS=200` for a look; `PEER_MIXED=1` has zone spread, host spread and anti-affinity on 25 of the 40;
`PEER_ONLY=Daiku` leaves out who has another name; `PEER_STAGES=first` ends when all pods have a node, `settled` when
nothing moves, and without it the scale-down follows; `PEER_KEEP_LOG=1` keeps the controller's log although nothing went
wrong. Linux only: it reads /proc.
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
from daiku.model.pod import Pod
from daiku.scheduling import problem, solver
from daiku_local.toolchain import kubernetes_version

PODS: Final = int(os.environ.get("PEER_PODS", "2000"))
MIXED: Final = bool(os.environ.get("PEER_MIXED"))
STAGES: Final = os.environ.get("PEER_STAGES", "all")
NAME: Final = f"peer-{PODS}{'-mixed' if MIXED else ''}"
ONLY: Final = os.environ.get("PEER_ONLY", "")
SEED: Final = 7
STAYING: Final = 0.3
"""Share of the pods that a scale-down leaves."""
QUIET_SECONDS: Final = 150.0
"""Nothing has moved for so long: settled. The peer's slowest search for something to do takes two minutes."""
MOST_SECONDS: Final = 1500.0
SOON_SECONDS: Final = 90.0
"""How long after the scale-down its price is read for the first time."""
LATER_SECONDS: Final = 600.0
"""How long after it for the last time."""
ZONES: Final = ("zone-a", "zone-b", "zone-c")


def benchmarks() -> Iterator[Benchmark]:
    """Only those that need the peer."""
    yield Benchmark(name=NAME, lines=_lines)


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
    line: Line = {"name": NAME, "controller": contender.name, "kubernetes": kubernetes_version()}
    with _world(contender, types) as (client, pid):
        seen = Onlooker(client)
        seen.follow()
        trial = Trial(client=client, seen=seen, types=types)
        writes, began = worlds.writes(client), time.monotonic()
        for body in _deployments():
            client.create(manifests.PATHS["Deployment"], body)
        _until("all pods have a node", lambda: _all_bound(seen, PODS), every=0.2)
        line["scheduled_seconds"] = round(time.monotonic() - began, 1)
        line["first_claim_seconds"] = round(seen.first_claim_at - seen.first_pod_at, 1)
        line |= trial.state("first", 1.0)
        line["first_cpu_seconds"] = round(worlds.cpu_seconds(pid), 1)
        line["claims_made"], line["claims_removed"] = len(seen.made), len(seen.removed)
        line["writes"] = {
            k: n for k, v in worlds.writes(client).items() if (n := v - writes.get(k, 0)) > 9
        }
        if STAGES != "first":
            line |= trial.settled("settled", 1.0, began=began, before=0)
        if STAGES == "all":
            line |= _scaled_in(trial)
        line["cpu_seconds"] = round(worlds.cpu_seconds(pid), 1)
        line["peak_rss_mb"] = worlds.memory_mb(pid, "VmHWM")
    return line


def _scaled_in(trial: Trial) -> Line:
    """What comes of a scale-down that comes at once: after 90 s, when nothing moves, and ten minutes after it."""
    began, before = time.monotonic(), len(trial.seen.evicted)
    for body in _deployments():
        fewer = {"spec": {"replicas": _replicas(body, STAYING)}}
        trial.client.patch(f"{manifests.PATHS['Deployment']}/{body['metadata']['name']}", fewer)
    trial.seen.moved_at = time.monotonic()
    _until("90 s have passed", lambda: time.monotonic() - began > SOON_SECONDS)
    line = trial.state("soon", STAYING) | {"soon_evictions": len(trial.seen.evicted) - before}
    line |= trial.settled("scaled", STAYING, began=began, before=before)
    _until("ten minutes have passed", lambda: time.monotonic() - began > LATER_SECONDS)
    later = {"later_evictions": len(trial.seen.evicted) - before}
    return line | trial.state("later", STAYING) | later


def _replicas(body: Json, share: float) -> int:
    return round(body["spec"]["replicas"] * share)


def _all_bound(seen: Onlooker, pods: int) -> bool:
    states = list(seen.bound.values())
    return len(states) == pods and all(states)


def _least(types: Path, share: float) -> float:
    """What no cluster that holds this share of the pods can cost less than, in USD per hour."""
    by_app: dict[str, list[Pod]] = {}
    for pod in bench_solve.deployments(PODS, SEED, mixed=MIXED):
        by_app.setdefault(pod.meta.labels["app"], []).append(pod)
    wanted = [pod for pods in by_app.values() for pod in pods[: round(len(pods) * share)]]
    offered = build.catalogue(*catalogue.read(types))
    pools = (build.node_pool(), build.node_class())
    empty = build.cluster(*wanted, *pools, catalogue_of=offered).snapshot(build.NOW)
    return solver.solve(problem.build(wanted, empty, offered)).lower_bound_usd_per_hour


def _deployments() -> list[Json]:
    """Those of `bench_solve`, as objects."""
    pods = bench_solve.deployments(PODS, SEED, mixed=MIXED)
    each = PODS // bench_packing.DEPLOYMENTS
    return [
        manifests.deployment(
            pod.meta.labels["app"],
            each,
            cpu=f"{pod.requests['cpu']}m",
            memory=str(pod.requests["memory"]),
            terminationGracePeriodSeconds=30,
            **_constraints(pod),
        )
        for pod in pods[::each]
    ]


def _constraints(pod: Pod) -> Json:
    """Its spread and anti-affinity as a pod template says them."""
    own = {"matchLabels": {"app": pod.meta.labels["app"]}}
    asked: Json = {}
    if pod.spread:
        asked["topologySpreadConstraints"] = [
            {
                "topologyKey": each.key,
                "maxSkew": each.max_skew,
                "whenUnsatisfiable": "DoNotSchedule",
                "labelSelector": own,
            }
            for each in pod.spread
        ]
    if pod.pod_anti_affinity:
        terms = [{"topologyKey": t.key, "labelSelector": own} for t in pod.pod_anti_affinity]
        rule = {"requiredDuringSchedulingIgnoredDuringExecution": terms}
        asked["affinity"] = {"podAntiAffinity": rule}
    return asked


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
        if not os.environ.get("PEER_KEEP_LOG"):
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
