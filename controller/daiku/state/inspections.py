"""Deployments that were read because it mattered, for as long as that is worth something."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Final

from daiku.commands import PatchDeployment
from daiku.events import Inspected

_KEPT: Final = timedelta(hours=1)
"""How long what was read is kept."""


@dataclass(slots=True)
class Inspections:
    """What was read last of each Deployment. Part of `Cluster`."""

    _known: dict[str, Inspected] = field(default_factory=dict[str, Inspected])

    def see(self, inspected: Inspected) -> None:
        """A Deployment was read."""
        self._known[inspected.key] = inspected

    def change(self, command: PatchDeployment) -> None:
        """A Deployment is changed: what was read of it is not true any more, or was not."""
        self._known.pop(f"{command.namespace}/{command.name}", None)

    def at(self, now: datetime) -> Mapping[str, Inspected]:
        """What is still worth something at `now`, by namespace/name."""
        self._known = {key: each for key, each in self._known.items() if now - each.at < _KEPT}
        return self._known
