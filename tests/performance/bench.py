"""Every benchmark, one JSON line per figure: `make bench`, or `make bench ONLY=beginning-of-a-name`.

Each benchmark runs in a process of its own, so that its memory is its own. What goes on is said on standard error.
"""

import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))

from tests.performance import (  # noqa: E402
    bench_aws,
    bench_cluster,
    bench_commands,
    bench_controller,
    bench_disruption,
    bench_packing,
    bench_peer,
    bench_solve,
    bench_stream,
)
from tests.performance.measured import Benchmark  # noqa: E402

from daiku.runtime import garbage  # noqa: E402
from daiku_local import interruption  # noqa: E402

ALONE = "--alone"
"""First argument of a process that measures one benchmark itself."""


def benchmarks() -> Iterator[Benchmark]:
    """All of them, in the order in which they run; with `PEER` set, those that measure Karpenter beside Daiku."""
    if os.environ.get("PEER"):
        yield from bench_peer.benchmarks()
        return
    yield from bench_solve.benchmarks()
    yield from bench_cluster.benchmarks()
    yield from bench_packing.benchmarks()
    yield from bench_disruption.benchmarks()
    yield from bench_aws.benchmarks()
    yield from bench_controller.benchmarks()
    yield from bench_stream.benchmarks()
    yield from bench_commands.benchmarks()


def main(only: str = "") -> int:
    """Run the benchmarks whose name begins with `only`; 1 when there is none or one broke."""
    interruption.end_in_order()
    chosen = [each for each in benchmarks() if each.name.startswith(only)]
    if not chosen:
        names = ", ".join(each.name for each in benchmarks())
        print(f"no benchmark begins with {only!r}; there are {names}", file=sys.stderr)  # noqa: T201
    broken = 0
    for number, each in enumerate(chosen, 1):
        began = time.perf_counter()
        print(f"[{number}/{len(chosen)}] {each.name} ...", end="", file=sys.stderr, flush=True)  # noqa: T201
        child = [sys.executable, str(Path(__file__).resolve()), ALONE, each.name]
        done = interruption.run(child, output=subprocess.PIPE)
        print(f" {time.perf_counter() - began:.1f} s", file=sys.stderr)  # noqa: T201
        print(done.stdout, end="", flush=True)  # noqa: T201
        broken += done.returncode != 0
    return 0 if chosen and not broken else 1


def alone(name: str) -> int:
    """Measure the benchmark called `name` here and print its lines."""
    garbage.collect_rarely()  # as the program does
    for line in next(each for each in benchmarks() if each.name == name).lines():
        print(json.dumps(line), flush=True)  # noqa: T201 - the result
    return 0


if __name__ == "__main__":
    asked = sys.argv[1:]
    sys.exit(alone(asked[1]) if asked[:1] == [ALONE] else main(*asked[:1]))
