"""Shows a phase while it runs: a live table on a terminal, plain lines anywhere else."""

import time
from types import TracebackType
from typing import Self

from rich.console import Console, Group
from rich.live import Live
from rich.table import Table
from rich.text import Text

from daiku_local.demo.observe import Seen

ROWS_MAX = 24
"""Nodes shown at once; the rest is counted in the last row."""


class Display:
    """The view of one phase. Use as a context manager and call `update` after every look."""

    def __init__(self, console: Console, title: str) -> None:
        self._console = console
        self._title = title
        self._began = time.monotonic()
        self._last = ""
        self._live = Live(console=console, refresh_per_second=4, transient=True)

    def __enter__(self) -> Self:
        if self._console.is_terminal:
            self._live.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._console.is_terminal:
            self._live.stop()

    def update(self, seen: Seen) -> None:
        """Show what was just seen; a plain line is printed only when something changed."""
        if self._console.is_terminal:
            self._live.update(Group(Text(f"{self._title}: {self._line(seen)}"), _table(seen)))
            return
        line = self._line(seen)
        if line != self._last:
            self._last = line
            seconds = time.monotonic() - self._began
            self._console.print(f"  {seconds:6.1f} s  {line}", highlight=False)

    def _line(self, seen: Seen) -> str:
        ready = sum(node.state == "Ready" for node in seen.nodes)
        return (
            f"pods {seen.running}/{seen.pods} running, nodes {ready}/{len(seen.nodes)} ready, "
            f"${seen.usd_per_hour:.4f}/h"
        )


def _table(seen: Seen) -> Table:
    table = Table(box=None, pad_edge=False)
    for column in ("NODE", "TYPE", "ZONE", "CAPACITY", "STATE"):
        table.add_column(column, no_wrap=True)
    table.add_column("PODS", justify="right")
    table.add_column("$/H", justify="right")
    for node in seen.nodes[:ROWS_MAX]:
        style = {"Ready": "green", "Draining": "yellow"}.get(node.state, "dim")
        table.add_row(
            node.name,
            node.instance_type,
            node.zone,
            node.capacity_type,
            Text(node.state, style=style),
            str(node.pods),
            f"{node.usd_per_hour:.4f}",
        )
    if len(seen.nodes) > ROWS_MAX:
        table.add_row(f"and {len(seen.nodes) - ROWS_MAX} more")
    return table
