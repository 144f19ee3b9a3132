"""A plan as tables for a terminal; in colour only there."""

import io
import shutil
from collections.abc import Sequence
from typing import Final

from rich import table as rich_table
from rich.console import Console
from rich.text import Text

from daiku.cli import plan_tables, wording
from daiku.cli.plan_tables import Table
from daiku.comparison import Comparison
from daiku.forecast import Forecast
from daiku.model import units

ROWS_MOST: Final = 40
"""Rows of one table; JSON has all of them."""
WIDTH: Final = 240
"""Columns when the output is not a terminal."""
_GAP: Final = 2
"""Between two columns."""
_LAST_LEAST: Final = 24
"""Room for the last column of a table that leaves others out."""


def render(made: Forecast, compared: Comparison | None, seconds: float, *, colour: bool) -> str:
    """The plan, or the difference of two and then the second one.

    Args:
        made: The plan; with `compared` the second one.
        compared: The difference.
        seconds: How long it took.
        colour: Whether it goes to a terminal.
    """
    written, console = _console(colour=colour)
    if compared is not None:
        console.print("From the first configuration to the second", style="bold")
        _table(console, plan_tables.changes(compared))
        for title, pods in plan_tables.moved(compared):
            console.print(f"{title}: {pods}")
        console.print()
        console.print("The second configuration: ", style="bold", end="")
    console.print(wording.summary(made), style="bold")
    if made.new_nodes:
        _section(console, "New nodes", plan_tables.new_nodes(made))
    existing = plan_tables.existing_nodes(made)
    if existing.rows:
        _section(console, "Existing nodes that take pods", existing)
    _homeless(console, made)
    _section(console, "Price", plan_tables.price(made))
    console.print(wording.bound(made))
    if made.notes:
        _title(console, "Notes")
        for note in made.notes:
            console.print(Text(f"- {note}"), style="dim")
    console.print(f"\nPlanned in {seconds:.1f} s.", style="dim")
    return _text(written)


def tables(shown: Sequence[tuple[str, Table]], *, colour: bool) -> str:
    """Some tables, each under its title, if it has one."""
    written, console = _console(colour=colour)
    for title, table in shown:
        if title:
            _title(console, title)
        _table(console, table)
    return _text(written)


def _console(*, colour: bool) -> tuple[io.StringIO, Console]:
    """A place to write to."""
    written = io.StringIO()
    console = Console(
        file=written,
        width=shutil.get_terminal_size().columns if colour else WIDTH,
        force_terminal=colour,
        highlight=False,
        markup=False,
        emoji=False,
    )
    return written, console


def _text(written: io.StringIO) -> str:
    return "".join(f"{line.rstrip()}\n" for line in written.getvalue().splitlines())


def _homeless(console: Console, made: Forecast) -> None:
    if made.unschedulable:
        _title(console, "Fits nowhere, nearest miss first")
    for each in made.unschedulable:
        for workload, pods in wording.by_workload(each.pods, made.workloads).items():
            which = "" if workload.kind == "Pod" else f": {units.counted(len(pods), 'pod')}"
            console.print(Text(f"{workload}{which}", style="red"))
        _table(console, plan_tables.reasons(each), indent=2)


def _title(console: Console, text: str) -> None:
    console.print()
    console.print(text, style="bold")


def _section(console: Console, title: str, table: Table) -> None:
    _title(console, title)
    _table(console, table)


def _table(console: Console, table: Table, *, indent: int = 0) -> None:
    columns, left_out = _shown(table, console.width - indent)
    last = columns[-1]
    shown = rich_table.Table(box=None, pad_edge=False, padding=(0, _GAP, 0, 0), header_style="dim")
    for number in columns:
        right = "right" if number in table.figures else "left"
        margin = " " * indent if number == columns[0] else ""
        shown.add_column(
            f"{margin}{table.columns[number].upper()}",
            justify=right,
            overflow="fold",
            # Where the line is too short for everything, the last column is written over several.
            no_wrap=bool(table.spare) and number != last,
        )
    for row in table.rows[:ROWS_MOST]:
        first, *others = (row[number] for number in columns)
        shown.add_row(Text(" " * indent + first), *map(Text, others))
    console.print(shown)
    if left_out:
        names = ", ".join(table.columns[number] for number in left_out)
        console.print(f"(no room here for {names}; --format json has them)", style="dim")
    if len(table.rows) > ROWS_MOST:
        console.print(f"and {len(table.rows) - ROWS_MOST} more rows; --format json has them all")


def _shown(table: Table, width: int) -> tuple[list[int], list[int]]:
    """Columns that have room in a line, and those that are left out for it, in order."""
    widths = [
        max(map(len, (name, *(row[number] for row in table.rows[:ROWS_MOST])))) + _GAP
        for number, name in enumerate(table.columns)
    ]
    widths[-1] = min(widths[-1], _LAST_LEAST)
    left_out: list[int] = []
    for number in table.spare:
        if sum(widths) <= width:
            break
        left_out.append(number)
        widths[number] = 0
    return [n for n, each in enumerate(widths) if each], sorted(left_out)
