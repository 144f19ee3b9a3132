"""Pods that want company or want to be alone, and who of them shares a domain in a plan."""

from dataclasses import replace
from typing import Any

from tests import build
from tests.plans import Small

from daiku.model import labels
from daiku.model.node import Node
from daiku.model.pod import Pod
from daiku.model.requirements import Requirements
from daiku.model.topology import AffinityTerm, Preferred

ZONES = ("zone-a", "zone-b", "zone-c")
TYPES = build.family(sizes=(1, 4), zones=ZONES)
HOST, ZONE = labels.HOSTNAME, labels.ZONE


def called(name: str) -> Requirements:
    return build.needs(build.require("app", "In", name))


def term(app: str, key: str = HOST, **fields: Any) -> AffinityTerm:
    return AffinityTerm(
        **{"key": key, "selector": called(app), "namespaces": ("default",), **fields}
    )


def near(app: str, key: str = HOST, **fields: Any) -> dict[str, Any]:
    return {"pod_affinity": (term(app, key, **fields),)}


def apart(app: str, key: str = HOST, **fields: Any) -> dict[str, Any]:
    return {"pod_anti_affinity": (term(app, key, **fields),)}


def wants(app: str, key: str = HOST) -> dict[str, Any]:
    return {"preferred_pod_affinity": (Preferred(weight=1, pods=term(app, key)),)}


def shuns(app: str, key: str = HOST) -> dict[str, Any]:
    return {"preferred_pod_anti_affinity": (Preferred(weight=1, pods=term(app, key)),)}


def pod(app: str, name: str = "", cpu: str = "100m", **fields: Any) -> Pod:
    made = {"memory": "64Mi", "labels": {"app": app}, **fields}
    return build.pod(name or app, cpu=cpu, **made)


def elsewhere(made: Pod) -> Pod:
    return replace(made, meta=replace(made.meta, namespace="other"))


def here(name: str = "here", zone: str = "zone-a", cpu: str = "4") -> Node:
    return build.node(name, provider_id=name, cpu=cpu, labels_of={ZONE: zone})


def in_zone(*zones: str) -> dict[str, Any]:
    return {"required_node_affinity": (build.needs(build.require(ZONE, "In", *zones)),)}


def shared(small: Small, key: str) -> list[str]:
    """Who shares a domain with whom."""
    solved = small.solve()
    domains: dict[str, list[str]] = {}
    zone_of = {n.meta.name: n.meta.labels[ZONE] for n in small.there if isinstance(n, Node)}
    running = {p.meta.name: p.node_name for p in small.there if isinstance(p, Pod)}
    placed = {p.partition("/")[2]: n for p, n in solved.placements.items()}
    for name, node in {**running, **placed}.items():
        domains.setdefault(zone_of[node] if key == ZONE else node, []).append(name)
    for index, new in enumerate(solved.new_nodes):
        domain = " or ".join(new.zones) if key == ZONE else f"new-{index}"
        domains.setdefault(domain, []).extend(p.partition("/")[2] for p in new.pods)
    stuck = sorted(p.partition("/")[2] for u in solved.unschedulable for p in u.pods)
    return [
        *sorted("+".join(sorted(each)) for each in domains.values()),
        *([f"stuck {'+'.join(stuck)}"] if stuck else []),
    ]
