"""Placing pending pods on nothing: the peer's mix in several sizes, pods that all differ, preferences, real types.

`catalogue-*` is 40 deployments of equal size on the 144 Linux types of families c, m and r at list prices, the whole
way from pods to named nodes; `-mixed` has zone spread on 10 of them, host spread on 10 and anti-affinity on 5. A name
that ends in seconds has a time box of so many seconds of CPU.
"""

import math
from collections.abc import Iterator, Sequence

import numpy as np
from tests import build
from tests.performance import bench_packing, measured, mixes
from tests.performance.measured import Benchmark, Line

from daiku.model import labels
from daiku.model.instance_type import InstanceType
from daiku.model.pod import Pod
from daiku.model.topology import AffinityTerm, Spread
from daiku.scheduling.preferences import Policy

SIZES = (1000, 5000, 10000, 20000, 100000)
POLICIES: tuple[Policy, ...] = ("Respect", "Ignore")
ZONES = ("zone-a", "zone-b", "zone-c")


def benchmarks() -> Iterator[Benchmark]:
    """All of them, small ones first."""
    for count in SIZES:
        yield _of_peer(f"diverse-{count}", mixes.diverse, count)
    yield _of_peer("distinct-20000", mixes.distinct, 20000)
    for policy in POLICIES:
        name = f"preferences-4000-{policy.lower()}"
        yield _of_peer(name, mixes.preferring, 4000, policy)
    for pods in (2000, 6000):
        for mixed in (False, True):
            for seed in bench_packing.SEEDS:
                yield _of_catalogue(pods, seed, mixed=mixed)
                if mixed:
                    yield _of_catalogue(pods, seed, mixed=True, box=1.0)


def _of_peer(name: str, make: "mixes.Make", count: int, policy: Policy = "Respect") -> Benchmark:
    def lines() -> Iterator[Line]:
        pods = make(count)
        yield measured.solved(name, pods, *mixes.world(pods), policy=policy)

    return Benchmark(name=name, lines=lines)


def _of_catalogue(pods: int, seed: int, *, mixed: bool, box: float = math.inf) -> Benchmark:
    name = f"catalogue-{pods}{'-mixed' if mixed else ''}-seed{seed}"
    name += f"-{box:.0f}s" if box < math.inf else ""

    def lines() -> Iterator[Line]:
        wanted = deployments(pods, seed, mixed=mixed)
        catalogue = build.catalogue(*instance_types())
        cluster = build.cluster(
            *wanted, build.node_pool(), build.node_class(), catalogue_of=catalogue
        )
        snapshot = cluster.snapshot(build.NOW)
        yield measured.solved(name, wanted, snapshot, catalogue, runs=1, box=box)

    return Benchmark(name=name, lines=lines)


def instance_types() -> list[InstanceType]:
    """The 144 types, on demand in three zones."""
    allocatable, prices = bench_packing.catalogue()
    names = [f"{family}.{vcpus}" for family in bench_packing.USD_PER_VCPU for vcpus in _sizes()]
    return [
        build.instance_type(
            name, cpu=f"{cpu}m", memory=str(memory), pods=pods, price=price, zones=ZONES
        )
        for name, (cpu, memory, pods), price in zip(
            names, allocatable.T.tolist(), prices.tolist(), strict=True
        )
    ]


def _sizes() -> Sequence[int]:
    return tuple(bench_packing.POD_LIMITS)


def deployments(pods: int, seed: int, *, mixed: bool) -> list[Pod]:
    """40 deployments of equal size, drawn as for the packing engine alone."""
    random = np.random.default_rng(seed)
    cpus = random.choice(bench_packing.CPUS, bench_packing.DEPLOYMENTS).tolist()
    ratios = random.choice(bench_packing.GIB_PER_CPU, bench_packing.DEPLOYMENTS).tolist()
    order = random.permutation(bench_packing.DEPLOYMENTS).tolist()
    made: list[Pod] = []
    for number, (cpu, ratio) in enumerate(zip(cpus, ratios, strict=True)):
        app = f"app-{number:02d}"
        own = build.needs(build.require("app", "In", app))
        rules: dict[str, object] = {}
        if mixed and number in order[:10]:
            rules["spread"] = (Spread(key=labels.ZONE, max_skew=1, hard=True, selector=own),)
        elif mixed and number in order[10:20]:
            rules["spread"] = (Spread(key=labels.HOSTNAME, max_skew=1, hard=True, selector=own),)
        elif mixed and number in order[20:25]:
            term = AffinityTerm(key=labels.HOSTNAME, selector=own, namespaces=("default",))
            rules["pod_anti_affinity"] = (term,)
        made += build.pods(
            pods // bench_packing.DEPLOYMENTS,
            app,
            cpu=f"{cpu}m",
            memory=str(cpu * ratio * 2**30 // 1000),
            labels={"app": app},
            **rules,
        )
    return made
