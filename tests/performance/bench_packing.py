"""How cheap and how fast the packing engine alone is.

Cases: `catalogue-*` are 40 deployments of equal size on the 144 Linux types of families c, m and r, generations 5 to 7,
at list prices; `-mixed` has zone spread, host spread or anti-affinity on 25 of them. `small-*` have a handful of pods;
`large-*` thousands of classes. A case whose name ends in seconds may search for so many seconds of CPU; others take the
engine's own number of steps.
"""

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Final

import numpy as np
from tests.performance import measured
from tests.performance.measured import Benchmark, Line

from daiku.scheduling.packer import pack
from daiku.scheduling.packer.demand import UNLIMITED, Demand, demand

USD_PER_VCPU: Final = {
    "m5": 0.048, "m5a": 0.043, "m6i": 0.048, "m6a": 0.0432, "m7i": 0.0504, "m7a": 0.05796,
    "c5": 0.0425, "c5a": 0.0385, "c6i": 0.0425, "c6a": 0.03825, "c7i": 0.04463, "c7a": 0.05132,
    "r5": 0.063, "r5a": 0.0565, "r6i": 0.063, "r6a": 0.0567, "r7i": 0.06615, "r7a": 0.07608,
}  # fmt: skip
"""On-demand list price of Linux in us-east-1, by family."""
GIB_PER_VCPU: Final = {"c": 2, "m": 4, "r": 8}
POD_LIMITS: Final = {2: 29, 4: 58, 8: 58, 16: 234, 32: 234, 48: 234, 64: 737, 96: 737}
"""Pods by vCPUs, from the number of network interfaces and their addresses."""
CPU_TIERS: Final = ((1000, 0.06), (1000, 0.01), (2000, 0.005), (10**9, 0.0025))
"""Millicores of each tier, and the share of them that the kubelet reserves."""
MEMORY_OVERHEAD: Final = 0.075
EVICTION_MIB: Final = 100
CPUS: Final = (100, 250, 500, 750, 1000, 1500, 2000, 4000)
GIB_PER_CPU: Final = (1, 2, 3, 4, 6, 8)
DEPLOYMENTS: Final = 40
ZONES: Final = 3
SEEDS: Final = (1, 2, 3, 4, 5)
STEPS_IN_BOX: Final = 5000
"""Steps of a search that only the clock ends: after so many hardly anything is found."""


@dataclass(frozen=True)
class Case:
    """One line of output."""

    name: str
    demand: Callable[[], Demand]
    seconds: float | None = None
    """Time box in seconds of CPU; None for the engine's own number of steps."""


def catalogue() -> tuple[np.ndarray, np.ndarray]:
    """Allocatable cpu, memory and pods, shape (3, T), and prices, shape (T,), of the 144 types."""
    rows: list[tuple[int, int, int]] = []
    prices: list[float] = []
    for family, usd in USD_PER_VCPU.items():
        for vcpus, pods in POD_LIMITS.items():
            mib = vcpus * GIB_PER_VCPU[family[0]] * 1024
            reserved = 11 * pods + 255 + EVICTION_MIB
            usable = mib - int(np.ceil(mib * MEMORY_OVERHEAD)) - reserved
            rows.append((vcpus * 1000 - _reserved_millis(vcpus * 1000), usable * 2**20, pods))
            prices.append(usd * vcpus)
    return np.array(rows, dtype=np.int64).T, np.array(prices)


def _reserved_millis(millis: int) -> int:
    reserved = 0
    for tier, share in CPU_TIERS:
        reserved += int(min(millis, tier) * share)
        millis -= min(millis, tier)
    return reserved


def deployments(pods: int, seed: int, *, mixed: bool) -> Demand:
    """40 deployments of equal size; in the mixed case 10 spread over zones, 10 over hosts, 5 are anti-affine."""
    random = np.random.default_rng(seed)
    cpu = random.choice(CPUS, DEPLOYMENTS)
    gib = random.choice(GIB_PER_CPU, DEPLOYMENTS)
    order = random.permutation(DEPLOYMENTS)
    by_zone = set(order[:10].tolist()) if mixed else set()
    by_host = set(order[10:25].tolist()) if mixed else set()
    allocatable, prices = catalogue()
    zones = np.repeat(np.arange(ZONES), len(prices))
    rows: list[tuple[list[int], int, int, np.ndarray]] = []
    for number in range(DEPLOYMENTS):
        request = [int(cpu[number]), int(cpu[number]) * int(gib[number]) * 2**30 // 1000, 1]
        size = pods // DEPLOYMENTS
        if number in by_zone:
            for zone in range(ZONES):
                share = size // ZONES + ((zone - number) % ZONES < size % ZONES)
                rows.append((request, share, UNLIMITED, zones == zone))
        else:
            cap = 1 if number in by_host else UNLIMITED
            rows.append((request, size, cap, np.ones(len(zones), dtype=np.bool_)))
    return demand(
        np.array([request for request, _, _, _ in rows], dtype=np.int64).T,
        np.array([count for _, count, _, _ in rows], dtype=np.int64),
        np.tile(allocatable, ZONES),
        np.tile(prices, ZONES),
        allowed=np.array([allowed for _, _, _, allowed in rows]),
        caps=np.array([cap for _, _, cap, _ in rows], dtype=np.int64),
    )


def equal_pods(count: int) -> Demand:
    """So many pods of 1 CPU and 2 GiB."""
    request = np.array([[1000], [2**31], [1]], dtype=np.int64)
    return demand(request, np.array([count], dtype=np.int64), *catalogue())


def distinct(classes: int, pods: int, *, fake: bool, seed: int = 1) -> Demand:
    """Classes that all differ, on the 144 types or on 400 fake ones whose price is in proportion to their size."""
    random = np.random.default_rng(seed)
    allocatable, prices = catalogue()
    memory_share = 1.0
    if fake:
        size = np.arange(1, 401, dtype=np.int64)
        allocatable = np.array([size * 1000 - 100, size * 2**31 - 10 * 2**20, size * 10])
        prices = size * 0.027
        memory_share = 0.25
    cpu = random.integers(50, 4000, classes)
    memory = (cpu * random.uniform(0.5, 8, classes) * memory_share * 2**20).astype(np.int64)
    counts = random.multinomial(pods, random.dirichlet(np.full(classes, 2.0)))
    requests = np.array([cpu, memory, np.ones(classes, dtype=np.int64)])
    return demand(requests, counts.astype(np.int64), allocatable, prices)


def cases() -> Iterator[Case]:
    """All cases, small ones first."""
    yield Case("small-5-equal", lambda: equal_pods(5))
    yield Case("small-100-equal", lambda: equal_pods(100))
    for pods in (40, 80):
        yield Case(f"small-{pods}", lambda pods=pods: deployments(pods, 1, mixed=False))
    for pods in (2000, 6000):
        for mixed, boxes in ((False, (None, 2.0)), (True, (None, 2.0, 5.0))):
            for box in boxes:
                for seed in SEEDS:
                    yield Case(
                        f"catalogue-{pods}{'-mixed' if mixed else ''}-seed{seed}{f'-{box:.0f}s' if box else ''}",
                        lambda pods=pods, seed=seed, mixed=mixed: deployments(
                            pods, seed, mixed=mixed
                        ),
                        box,
                    )
    yield Case("large-200-classes-4000", lambda: distinct(200, 4000, fake=False))
    yield Case("large-3000-classes-20000", lambda: distinct(3000, 20_000, fake=False))
    yield Case("large-3000-classes-20000-fake400", lambda: distinct(3000, 20_000, fake=True))


def benchmarks() -> Iterator[Benchmark]:
    """All cases as benchmarks."""
    for case in cases():
        yield Benchmark(name=f"packing-{case.name}", lines=lambda case=case: iter([_line(case)]))


def _line(case: Case) -> Line:
    asked = case.demand()
    began = time.perf_counter()
    box, busy = case.seconds, time.thread_time()
    packed = (
        pack.pack(asked)
        if box is None
        else pack.pack(asked, lambda: time.thread_time() > busy + box, steps=STEPS_IN_BOX)
    )
    seconds, cpu = time.perf_counter() - began, time.thread_time() - busy
    return {
        "name": f"packing-{case.name}",
        "seconds": round(seconds, 4),
        "cpu_seconds": round(cpu, 4),
        "nodes": packed.node_count,
        "usd_per_hour": round(packed.usd_per_hour, 4),
        "lower_bound": round(packed.lower_bound_usd_per_hour, 4),
        "gap": round(packed.gap, 5),
        "peak_rss_mb": measured.peak_rss_mb(),
    }
