"""What cannot be had for a while, because it could not be had a moment ago."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Final

Pool = tuple[str, str, str]
"""Instance type, zone, capacity type: what the cloud sells out of."""
_BELIEVED: Final = timedelta(minutes=3)
"""How long a pool that said no is not asked again (Karpenter's figure)."""


@dataclass(slots=True)
class SoldOut:
    """Pools that said no. Part of `Cluster`."""

    _until: dict[Pool, datetime | None] = field(default_factory=dict[Pool, "datetime | None"])
    """None: counted from the next snapshot on, because events carry no time."""

    def add(self, pools: Iterable[Pool]) -> None:
        """These have just said no."""
        self._until |= dict.fromkeys(pools)

    def at(self, now: datetime) -> Mapping[Pool, datetime]:
        """Pool -> until when it is believed to be sold out."""
        known = {pool: until or now + _BELIEVED for pool, until in self._until.items()}
        left = {pool: until for pool, until in known.items() if until > now}
        self._until = {**left}
        return left
