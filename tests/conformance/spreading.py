"""Pods that are to be spread, and how many of them a plan puts into each domain."""

from collections import Counter
from typing import Any

from tests import build
from tests.plans import Small

from daiku.events import Object
from daiku.model import labels
from daiku.model.node import Node
from daiku.model.nodepool import NodePool
from daiku.model.pod import Pod
from daiku.model.requirements import Requirements
from daiku.model.taints import Taint, Toleration
from daiku.model.topology import Spread

ZONES = ("zone-a", "zone-b", "zone-c")
TYPES = build.family(sizes=(4, 16), zones=ZONES, capacity_types=("spot", "on-demand"))
WEB = build.needs(build.require("app", "In", "web"))
TAINT = Taint("dedicated", "NoSchedule")
EXISTS = (Toleration(operator="Exists"),)


def spread(key: str = labels.ZONE, **fields: Any) -> Spread:
    return Spread(**{"key": key, "max_skew": 1, "hard": True, "selector": WEB, **fields})


def web(count: int, *spreads: Spread, prefix: str = "web", **fields: Any) -> list[Pod]:
    small = {"cpu": "100m", "memory": "64Mi", "labels": {"app": "web"}}
    return build.pods(count, prefix, **{**small, "spread": spreads, **fields})


def among(key: str, *values: str) -> Requirements:
    return build.needs(build.require(key, "In", *values))


def full(zone: str, pods: int, **fields: Any) -> list[Object]:
    """A node of a zone with so many pods of the app, and no room left."""
    name = f"full-{zone}"
    node = build.node(name, provider_id=name, cpu="0", labels_of={labels.ZONE: zone})
    running = web(pods, prefix=f"old-{zone}", cpu="0", memory="0", node=name, **fields)
    return [node, *running]


def counted(small: Small, key: str) -> list[str]:
    """`domain=pods` for every domain of `key` with pods of the app, those that were there included."""
    solved = small.solve()
    nodes = {n.meta.name: n for n in small.there if isinstance(n, Node)}
    found: Counter[str] = Counter()
    running = {p.meta.key: p.node_name for p in small.there if isinstance(p, Pod)}
    for pod, name in {**running, **solved.placements}.items():
        if "web" in pod or "old" in pod:
            found[nodes[name].meta.labels.get(key, "none")] += 1
    for index, new in enumerate(solved.new_nodes):
        domain = f"new-{index}" if key == labels.HOSTNAME else _domain(new, key)
        found[domain] += len(new.pods)
    stuck = sum(len(u.pods) for u in solved.unschedulable)
    told = found.values() if key == labels.HOSTNAME else [f"{d}={n}" for d, n in found.items()]
    return [*map(str, sorted(told)), *([f"{stuck} stuck"] if stuck else [])]


def _domain(new: Any, key: str) -> str:
    if key == labels.ZONE:
        return " or ".join(new.zones)
    if key == labels.CAPACITY_TYPE:
        return " or ".join(new.capacity_types)
    return " or ".join(new.requirements.get(key).sorted_values())


def pool(*zones: str, name: str = "default", **fields: Any) -> NodePool:
    return build.node_pool(name, requirements=among(labels.ZONE, *(zones or ZONES)), **fields)
