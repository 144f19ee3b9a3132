"""The controller's table of contents: from what is believed to what is to be done.

`tick` is a pure function. The live loop, `daiku plan`, the simulation and a pull request all call it.
"""

from dataclasses import dataclass
from datetime import datetime

from daiku.commands import Command
from daiku.report import Report


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """What one tick decided."""

    commands: tuple[Command, ...]
    """In the order in which they are begun; those of one key are done one after the other."""
    report: Report
    wake_at: datetime | None
    """When to decide again even if nothing happens; None: only when something does."""
