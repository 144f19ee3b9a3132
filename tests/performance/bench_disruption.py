"""What nodes that run could become: one what-if, a sweep over all of them, and a repack plan of everything.

The cluster: 26,000 pods of 40 deployments were packed onto types of at most 32 vCPUs, and 36 % of them are left, at
random: about 1,200 nodes with 9,400 pods. `scaled-2000` is 2,000 pods on types of any size, of which 30 % are left, as
ReplicaSets choose them: pods of nodes that hold most of their kind go first.

`scaled-2000-by-node` is the same with `daiku.dev/scale-in-by-node`: pods of one node go before those of the next.

`moves_least` is what no plan can go below at 3 % over the bound: pods that stay keep their nodes, and together these
may not cost more than that. It is a knapsack of nodes by pods per dollar, fractions allowed. `-stepping` is what the
peer's way comes to on the same nodes, beside the least moves of any plan that costs no more.
"""

import random
import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import timedelta
from functools import cache
from typing import Final

from tests import build
from tests.performance import bench_solve, measured, stepping
from tests.performance.measured import Benchmark, Line

from daiku import commands, events, tick
from daiku.disruption import global_consolidation, scale_in
from daiku.disruption.sequencing import Movable
from daiku.model.instance_type import Catalogue
from daiku.model.pod import Pod
from daiku.runtime.loop import LOOK_EVERY
from daiku.scheduling import problem, solver, whatif
from daiku.scheduling.whatif import WhatIf
from daiku.settings import Settings
from daiku.state.snapshot import Snapshot

STEADY: Final = timedelta(minutes=10)
"""How long a cluster with nothing to gain is watched."""
MOVE_USD_PER_HOUR = (0.0, 0.01, 0.02, 0.1, 0.14)
"""What moving a pod costs over the horizon; a pod of the mix costs about 0.06."""


def benchmarks() -> Iterator[Benchmark]:
    """All of them."""
    yield Benchmark(name="whatif-1200", lines=_whatif)
    big, scaled = (26_000, 0.36, 32, 7, False), (2000, 0.3, 96, 7, True)
    yield Benchmark(name="repack-1200", lines=lambda: _repack("repack-1200", *cluster(*big)))
    yield Benchmark(name="steady-8000", lines=_steady)
    yield Benchmark(name="scaled-2000", lines=lambda: _repack("scaled-2000", *cluster(*scaled)))
    name = "scaled-2000-by-node"
    yield Benchmark(name=name, lines=lambda: _repack(name, *cluster(*scaled, by_node=True)))


@cache
def cluster(
    pods: int,
    left: float,
    vcpus_most: int,
    seed: int = 7,
    by_rank: bool = False,
    *,
    by_node: bool = False,
) -> tuple[Snapshot, Catalogue]:
    """A cluster that was packed well, and then lost all but a share of `left` of its pods.

    Args:
        pods: How many there were.
        left: Share of them that is left.
        vcpus_most: Size of the largest instance types.
        seed: Of everything that is random.
        by_rank: Whether those go that a ReplicaSet would choose, instead of any.
        by_node: Whether it was told what pods on each node cost.
    """
    chance = random.Random(seed)
    catalogue = build.catalogue(*bench_solve.instance_types())
    kinds = {
        t.name: t
        for t in bench_solve.instance_types()
        if int(t.name.rpartition(".")[2]) <= vcpus_most
    }
    wanted = bench_solve.deployments(pods, seed, mixed=False)
    pools = [build.node_pool(), build.node_class()]
    smaller = build.catalogue(*kinds.values())
    empty = build.cluster(*wanted, *pools, catalogue_of=smaller).snapshot(build.NOW)
    solved = solver.solve(problem.build(wanted, empty, smaller))
    by_key = {pod.meta.key: pod for pod in wanted}
    place = {key: number for number, node in enumerate(solved.new_nodes) for key in node.pods}
    costs = [scale_in.cost_on(f"node-c{n:04d}") * by_node for n in range(len(solved.new_nodes))]
    staying = _by_rank(wanted, place, costs, left, chance) if by_rank else None
    objects = [*pools]
    for number, node in enumerate(solved.new_nodes):
        kind = kinds[node.types[0].name]
        claim = build.node_claim(
            f"c{number:04d}", instance_type=kind.name, zone=node.zones[0], capacity_type="on-demand"
        )
        claim = replace(claim, capacity=kind.capacity, allocatable=kind.allocatable)
        machine = build.node(claim=claim)
        objects += [claim, machine]
        objects += [
            replace(by_key[key], node_name=machine.meta.name, phase="Running", unschedulable=False)
            for key in node.pods
            if (key in staying if staying is not None else chance.random() < left)
        ]
    return build.cluster(*objects, catalogue_of=catalogue).snapshot(build.NOW), catalogue


def _by_rank(
    pods: Sequence[Pod],
    place: Mapping[str, int],
    costs: Sequence[int],
    left: float,
    chance: random.Random,
) -> frozenset[str]:
    """Pods that a ReplicaSet keeps when it is scaled down.

    Source: kube-controller-manager's choice of pods: those of the least deletion cost first, which is that of their
    node, then doubled up on a node first; ties fall by the pods' uids.
    """
    kinds: dict[tuple[tuple[str, str], ...], list[str]] = {}
    for pod in pods:
        kinds.setdefault(tuple(sorted(pod.meta.labels.items())), []).append(pod.meta.key)
    kept: list[str] = []
    for keys in kinds.values():
        beside = Counter(place[key] for key in keys)
        keys.sort(key=lambda key: (-costs[place[key]], beside[place[key]], chance.random()))
        kept += keys[: round(len(keys) * left)]
    return frozenset(kept)


def _moves_least(world: WhatIf, usd_per_hour: float) -> int:
    """Pods that must move when all nodes together may cost so much."""
    names = sorted(
        world.usd_per_hour, key=lambda n: -len(world.pods_on(n)) / max(world.usd_per_hour[n], 1e-9)
    )
    moving = float(sum(len(world.pods_on(name)) for name in names))
    for name in names:
        share = min(1.0, max(usd_per_hour, 0.0) / max(world.usd_per_hour[name], 1e-9))
        moving -= share * len(world.pods_on(name))
        usd_per_hour -= world.usd_per_hour[name]
    return round(moving)


def _world(snapshot: Snapshot, catalogue: Catalogue) -> WhatIf:
    return whatif.prepare(snapshot, catalogue, Settings(), {})


def _whatif() -> Iterator[Line]:
    snapshot, catalogue = cluster(26_000, 0.36, 32)
    began = time.perf_counter()
    world = _world(snapshot, catalogue)
    prepared = time.perf_counter() - began
    names = [s.name for s in snapshot.state_nodes]
    began = time.perf_counter()
    outcomes = [
        world.without(frozenset({n}), new_nodes_most=1, below_usd_per_hour=world.usd_per_hour[n])
        for n in names
    ]
    seconds = time.perf_counter() - began
    yield {
        "name": "whatif-1200",
        "seconds": round(seconds / len(names), 6),
        "prepared_seconds": round(prepared, 3),
        "sweep_seconds": round(seconds, 3),
        "nodes": len(names),
        "could_go": sum(1 for o in outcomes if o.refusal is None),
        "peak_rss_mb": measured.peak_rss_mb(),
    }


def _steady() -> Iterator[Line]:
    """Decide for ten minutes of simulated time about a cluster that is full; nothing that is written comes back."""
    # Of most seeds one of the nodes could be a little cheaper, and would be replaced.
    snapshot, catalogue = cluster(8000, 1.0, 32, seed=10)
    objects: list[events.Object] = [build.node_pool(), build.node_class()]
    for state_node in snapshot.state_nodes:
        objects += [half for half in (state_node.claim, state_node.node) if half is not None]
        objects += [replace(pod, scheduled=build.NOW - STEADY) for pod in state_node.pods]
    known = build.cluster(*objects, catalogue_of=catalogue)
    now = build.NOW + timedelta(hours=1)
    ends = now + STEADY
    evictions = ticks = 0
    began = time.process_time()
    while now < ends:
        plan = tick.tick(known.snapshot(now), known.catalogue, Settings(), now)
        for command in plan.commands:
            evictions += isinstance(command, commands.Evict | commands.DeleteNodeClaim)
            known.begin(command, now)
            known.apply(events.Done(command, now))
        known.planned(plan.report, now)
        ticks += 1
        now = max(min(plan.wake_at or ends, now + LOOK_EVERY), now + timedelta(seconds=1))
    seconds = time.process_time() - began
    yield {
        "name": "steady-8000",
        "nodes": len(snapshot.state_nodes),
        "ticks": ticks,
        "cpu_seconds": round(seconds, 1),
        "cores": round(seconds / STEADY.total_seconds(), 4),
        "evictions": evictions,
        "peak_rss_mb": measured.peak_rss_mb(),
    }


def _stepping(name: str, world: WhatIf) -> Line:
    there = stepping.cluster(world)
    began = time.perf_counter()
    there.settle()
    usd_per_hour = float(there.usd_per_hour.sum())
    return {
        "name": f"{name}-stepping",
        "seconds": round(time.perf_counter() - began, 3),
        "usd_per_hour": round(usd_per_hour, 4),
        "gap": round(usd_per_hour / world.bound().usd_per_hour - 1, 5),
        "evictions": there.evictions,
        "moves_least": _moves_least(world, usd_per_hour),
        "steps": there.commands,
        "new_nodes": there.launched,
    }


def _repack(name: str, snapshot: Snapshot, catalogue: Catalogue) -> Iterator[Line]:
    world = _world(snapshot, catalogue)
    yield _stepping(name, world)
    for usd in MOVE_USD_PER_HOUR:
        movable = [
            Movable(
                name=node,
                pool="default",
                usd_per_hour=price,
                moving_usd_per_hour=usd * len(world.pods_on(node)),
            )
            for node, price in sorted(world.usd_per_hour.items())
        ]
        for box in (None, 5.0):
            began = time.perf_counter()
            ends = began + (box or 0.0)
            found = (
                global_consolidation.search(world, movable, tries=0)
                if box is None
                else global_consolidation.search(
                    world, movable, tries=10**6, stop=lambda ends=ends: time.perf_counter() > ends
                )
            )
            yield {
                "name": f"{name}-move-{usd}-{'first' if box is None else '5s'}",
                "seconds": round(time.perf_counter() - began, 3),
                "nodes": len(movable),
                "usd_per_hour": round(found.figures.usd_per_hour_after, 4),
                "lower_bound": round(found.figures.lower_bound_usd_per_hour, 4),
                "gap": round(
                    found.figures.usd_per_hour_after / found.figures.lower_bound_usd_per_hour - 1, 5
                ),
                "evictions": found.figures.moved,
                "moves_least": _moves_least(world, 1.03 * found.figures.lower_bound_usd_per_hour),
                "pods": sum(len(s.pods) for s in snapshot.state_nodes),
                "steps": len(found.steps),
                "new_nodes": sum(len(step.launched) for step in found.steps),
                "peak_rss_mb": measured.peak_rss_mb(),
            }
