"""Every benchmark, one JSON line per case: `make bench`, or `make bench ONLY=beginning-of-a-name`."""

import json
import sys
import time
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))

from tests import build  # noqa: E402
from tests.performance import bench_packing  # noqa: E402

from daiku.scheduling import problem, solver  # noqa: E402
from daiku.scheduling.solution import Solution  # noqa: E402


def solved(deployments: int, pods: int) -> tuple[Solution, float]:
    """Place `pods` pending pods of equal `deployments` on nothing, with the built-in kwok catalogue."""
    from daiku.cloud.kwok import catalogue as kwok  # noqa: PLC0415

    cpus, per_cpu = bench_packing.CPUS, bench_packing.GIB_PER_CPU
    wanted = [
        build.pod(
            f"d{number % deployments}-{number}",
            cpu=f"{cpus[number % deployments % len(cpus)]}m",
            memory=f"{cpus[number % deployments % len(cpus)] * per_cpu[number % deployments % len(per_cpu)]}Mi",
        )
        for number in range(pods)
    ]
    cluster = build.cluster(*wanted, build.node_pool(), build.node_class())
    snapshot = cluster.snapshot(build.NOW)
    types = build.catalogue(*kwok.built_in())
    began = time.perf_counter()
    answer = solver.solve(problem.build(wanted, snapshot, types))
    return answer, time.perf_counter() - began


def lines() -> Iterator[dict[str, object]]:
    """Cases of the whole way from pods to new nodes."""
    for deployments, pods in ((1, 100), (40, 2000), (40, 6000)):
        answer, seconds = solved(deployments, pods)
        bound = answer.lower_bound_usd_per_hour
        yield {
            "name": f"solve-{deployments}-deployments-{pods}-pods",
            "seconds": round(seconds, 3),
            "nodes": len(answer.new_nodes),
            "usd_per_hour": round(answer.usd_per_hour, 4),
            "lower_bound": round(bound, 4),
            "gap": round(answer.usd_per_hour / bound - 1, 5),
        }


def main(only: str = "") -> None:
    """Print the lines of the cases whose name begins with `only`."""
    if "solve".startswith(only) or only.startswith("solve"):
        for line in lines():
            if str(line["name"]).startswith(only):
                print(json.dumps(line), flush=True)  # noqa: T201
    if "packing".startswith(only) or only.startswith("packing"):
        bench_packing.main(only.removeprefix("packing").removeprefix("-"))


if __name__ == "__main__":
    main(*sys.argv[1:2])
