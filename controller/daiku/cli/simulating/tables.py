"""The results of a simulation as tables and as JSON: one column for each configuration, the first to compare with."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict
from typing import Any, Final

from daiku.cli import figures
from daiku.cli.plan_tables import Table
from daiku.simulation.result import PERCENTILES, Result
from daiku.simulation.scenario import Scenario

Row = tuple[str, Callable[[Result], str]]


def compared(results: Sequence[Result]) -> Table:
    """Every figure, a row each."""
    return Table(
        columns=("", *(each.name for each in results)),
        rows=tuple(
            (title, *(_with_change(of, each, results[0]) for each in results))
            for title, of in _ROWS
        ),
        figures=frozenset(range(1, len(results) + 1)),
    )


def costs(results: Sequence[Result]) -> Table:
    """What was spent on what."""
    keys = sorted({key for each in results for key in each.usd_by_pool})
    return Table(
        columns=("NodePool", "capacity", *(each.name for each in results)),
        rows=tuple(
            (pool, kind, *(_usd(each.usd_by_pool.get((pool, kind), 0.0)) for each in results))
            for pool, kind in keys
        ),
        figures=frozenset(range(2, len(results) + 2)),
    )


def json_of(scenario: Scenario, results: Sequence[Result]) -> dict[str, Any]:
    """Everything, samples too, with stable names."""
    return {
        "scenario": {
            "name": scenario.name,
            "start": scenario.start.isoformat(),
            "hours": scenario.lasts / 3600,
            "seed": scenario.seed,
            "pods": len(scenario.arrivals),
        },
        "results": [_result(each) for each in results],
    }


def _result(result: Result) -> dict[str, Any]:
    return {
        "name": result.name,
        "usd": round(result.usd, 6),
        "usdPerHour": round(result.usd_per_hour, 6),
        "costs": [
            {"nodePool": pool, "capacityType": kind, "usd": round(usd, 6)}
            for (pool, kind), usd in result.usd_by_pool.items()
        ],
        "pods": {
            "bound": result.pods,
            "waitSeconds": {
                **{f"p{p}": round(result.waits[p], 3) for p in PERCENTILES},
                "mean": round(result.waits_mean, 3),
                "max": round(result.waits_most, 3),
            },
            "stillWaiting": result.still_waiting,
            "whyNot": dict(result.why_not),
            "evicted": dict(result.evicted),
            "killed": result.killed,
            "lostHours": round(result.lost_hours, 3),
        },
        "nodes": {
            "mean": round(result.nodes_mean, 3),
            "max": result.nodes_most,
            "launched": result.launched,
            "launchesRefused": result.sold_out,
            "interrupted": result.interrupted,
            "ended": dict(result.nodes_ended),
        },
        "utilisation": {"cpu": round(result.cpu, 4), "memory": round(result.memory, 4)},
        "samples": [asdict(each) for each in result.samples],
    }


def _with_change(of: Callable[[Result], str], result: Result, first: Result) -> str:
    """The figure, and for dollars by how much it differs from the first configuration's."""
    text = of(result)
    if result is first or not text.startswith("$") or not first.usd:
        return text
    return f"{text} ({(result.usd / first.usd - 1) * 100:+.1f} %)"


def _usd(usd: float) -> str:
    return f"${usd:,.2f}"


def _wait(percent: int) -> Row:
    return f"p{percent} of pods wait at most", lambda r: seconds(r.waits[percent])


def seconds(value: float) -> str:
    """A time that people wait."""
    return f"{value:.1f} s" if value < 120 else f"{value / 60:.1f} min"


def _reasons(counts: Mapping[str, int]) -> str:
    listed = ", ".join(f"{count:,} {reason}" for reason, count in counts.items())
    return listed or "none"


_ROWS: Final[tuple[Row, ...]] = (
    ("cost", lambda r: _usd(r.usd)),
    ("cost per month", lambda r: _usd(r.usd_per_hour * figures.HOURS_PER_MONTH)),
    ("cpu requested of what nodes have", lambda r: f"{r.cpu:.1%}"),
    ("memory requested of what nodes have", lambda r: f"{r.memory:.1%}"),
    ("nodes on average", lambda r: f"{r.nodes_mean:.1f}"),
    ("nodes at most", lambda r: f"{r.nodes_most:,}"),
    ("nodes launched", lambda r: f"{r.launched:,}"),
    ("launches refused, sold out", lambda r: f"{r.sold_out:,}"),
    ("spot interruptions", lambda r: f"{r.interrupted:,}"),
    ("nodes given up", lambda r: _reasons(r.nodes_ended)),
    ("pods bound", lambda r: f"{r.pods:,}"),
    *(_wait(percent) for percent in PERCENTILES),
    ("longest wait", lambda r: seconds(r.waits_most)),
    ("pods without a place at the end", lambda r: f"{r.still_waiting:,}"),
    ("pods evicted", lambda r: _reasons(r.evicted)),
    ("pods killed with their node", lambda r: f"{r.killed:,}"),
    ("work done again", lambda r: f"{r.lost_hours:.1f} pod hours"),
)
