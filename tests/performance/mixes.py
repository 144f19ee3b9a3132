"""Pods and instance types of the peer's own benchmarks, drawn as in its scheduling_benchmark_test.go.

The mix has five fifths: spread over zones, spread over hosts, together in a zone, alone on a host, and plain pods.
There are 400 instance types, each one cpu larger than the last.
"""

import random
from collections.abc import Callable
from dataclasses import replace
from functools import cache

from tests import build

from daiku.model import labels
from daiku.model.instance_type import Catalogue, InstanceType
from daiku.model.pod import Pod
from daiku.model.requirements import Requirements
from daiku.model.topology import AffinityTerm, Preferred, Spread
from daiku.state.snapshot import Snapshot

Make = Callable[[int], list[Pod]]

SEED = 42
CPUS = ("100m", "250m", "500m", "1000m", "1500m")
MEMORIES = ("100Mi", "256Mi", "512Mi", "1024Mi", "2048Mi", "4096Mi")
VALUES = "abcdefg"
ZONES = ("test-zone-1", "test-zone-2", "test-zone-3")


def instance_types(count: int = 400) -> list[InstanceType]:
    """Types of 1 to `count` cpus, 2 GiB and 10 pods for each."""
    kept = {"cpu": "100m", "memory": "10Mi"}
    made: list[InstanceType] = []
    for cpu in range(1, count + 1):
        price = cpu * 0.025 + cpu * 2 * 2**30 / 1e9 * 0.001
        sold = [
            build.offering(price, zone, capacity_type)
            for zone, capacity_type in (
                (ZONES[0], "spot"),
                (ZONES[1], "spot"),
                (ZONES[0], "on-demand"),
                (ZONES[1], "on-demand"),
                (ZONES[2], "on-demand"),
            )
        ]
        made.append(
            build.instance_type(
                f"fake-it-{cpu - 1}",
                cpu=str(cpu),
                memory=f"{2 * cpu}Gi",
                pods=10 * cpu,
                overhead=kept,
                offerings=sold,
            )
        )
    return made


@cache
def _selector(key: str, value: str) -> Requirements:
    return build.needs(build.require(key, "In", value))


@cache
def spread_over(key: str, label: str, value: str) -> tuple[Spread, ...]:
    """Pods with this label, one more at most in a domain of `key` than in any other."""
    return (Spread(key=key, max_skew=1, hard=True, selector=_selector(label, value)),)


@cache
def _term(key: str, label: str, value: str) -> AffinityTerm:
    return AffinityTerm(key=key, selector=_selector(label, value), namespaces=("default",))


@cache
def _terms(key: str, label: str, value: str) -> tuple[AffinityTerm, ...]:
    return (_term(key, label, value),)


def diverse(count: int, seed: int = SEED) -> list[Pod]:
    """`count` pods of the mix."""
    chance = random.Random(seed)
    pods: list[Pod] = []

    def value() -> str:
        return chance.choice(VALUES)

    def add(kind: str, number: int) -> None:
        for _ in range(number):
            own, fields = {"my-label": value()}, {}
            if kind == "zone-spread":
                fields = {"spread": spread_over(labels.ZONE, "my-label", value())}
            elif kind == "host-spread":
                fields = {"spread": spread_over(labels.HOSTNAME, "my-label", value())}
            elif kind == "together":
                chosen = value()
                own = {"my-affinity": chosen}
                fields = {"pod_affinity": _terms(labels.ZONE, "my-affinity", chosen)}
            elif kind == "alone":
                own = {"app": "nginx"}
                fields = {"pod_anti_affinity": _terms(labels.HOSTNAME, "app", "nginx")}
            pods.append(
                build.pod(
                    f"{kind}-{len(pods):06d}",
                    cpu=chance.choice(CPUS),
                    memory=chance.choice(MEMORIES),
                    labels=own,
                    **fields,
                )
            )

    fifth = count // 5
    for kind in ("zone-spread", "host-spread", "together", "alone"):
        add(kind, fifth)
    add("generic", count - 4 * fifth)
    return pods


def distinct(count: int, seed: int = SEED) -> list[Pod]:
    """The mix, each pod a little larger than drawn, by an amount that no other pod has."""
    chance = random.Random(seed + 1)
    made: list[Pod] = []
    for number, pod in enumerate(diverse(count, seed)):
        asked = dict(pod.requests)
        asked["cpu"] += chance.randrange(90)
        asked["memory"] += chance.randrange(70) * 2**20 + number * 1024
        made.append(replace(pod, requests=asked))
    return made


def preferring(count: int) -> list[Pod]:
    """Equal pods that prefer a zone, to be alone on their host, and to be alone in their zone, which most cannot be."""
    zone = Preferred(weight=1, node=_selector(labels.ZONE, ZONES[0]))
    wishes = (
        Preferred(weight=10, pods=_term(labels.ZONE, "app", "nginx")),
        Preferred(weight=1, pods=_term(labels.HOSTNAME, "app", "nginx")),
    )
    return build.pods(
        count,
        "prefers",
        cpu=CPUS[1],
        memory=MEMORIES[1],
        labels={"app": "nginx"},
        preferred_node_affinity=(zone,),
        preferred_pod_anti_affinity=wishes,
    )


def world(pods: list[Pod]) -> tuple[Snapshot, Catalogue]:
    """A cluster with nothing but one NodePool, and the 400 types."""
    catalogue = build.catalogue(*instance_types())
    pool = build.node_pool(limits={"cpu": "10000000", "memory": "10000000Gi"})
    snapshot = build.cluster(*pods, pool, build.node_class(), catalogue_of=catalogue).snapshot(
        build.NOW
    )
    return snapshot, catalogue
