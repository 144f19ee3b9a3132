"""The tables of a plan, in words and figures, for whatever writes them: a terminal or a pull request."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from daiku.cli import figures, wording
from daiku.comparison import Comparison, PoolChange
from daiku.forecast import Forecast
from daiku.model import resources, units
from daiku.report import Unschedulable

NO_POOL: Final = "(no NodePool)"


@dataclass(frozen=True, slots=True, kw_only=True)
class Table:
    """Rows of text under named columns."""

    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    figures: frozenset[int] = frozenset()
    """Columns that are set to the right, counted from 0."""
    spare: tuple[int, ...] = ()
    """Columns that are left out where there is no room for all, the first of these first."""


def new_nodes(made: Forecast) -> Table:
    """Nodes that would be made, those that look alike on one row."""
    return Table(
        columns=(
            "NodePool",
            "nodes",
            "instance type",
            "capacity",
            "zones",
            "pods",
            "cpu",
            "memory",
            "$/h each",
            "$/h",
            "for",
        ),
        rows=tuple(
            (
                group.first.nodepool,
                str(len(group.nodes)),
                wording.instance_type(group.first),
                group.first.capacity_type,
                wording.zones(group.first.zones),
                str(len(group.pods)),
                group.fill(resources.CPU),
                group.fill(resources.MEMORY),
                figures.hourly(group.first.usd_per_hour),
                figures.hourly(group.usd_per_hour),
                wording.workloads(group.pods, made.workloads),
            )
            for group in wording.groups(made.new_nodes)
        ),
        figures=frozenset({1, 5, 6, 7, 8, 9}),
        spare=(8, 5, 7, 6, 4, 3),
    )


def existing_nodes(made: Forecast) -> Table:
    """Nodes of the input that take pods."""
    return Table(
        columns=("node", "NodePool", "instance type", "pods", "cpu after", "memory after", "for"),
        rows=tuple(
            (
                node.name,
                node.nodepool or NO_POOL,
                node.instance_type,
                f"{node.pods} + {len(node.added)}",
                wording.fill_of(node, resources.CPU),
                wording.fill_of(node, resources.MEMORY),
                wording.workloads(node.added, made.workloads),
            )
            for node in made.existing_nodes
            if node.added
        ),
        figures=frozenset({3, 4, 5}),
        spare=(5, 4, 2, 1),
    )


def reasons(each: Unschedulable) -> Table:
    """What keeps some pods from each NodePool, nearest miss first."""
    return Table(
        columns=("NodePool", "reason", "in numbers"),
        rows=tuple((b.nodepool or NO_POOL, b.reason, b.sentence) for b in each.blockers),
    )


def price(made: Forecast) -> Table:
    """What there is, what is added, and both together."""
    existing, new = len(made.existing_nodes), len(made.new_nodes)
    return Table(
        columns=("", "nodes", "$/h", "$/month"),
        rows=tuple(
            (name, f"{nodes:,}", figures.hourly(usd), figures.monthly(usd))
            for name, nodes, usd in (
                ("existing", existing, made.existing_usd_per_hour),
                ("new", new, made.new_usd_per_hour),
                (
                    "together",
                    existing + new,
                    made.existing_usd_per_hour + made.new_usd_per_hour,
                ),
            )
        ),
        figures=frozenset({1, 2, 3}),
    )


def changes(compared: Comparison) -> Table:
    """Nodes and money of each NodePool, before and after."""
    rows = [(change.nodepool or NO_POOL, change) for change in compared.pools]
    return Table(
        columns=("NodePool", "nodes", "change", "$/h", "change", "$/month", "change"),
        rows=tuple(_change(name, change) for name, change in [*rows, ("together", compared.total)]),
        figures=frozenset(range(1, 7)),
        spare=(4, 3),
    )


def moved(compared: Comparison) -> Sequence[tuple[str, str]]:
    """Pods that lose or gain a place: a title, and the workloads that they are of."""
    return [
        (title, ", ".join(_counted(pods, compared.after)))
        for title, pods in (("Fits nowhere any more", compared.lose), ("Fits now", compared.gain))
        if pods
    ]


def _counted(pods: Sequence[str], made: Forecast) -> list[str]:
    return [
        f"{units.counted(len(own), 'pod')} of {workload}"
        if workload.kind != "Pod"
        else str(workload)
        for workload, own in wording.by_workload(pods, made.workloads).items()
    ]


def _change(name: str, change: PoolChange) -> tuple[str, ...]:
    before, after = change.before, change.after
    nodes = after.nodes - before.nodes
    usd = after.usd_per_hour - before.usd_per_hour
    return (
        name,
        f"{before.nodes:,} → {after.nodes:,}",
        figures.signed(f"{nodes:,}"),
        f"{figures.hourly(before.usd_per_hour)} → {figures.hourly(after.usd_per_hour)}",
        figures.signed(figures.hourly(usd)),
        f"{figures.monthly(before.usd_per_hour)} → {figures.monthly(after.usd_per_hour)}",
        figures.signed(figures.monthly(usd)),
    )
