"""What a method of disruption is: candidates in, commands and reasons out."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime

from daiku.commands import Command
from daiku.disruption.candidates import Candidate
from daiku.report import Kept
from daiku.state.snapshot import Snapshot


@dataclass(frozen=True, slots=True, kw_only=True)
class Findings:
    """What one method decided."""

    commands: tuple[Command, ...] = ()
    kept: tuple[Kept, ...] = ()
    """Candidates that it leaves alone, and why."""
    wakes: tuple[datetime, ...] = ()
    """When it would decide otherwise if nothing happened."""


Method = Callable[[Sequence[Candidate], Snapshot, datetime], Findings]
"""One way to disrupt: sees all candidates, and only them."""
