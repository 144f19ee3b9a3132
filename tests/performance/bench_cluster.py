"""A large cluster that is there already: how long it takes to see it, to see it change, and to ask "what if".

`snapshot-5000` is 5,000 nodes with 100,000 pods: objects that have been decoded become a belief, a snapshot and a
problem; then one pod comes, without a node or with one, and another snapshot and problem are made. `what-if-1000` is
1,000 nodes with 10,000 pods: one node after the other is taken away and its pods are placed elsewhere.
"""

import time
from collections.abc import Iterator, Sequence
from dataclasses import replace

from tests import build
from tests.performance import measured, mixes
from tests.performance.measured import Benchmark, Line

from daiku import events
from daiku.events import Object
from daiku.model import labels
from daiku.model.pod import Pod
from daiku.scheduling import problem, whatif
from daiku.settings import Settings
from daiku.state.cluster import KINDS, Cluster

TYPES = ("c-4x", "c-8x", "c-16x")
CPUS = (4, 8, 16)
ZONES = ("zone-a", "zone-b")


def benchmarks() -> Iterator[Benchmark]:
    """All of them."""
    yield Benchmark(name="what-if-1000", lines=_what_if)
    yield Benchmark(name="snapshot-5000", lines=_snapshot)


def objects(nodes: int, pods_each: int) -> list[Object]:
    """Nodes of three sizes with their claims, and on each so many pods of 40 deployments, some spread over zones."""
    made: list[Object] = [build.node_pool(), build.node_class()]
    spread = [
        (mixes.spread_over(labels.ZONE, "app", f"app-{number:02d}") if number % 4 == 0 else ())
        for number in range(40)
    ]
    for number in range(nodes):
        size = number % len(TYPES)
        claim = build.node_claim(
            f"default-{number:05d}",
            cpu=str(CPUS[size]),
            memory=f"{2 * CPUS[size]}Gi",
            instance_type=TYPES[size],
            zone=ZONES[number % len(ZONES)],
        )
        node = build.node(claim=claim)
        made += [claim, node]
        for position in range(pods_each):
            app = (number * 7 + position) % 40
            made.append(
                build.pod(
                    f"app-{app:02d}-{number:05d}-{position:02d}",
                    cpu=f"{CPUS[size] * 900 // pods_each}m",
                    memory="256Mi",
                    node=node.meta.name,
                    labels={"app": f"app-{app:02d}", "pod-template-hash": f"{app:08x}"},
                    spread=spread[app],
                )
            )
    return made


def _pending(name: str) -> Pod:
    spread = mixes.spread_over(labels.ZONE, "app", "app-00")
    return build.pod(name, cpu="250m", memory="256Mi", labels={"app": "app-00"}, spread=spread)


def _believed(known: Sequence[Object]) -> Cluster:
    cluster = Cluster(Settings())
    for each in known:
        cluster.apply(events.Seen(each))
    for kind in KINDS:
        keys = frozenset(o.meta.key for o in known if isinstance(o, kind))
        cluster.apply(events.Listed(kind, keys))
    cluster.apply(events.CatalogueRefreshed(build.catalogue()))
    return cluster


def _snapshot() -> Iterator[Line]:
    known = [*objects(5000, 20), _pending("first")]
    began, busy = time.perf_counter(), time.thread_time()
    cluster = _believed(known)
    applied = time.perf_counter()
    seen = cluster.snapshot(build.NOW)
    taken = time.perf_counter()
    problem.build(seen.waiting, seen, cluster.catalogue)
    ended, busy = time.perf_counter(), time.thread_time() - busy
    yield {
        "name": "snapshot-5000-build",
        "seconds": round(ended - began, 3),
        "cpu_seconds": round(busy, 3),
        "apply_seconds": round(applied - began, 3),
        "snapshot_seconds": round(taken - applied, 3),
        "problem_seconds": round(ended - taken, 3),
        "peak_rss_mb": measured.peak_rss_mb(),
    }
    yield _changes(cluster, "pending", "")
    yield _changes(cluster, "bound", "node-default-00007")


def _changes(cluster: Cluster, name: str, node: str) -> Line:
    """Ten pods come, one after the other; what the middle one of them costs."""
    costs: list[tuple[float, float, float]] = []
    cpu: list[float] = []
    for number in range(10):
        came = replace(_pending(f"{name}-{number}"), node_name=node)
        began, busy = time.perf_counter(), time.thread_time()
        cluster.apply(events.Seen(came))
        seen = cluster.snapshot(build.NOW)
        taken = time.perf_counter()
        problem.build(seen.waiting, seen, cluster.catalogue)
        ended = time.perf_counter()
        cpu.append(time.thread_time() - busy)
        costs.append((ended - began, taken - began, ended - taken))
    whole, snapshot, built = sorted(costs)[len(costs) // 2]
    return {
        "name": f"snapshot-5000-{name}",
        "seconds": round(whole, 4),
        "cpu_seconds": round(sorted(cpu)[len(cpu) // 2], 4),
        "snapshot_seconds": round(snapshot, 4),
        "problem_seconds": round(built, 4),
        "peak_rss_mb": measured.peak_rss_mb(),
    }


def _what_if() -> Iterator[Line]:
    cluster = _believed(objects(1000, 10))
    seen = cluster.snapshot(build.NOW)
    began = time.perf_counter()
    world = whatif.prepare(seen, cluster.catalogue, Settings(), {})
    prepared = time.perf_counter() - began
    costs: list[tuple[float, float]] = []
    for gone in [s.name for s in seen.state_nodes][::20]:
        began, busy = time.perf_counter(), time.thread_time()
        world.without(frozenset({gone}), new_nodes_most=1)
        costs.append((time.perf_counter() - began, time.thread_time() - busy))
    yield {
        "name": "what-if-1000",
        "seconds": round(sorted(each for each, _ in costs)[len(costs) // 2], 4),
        "cpu_seconds": round(sorted(each for _, each in costs)[len(costs) // 2], 4),
        "seconds_most": round(max(each for each, _ in costs), 4),
        "prepare_seconds": round(prepared, 3),
        "peak_rss_mb": measured.peak_rss_mb(),
    }
