"""One benchmark: its name, what it runs, and what a solve comes to as a line of output."""

import gc
import math
import resource
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

from tests import build

from daiku import commands
from daiku.model.instance_type import Catalogue
from daiku.model.pod import Pod
from daiku.scheduling import audit, claims, problem, solver
from daiku.scheduling.preferences import Policy
from daiku.scheduling.solution import Solution
from daiku.settings import Settings
from daiku.state.snapshot import Snapshot

Line = dict[str, Any]
"""name, seconds, nodes, usd_per_hour, lower_bound, peak_rss_mb, audit, and what else a benchmark has to say."""
_T = TypeVar("_T")


@dataclass(frozen=True, kw_only=True)
class Benchmark:
    """Something to measure in a process of its own."""

    name: str
    lines: Callable[[], Iterator[Line]]
    """What it prints; most print one line."""


def best(runs: int, work: Callable[[], _T]) -> tuple[_T, float, float]:
    """What `work` gives, and seconds of the clock and of this thread's CPU: the least of so many runs of each."""
    seconds: list[float] = []
    cpu: list[float] = []
    while True:
        gc.collect()
        began, busy = time.perf_counter(), time.thread_time()
        answer = work()
        cpu.append(time.thread_time() - busy)
        seconds.append(time.perf_counter() - began)
        if len(seconds) == runs:
            return answer, min(seconds), min(cpu)
        del answer


def peak_rss_mb() -> int:
    """The most memory that this process has had so far, in MiB."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024


def solved(
    name: str,
    pods: Sequence[Pod],
    snapshot: Snapshot,
    catalogue: Catalogue,
    *,
    runs: int = 3,
    policy: Policy = "Respect",
    box: float = math.inf,
) -> Line:
    """Build the problem of placing `pods` and solve it within `box` seconds of CPU; the line says what came of it."""

    def work() -> Solution:
        ends = time.thread_time() + box
        asked = problem.build(pods, snapshot, catalogue, preference_policy=policy)
        return solver.solve(asked, stop=lambda: time.thread_time() >= ends)

    answer, seconds, cpu = best(runs, work)
    bound = answer.lower_bound_usd_per_hour
    line: Line = {
        "name": name,
        "seconds": round(seconds, 3),
        "nodes": len(answer.new_nodes),
        "usd_per_hour": round(answer.usd_per_hour, 4),
        "lower_bound": round(bound, 4),
        "peak_rss_mb": peak_rss_mb(),
        "cpu_seconds": round(cpu, 3),
        "gap": round(answer.usd_per_hour / bound - 1, 5) if bound else 0,
        "unschedulable": sum(len(each.pods) for each in answer.unschedulable),
    }
    return line | {"audit": objections(answer, snapshot, catalogue)}


def objections(answer: Solution, snapshot: Snapshot, catalogue: Catalogue) -> int:
    """How many rules the audit finds broken."""
    settings = Settings()
    given = {ref: claims.given_labels(types) for ref, types in catalogue.instance_types.items()}
    made = dict[str, commands.CreateNodeClaim]()
    for ordinal, node in enumerate(answer.new_nodes):
        ref = node.pool.template.node_class
        types = catalogue.instance_types[ref]
        creation = claims.create(
            node, types, settings, build.NOW, given=given[ref], taken=made, purpose=str(ordinal)
        )
        made[creation.node_claim.meta.name] = creation
    of_new = {pod: name for name, each in made.items() for pod in each.pods}
    placements = {**answer.placements, **of_new}
    return len(audit.audit(tuple(made.values()), placements, snapshot, catalogue))
