"""What fake pods and their nodes use, as objects of metrics.k8s.io/v1beta1.

The model is small and told in docs/walkthrough.md: a container uses one millicore and half of the memory that it
asks for; the first container of a pod also bears the pod's part of the requests, as far as its limit allows.
"""

import math
from collections.abc import Iterable, Mapping
from typing import Final

from daiku_local.agent import quantities
from daiku_local.agent.objects import Json, dig, items
from daiku_local.metrics.traffic import WINDOW_SECONDS

GROUP_VERSION: Final = "metrics.k8s.io/v1beta1"
IDLE_MILLICORES: Final = 1
"""What a container uses without requests."""
MEMORY_SHARE: Final = 0.5
"""Of the memory that a container asks for."""
_WINDOW: Final = f"{WINDOW_SECONDS:.0f}s"


def is_running(pod: Json) -> bool:
    """Whether it has any usage at all."""
    return dig(pod, "status", "phase") == "Running"


def is_serving(pod: Json) -> bool:
    """Whether a Service would send it a request."""
    ready = any(
        dig(each, "type") == "Ready" and dig(each, "status") == "True"
        for each in items(pod, "status", "conditions")
    )
    return ready and dig(pod, "metadata", "deletionTimestamp") is None


def of_pod(pod: Json, load_millicores: float, now: str) -> Json:
    """PodMetrics of a pod that bears this much of the requests."""
    containers: list[Json] = []
    load = load_millicores
    for container in items(pod, "spec", "containers"):
        millicores = IDLE_MILLICORES + load
        if (limit := dig(container, "resources", "limits", "cpu")) is not None:
            millicores = min(millicores, quantities.millis(limit))
        memory = dig(container, "resources", "requests", "memory") or 0
        containers.append(
            {
                "name": dig(container, "name"),
                "usage": _usage(millicores, MEMORY_SHARE * quantities.units(memory)),
            }
        )
        load = 0.0
    return _metrics("PodMetrics", pod, now) | {"containers": containers}


def of_node(node: Json, pods: Iterable[Json], now: str) -> Json:
    """NodeMetrics: the sum of the PodMetrics of its pods, and of nothing else."""
    used = [dig(container, "usage") for pod in pods for container in items(pod, "containers")]
    millicores = sum(quantities.millis(dig(each, "cpu") or 0) for each in used)
    memory = sum(quantities.units(dig(each, "memory") or 0) for each in used)
    return _metrics("NodeMetrics", node, now) | {"usage": _usage(millicores, memory)}


def shares(millicores: float, pods: Iterable[Json]) -> Mapping[str, float]:
    """The parts, by pod name, of what the pods behind a Service use together: equal, of those that serve."""
    serving = [str(dig(pod, "metadata", "name")) for pod in pods if is_serving(pod)]
    return {name: millicores / len(serving) for name in serving}


def listed(kind: str, metrics: Iterable[Json]) -> Json:
    """A list of PodMetrics or NodeMetrics."""
    return {
        "kind": f"{kind}List",
        "apiVersion": GROUP_VERSION,
        "metadata": {},
        "items": list(metrics),
    }


def _usage(millicores: float, memory_bytes: float) -> Json:
    return {"cpu": f"{math.ceil(millicores)}m", "memory": f"{math.ceil(memory_bytes / 1024)}Ki"}


def _metrics(kind: str, of: Json, now: str) -> Json:
    kept = ("name", "namespace", "labels")
    metadata = {key: of["metadata"][key] for key in kept if key in of["metadata"]}
    return {
        "kind": kind,
        "apiVersion": GROUP_VERSION,
        "metadata": metadata | {"creationTimestamp": now},
        "timestamp": now,
        "window": _WINDOW,
    }
