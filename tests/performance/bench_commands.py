"""The commands that people wait for, each as a process of its own, on a saved cluster of 1,000 nodes and 20,000 pods.

CPU is what counts: user and system time of the process, imports and reading included, with bytecode compiled before.
The snapshot is what `daiku snapshot` writes: nodes of three sizes with their NodeClaims, filled to different degrees
with pods of 40 ReplicaSets, a quarter of which must spread over zones.
"""

import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from datetime import timedelta
from functools import partial
from pathlib import Path
from typing import Any, Final

from tests.performance.measured import Benchmark, Line

from daiku.runtime import clock

ROOT: Final = Path(__file__).resolve().parents[2]
RUNS: Final = 3
NODES: Final = 1000
PODS_EACH: Final = 20
SIZES: Final = {"c-4x-amd64-linux": 4, "c-8x-amd64-linux": 8, "c-16x-amd64-linux": 16}
"""Instance types of the kwok cloud, and their cpus; each has twice as many GiB."""
ZONES: Final = ("test-zone-a", "test-zone-b", "test-zone-c")
APPS: Final = 40
YESTERDAY: Final = f"{clock.now() - timedelta(days=1):%Y-%m-%dT%H:%M:%SZ}"
"""When all of it was made: long enough ago to be quiet, and not so long that nodes expire."""
REF: Final = {"group": "karpenter.kwok.sh", "kind": "KWOKNodeClass", "name": "default"}
WANTED: Final = [
    {"key": "karpenter.sh/capacity-type", "operator": "In", "values": ["on-demand"]},
    {"key": "kubernetes.io/arch", "operator": "In", "values": ["amd64"]},
    {"key": "kubernetes.io/os", "operator": "In", "values": ["linux"]},
]
Json = dict[str, Any]


def benchmarks() -> Iterator[Benchmark]:
    """All of them."""
    node, pod = ("node", "general-00500"), ("pod", "app-0-0-00000")
    for name, arguments in {
        "command-help": ("--help",),
        "command-view": ("view", "--once", "--from", "{}"),
        "command-explain-node": ("explain", *node, "--from", "{}"),
        "command-explain-pod": ("explain", *pod, "--from", "{}"),
        "command-explain-nodepool": ("explain", "nodepool", "general", "--from", "{}"),
        "command-doctor": ("doctor", "--from", "{}"),
    }.items():
        yield Benchmark(name=name, lines=partial(_of_saved, name, arguments))
    day = str(ROOT / "examples" / "simulate" / "day.yaml")
    yield Benchmark(
        name="command-simulate-day",
        lines=partial(_lines, "command-simulate-day", ("simulate", day), 1),
    )


def snapshot(nodes: int = NODES, pods_each: int = PODS_EACH) -> Json:
    """A cluster as a List of its objects."""
    pool: Json = {
        **_object("karpenter.sh/v1", "NodePool", "general"),
        "spec": {
            "template": {"spec": {"nodeClassRef": REF, "requirements": WANTED}},
            "disruption": {
                "consolidateAfter": "30s",
                "consolidationPolicy": "WhenEmptyOrUnderutilized",
                "budgets": [{"nodes": "10%"}],
            },
        },
        "status": {"conditions": _conditions("Ready")},
    }
    items: list[Json] = [
        _object("v1", "Namespace", "default"),
        {
            **_object("karpenter.kwok.sh/v1alpha1", "KWOKNodeClass", "default"),
            "status": {"conditions": _conditions("Ready")},
        },
        pool,
    ]
    for number in range(nodes):
        items += _node(number)
        items += [_pod(number, position, pods_each) for position in range(pods_each)]
    return {"apiVersion": "v1", "kind": "List", "metadata": {}, "items": items}


def _node(number: int) -> list[Json]:
    """A NodeClaim and its Node."""
    name = f"general-{number:05d}"
    instance_type, cpus = list(SIZES.items())[number % len(SIZES)]
    known = {
        "karpenter.kwok.sh/kwoknodeclass": "default",
        "karpenter.sh/capacity-type": "on-demand",
        "karpenter.sh/initialized": "true",
        "karpenter.sh/nodepool": "general",
        "karpenter.sh/registered": "true",
        "kubernetes.io/arch": "amd64",
        "kubernetes.io/hostname": name,
        "kubernetes.io/os": "linux",
        "node.kubernetes.io/instance-type": instance_type,
        "topology.kubernetes.io/zone": ZONES[number % len(ZONES)],
    }
    room = {"cpu": str(cpus), "memory": f"{2 * cpus}Gi", "pods": "110"}
    claim = _object("karpenter.sh/v1", "NodeClaim", name, labels=known)
    claim |= {
        "spec": {"nodeClassRef": REF, "requirements": WANTED},
        "status": {
            "providerID": f"kwok://{name}",
            "nodeName": name,
            "capacity": room,
            "allocatable": room,
            "conditions": _conditions(
                "Launched", "Registered", "Initialized", "Ready", "Consolidatable"
            ),
        },
    }
    node = _object("v1", "Node", name, labels=known)
    node |= {
        "spec": {"providerID": f"kwok://{name}"},
        "status": {"capacity": room, "allocatable": room, "conditions": _conditions("Ready")},
    }
    for each in (claim, node):
        each["metadata"]["finalizers"] = ["karpenter.sh/termination"]
    return [claim, node]


def _pod(node: int, position: int, pods_each: int) -> Json:
    """One of the pods of a node: together they ask for 50 to 95 % of its cpu."""
    app = (node * 7 + position) % APPS
    cpus = list(SIZES.values())[node % len(SIZES)]
    known = {"app": f"app-{app}", "pod-template-hash": f"{app:08x}"}
    pod = _object("v1", "Pod", f"app-{app}-{position}-{node:05d}", labels=known)
    pod["metadata"] |= {
        "namespace": "default",
        "ownerReferences": [
            {
                "apiVersion": "apps/v1",
                "kind": "ReplicaSet",
                "name": f"app-{app}",
                "uid": f"rs-{app}",
                "controller": True,
            }
        ],
    }
    asked = {"cpu": f"{cpus * (500 + 50 * (node % 10)) // pods_each}m", "memory": "256Mi"}
    pod["spec"] = {
        "nodeName": f"general-{node:05d}",
        "containers": [{"name": "app", "image": "app", "resources": {"requests": asked}}],
        "schedulerName": "default-scheduler",
        "tolerations": [
            {
                "key": "node.kubernetes.io/not-ready",
                "operator": "Exists",
                "effect": "NoExecute",
                "tolerationSeconds": 300,
            }
        ],
    }
    if app % 4 == 0:
        pod["spec"]["topologySpreadConstraints"] = [
            {
                "maxSkew": 5,
                "topologyKey": "topology.kubernetes.io/zone",
                "whenUnsatisfiable": "DoNotSchedule",
                "labelSelector": {"matchLabels": {"app": f"app-{app}"}},
            }
        ]
    pod["status"] = {"phase": "Running", "conditions": _conditions("PodScheduled", "Ready")}
    return pod


def _object(api_version: str, kind: str, name: str, **meta: object) -> Json:
    metadata = {"name": name, "uid": f"{kind}-{name}", "creationTimestamp": YESTERDAY, **meta}
    return {"apiVersion": api_version, "kind": kind, "metadata": metadata}


def _conditions(*types: str) -> list[Json]:
    return [
        {
            "type": each,
            "status": "True",
            "reason": each,
            "message": "",
            "lastTransitionTime": YESTERDAY,
        }
        for each in types
    ]


def _of_saved(name: str, arguments: Sequence[str]) -> Iterator[Line]:
    with tempfile.TemporaryDirectory() as folder:
        saved = Path(folder) / "snapshot.json"
        saved.write_text(json.dumps(snapshot()))
        yield from _lines(name, [each.format(saved) for each in arguments], RUNS)


def _lines(name: str, arguments: Sequence[str], runs: int) -> Iterator[Line]:
    """The least of so many runs, after one that compiles what it imports."""
    with tempfile.TemporaryDirectory() as compiled:
        there = {k: v for k, v in os.environ.items() if k != "PYTHONDONTWRITEBYTECODE"}
        there["PYTHONPYCACHEPREFIX"] = compiled
        _run(("--help",) if runs == 1 else arguments, there)
        seconds, cpu = zip(*(_run(arguments, there) for _ in range(runs)), strict=True)
    yield {
        "name": name,
        "seconds": round(min(seconds), 3),
        "cpu_seconds": round(min(cpu), 3),
    }


def _run(arguments: Sequence[str], environment: dict[str, str]) -> tuple[float, float]:
    """Seconds of the clock and of CPU that a command takes."""
    before, began = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    subprocess.run(
        [str(Path(sys.executable).parent / "daiku"), *arguments],
        check=False,  # what `doctor` finds is an exit code
        stdout=subprocess.DEVNULL,
        env=environment,
    )
    took, after = time.perf_counter() - began, resource.getrusage(resource.RUSAGE_CHILDREN)
    return took, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
