"""Warnings that are not settled yet. A cache: what it forgets in a restart, the queue of messages still has."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Final

from daiku.events import Interrupted

KEPT_MAX: Final = 10_000
"""Warnings at once; the queue keeps what comes beyond, since only what is settled is deleted there."""


@dataclass(slots=True)
class InterruptionIndex:
    """Warnings in the order in which they came, each once. Part of `Cluster`."""

    _known: dict[Interrupted, bool] = field(default_factory=dict[Interrupted, bool])

    def add(self, warning: Interrupted) -> bool:
        """Keep a warning; whether it is the first of its kind about its instance."""
        if warning in self._known or len(self._known) >= KEPT_MAX:
            return False
        first = not any(
            w.instance_id == warning.instance_id and w.kind == warning.kind for w in self._known
        )
        self._known[warning] = True
        return first

    def settle(self, settled: Iterable[Interrupted]) -> None:
        """Forget warnings about which nothing is left to be done."""
        for warning in settled:
            self._known.pop(warning, None)

    def all(self) -> tuple[Interrupted, ...]:
        """Every warning, oldest first."""
        return tuple(self._known)
