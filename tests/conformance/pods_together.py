"""What kube-scheduler lets pods ask of each other, as the audit reads it, on clusters small enough to count by hand.

Sources: kubernetes.io/docs/concepts/scheduling-eviction/topology-spread-constraints (the examples of 3+1 nodes in two
zones), .../assign-pod-node (affinity, anti-affinity and the first pod of a group); kube-scheduler's
podtopologyspread, interpodaffinity and nodeports.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from tests import build
from tests.build import NOW

from daiku.model import labels
from daiku.model.node import Node
from daiku.model.pod import Pod
from daiku.model.requirements import NO_REQUIREMENTS, Requirements
from daiku.model.topology import AffinityTerm, Spread
from daiku.scheduling import audit

FOO = Requirements.from_labels({"foo": "bar"})
ZONES = {"node1": "A", "node2": "A", "node3": "B", "node4": "B"}
"""The cluster of the documentation."""
EVERY = "0.0.0.0"  # noqa: S104 - compared, not bound


def nodes(zones: Mapping[str, str] = ZONES, **more: Any) -> list[Node]:
    return [
        build.node(n, labels_of={labels.ZONE: z} if z else {}, cpu="100", provider_id=n, **more)
        for n, z in zones.items()
    ]


@dataclass(frozen=True, kw_only=True)
class Case:
    """Pods that are there, pods that come, and where."""

    coming: Sequence[tuple[str, Pod]]
    there: Sequence[tuple[str, Pod]] = ()
    cluster: Sequence[Node] = tuple(nodes())

    def rules(self) -> list[str]:
        bound = [
            replace(p, meta=replace(p.meta, name=f"there-{i}"), node_name=n, unschedulable=False)
            for i, (n, p) in enumerate(self.there)
        ]
        waiting = [
            replace(p, meta=replace(p.meta, name=f"coming-{i}"))
            for i, (_, p) in enumerate(self.coming)
        ]
        world = build.cluster(*self.cluster, *bound, *waiting)
        placements = {p.meta.key: n for (n, _), p in zip(self.coming, waiting, strict=True)}
        found = audit.audit([], placements, world.snapshot(NOW), world.catalogue)
        return sorted({v.rule for v in found})


def foo(namespace: str = "default", **fields: Any) -> Pod:
    made = build.pod("foo", cpu="10m", memory="1Mi", labels={"foo": "bar"}, **fields)
    return replace(made, meta=replace(made.meta, namespace=namespace))


def other(**fields: Any) -> Pod:
    return build.pod("other", cpu="10m", memory="1Mi", labels={"foo": "else"}, **fields)


def spread(key: str = labels.ZONE, **fields: Any) -> Spread:
    return Spread(**{"key": key, "max_skew": 1, "hard": True, "selector": FOO, **fields})


def near(key: str = labels.ZONE, **fields: Any) -> AffinityTerm:
    return AffinityTerm(**{"key": key, "selector": FOO, "namespaces": ("default",), **fields})


ANYWHERE: dict[str, Any] = {"namespaces": (), "namespace_selector": NO_REQUIREMENTS}
