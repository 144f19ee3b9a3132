"""How long it takes to place the peer's own benchmark mix, and what the nodes cost.

    python tests/performance/bench_diverse.py [PODS...]

Five fifths: plain pods, spread over zones, spread over hosts, together in a zone, alone on a host. Labels, selectors,
cpu and memory are drawn as in Karpenter's scheduling_benchmark_test.go; 400 instance types, each one cpu larger than
the last.
Prints one line of JSON for each size.
"""

import gc
import json
import random
import resource
import sys
import time
from functools import cache

from tests import build

from daiku.model import labels
from daiku.model.instance_type import InstanceType
from daiku.model.pod import Pod
from daiku.model.requirements import Requirements
from daiku.model.topology import AffinityTerm, Spread
from daiku.scheduling import problem, solver
from daiku.scheduling.solution import Solution
from daiku.state.snapshot import Snapshot

SIZES = (1000, 5000, 10000, 20000, 100000)
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
def _spread(key: str, value: str) -> tuple[Spread, ...]:
    return (Spread(key=key, max_skew=1, hard=True, selector=_selector("my-label", value)),)


@cache
def _term(key: str, value: str) -> tuple[AffinityTerm, ...]:
    own = _selector("my-affinity", value)
    return (AffinityTerm(key=key, selector=own, namespaces=("default",)),)


@cache
def _anti(key: str) -> tuple[AffinityTerm, ...]:
    alone = _selector("app", "nginx")
    return (AffinityTerm(key=key, selector=alone, namespaces=("default",)),)


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
                fields = {"spread": _spread(labels.ZONE, value())}
            elif kind == "host-spread":
                fields = {"spread": _spread(labels.HOSTNAME, value())}
            elif kind == "together":
                chosen = value()
                own = {"my-affinity": chosen}
                fields = {"pod_affinity": _term(labels.ZONE, chosen)}
            elif kind == "alone":
                own = {"app": "nginx"}
                fields = {"pod_anti_affinity": _anti(labels.HOSTNAME)}
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


def world(pods: list[Pod], types: list[InstanceType]) -> tuple[Snapshot, "build.Catalogue"]:
    """A cluster with nothing but one NodePool."""
    catalogue = build.catalogue(*types)
    pool = build.node_pool(limits={"cpu": "10000000", "memory": "10000000Gi"})
    snapshot = build.cluster(*pods, pool, build.node_class(), catalogue_of=catalogue).snapshot(
        build.NOW
    )
    return snapshot, catalogue


def solve(pods: list[Pod], snapshot: Snapshot, catalogue: "build.Catalogue") -> Solution:
    """Build the problem and solve it."""
    return solver.solve(problem.build(pods, snapshot, catalogue))


def main() -> None:
    """Print a line for each size."""
    types = instance_types()
    for count in [int(a) for a in sys.argv[1:]] or SIZES:
        pods = diverse(count)
        snapshot, catalogue = world(pods, types)
        best = float("inf")
        solved = Solution()
        for _ in range(3):
            gc.collect()
            began = time.perf_counter()
            solved = solve(pods, snapshot, catalogue)
            best = min(best, time.perf_counter() - began)
        line = {
            "name": f"diverse-{count}",
            "seconds": round(best, 3),
            "nodes": len(solved.new_nodes),
            "usd_per_hour": round(solved.usd_per_hour, 2),
            "lower_bound": round(solved.lower_bound_usd_per_hour, 2),
            "unschedulable": sum(len(u.pods) for u in solved.unschedulable),
            "peak_rss_mb": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024,
        }
        print(json.dumps(line), flush=True)  # noqa: T201 - the result


if __name__ == "__main__":
    main()
