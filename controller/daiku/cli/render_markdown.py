"""A plan as Markdown for a pull request: what a reviewer must know first, the rest folded away."""

from collections.abc import Sequence

from daiku.cli import figures, plan_tables, wording
from daiku.cli.plan_tables import Table
from daiku.comparison import Comparison
from daiku.forecast import Forecast
from daiku.model import units


def render(made: Forecast, compared: Comparison | None) -> str:
    """The plan, or the difference of two; tables are folded.

    Args:
        made: The plan; with `compared` the second one.
        compared: The difference.
    """
    title = _title(made) if compared is None else _change(compared)
    table = plan_tables.price(made) if compared is None else plan_tables.changes(compared)
    lines = [
        f"### Daiku plan: {title}",
        "",
        f"{_cell(wording.summary(made))} {_cell(wording.bound(made))}",
        "",
        *_table(table),
        "",
    ]
    for what, pods in plan_tables.moved(compared) if compared is not None else ():
        lines += [f"**{what}:** {_cell(pods)}", ""]
    if made.unschedulable:
        lines += _homeless(made)
    if made.new_nodes:
        lines += _folded("New nodes", _table(plan_tables.new_nodes(made)))
    existing = plan_tables.existing_nodes(made)
    if existing.rows:
        lines += _folded("Existing nodes that take pods", _table(existing))
    if made.notes:
        lines += _folded("Notes", [f"- {_cell(note)}" for note in made.notes])
    return "\n".join(lines).rstrip("\n") + "\n"


def _title(made: Forecast) -> str:
    new = made.new_usd_per_hour
    nodes = units.counted(len(made.new_nodes), "new node")
    return f"{nodes}, ${figures.hourly(new)} an hour, ${figures.monthly(new)} a month"


def _change(compared: Comparison) -> str:
    before, after = compared.total.before, compared.total.after
    difference = after.usd_per_hour - before.usd_per_hour
    month = figures.monthly(abs(difference))
    sign = "-" if difference < 0 else "+"
    money = "the price stays" if month == "0" else f"{sign}${month} a month"
    return f"{money}, {before.nodes:,} → {units.counted(after.nodes, 'node')}"


def _homeless(made: Forecast) -> list[str]:
    lines = [
        f"**{units.counted(len(made.homeless), 'pod')} without a place**, nearest miss first:",
        "",
    ]
    for each in made.unschedulable:
        for workload, pods in wording.by_workload(each.pods, made.workloads).items():
            which = "" if workload.kind == "Pod" else f": {units.counted(len(pods), 'pod')}"
            lines.append(f"- {_cell(str(workload))}{which}")
        lines += [
            f"  - NodePool {_cell(pool)}: {reason}, {_cell(said)}"
            for pool, reason, said in plan_tables.reasons(each).rows
        ]
    return [*lines, ""]


def _folded(title: str, lines: Sequence[str]) -> list[str]:
    return [f"<details><summary>{title}</summary>", "", *lines, "", "</details>", ""]


def _table(table: Table) -> list[str]:
    marks = ["---:" if number in table.figures else "---" for number in range(len(table.columns))]
    return [
        f"| {' | '.join(table.columns)} |",
        f"| {' | '.join(marks)} |",
        *(f"| {' | '.join(_cell(cell) for cell in row)} |" for row in table.rows),
    ]


def _cell(text: str) -> str:
    """Text that cannot end its cell, nor be taken for a tag."""
    return text.replace("|", "\\|").replace("<", "&lt;").replace("\n", " ")
