"""The methods of disruption, in the order in which they are tried. The first that finds something ends the tick.

Methods that need fewer sacrifices come first. What a later method would have done is decided on the next tick, when the
effect of this one is seen.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Final

from daiku.commands import Command
from daiku.disruption import candidates, emptiness
from daiku.disruption.method import Method
from daiku.report import Kept
from daiku.state.snapshot import Snapshot

METHODS: Final[tuple[Method, ...]] = (emptiness.plan,)

_RETRY: Final = timedelta(seconds=10)
"""How often nodes that a budget or a pod keeps are looked at again (Karpenter's interval)."""
_OWN_TIME: Final = frozenset(
    {"NotEmpty", "TooYoung", "ConsolidationDisabled", "StaticNodePool", "NotInitialized"}
)
"""Reasons that end with an event or at a known time, so that looking again in between is no use."""


@dataclass(slots=True)
class Disruption:
    """What is to be done about nodes that may go."""

    commands: list[Command] = field(default_factory=list[Command])
    kept: list[Kept] = field(default_factory=list[Kept])
    """Every node that could have been disrupted and is not, and why."""
    wakes: list[datetime] = field(default_factory=list[datetime])


def plan(snapshot: Snapshot, placements: Mapping[str, str], now: datetime) -> Disruption:
    """Decide which nodes go.

    Args:
        snapshot: Nodes, pods and budgets.
        placements: Where pending pods are expected, by this tick's word.
        now: The time.
    """
    found, kept = candidates.find(snapshot, placements, now)
    made = Disruption(kept=kept)
    for method in METHODS:
        findings = method(found, snapshot, now)
        made.kept += findings.kept
        made.wakes += findings.wakes
        made.commands += findings.commands
        if findings.commands:
            break
    if any(each.reason not in _OWN_TIME for each in made.kept):
        made.wakes.append(now + _RETRY)
    return made
