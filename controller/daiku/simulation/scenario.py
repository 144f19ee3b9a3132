"""What happens in a simulated time: which pods come when, what the cloud does meanwhile, and when it ends.

Everything is counted in seconds from the start. A scenario says nothing of NodePools: it is played against each
configuration that is compared, and what comes from outside is the same for all of them.
"""

from dataclasses import dataclass
from datetime import datetime
from fnmatch import fnmatchcase
from typing import Final

from daiku.model.pod import Pod

DAY: Final = 86_400.0
"""Seconds."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Service:
    """A workload that keeps a number of pods running, and replaces those that go."""

    name: str
    template: Pod
    """Its pods, but for name, uid and times."""
    targets: tuple[tuple[float, int], ...]
    """(second, replicas from then on), in order."""
    max_unavailable: int | None = None
    """What its PodDisruptionBudget allows; None: it has none."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Arrival:
    """A pod that comes once, works for a while, and is done. If its node goes it begins again elsewhere."""

    at: float
    workload: str
    template: Pod
    lasts: float
    """Seconds of work, counted from when it is bound."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Pools:
    """Some of what the cloud sells. Each is a pattern with * and ?."""

    instance_type: str = "*"
    zone: str = "*"
    capacity_type: str = "*"

    def has(self, instance_type: str, zone: str, capacity_type: str) -> bool:
        """Whether this offering is meant."""
        pairs = (
            (instance_type, self.instance_type),
            (zone, self.zone),
            (capacity_type, self.capacity_type),
        )
        return all(fnmatchcase(value, pattern) for value, pattern in pairs)


@dataclass(frozen=True, slots=True, kw_only=True)
class SoldOut:
    """A time in which the cloud has none of these left."""

    pools: Pools
    begins: float
    ends: float


@dataclass(frozen=True, slots=True, kw_only=True)
class PriceChange:
    """From some second on these cost so many times what the catalogue says."""

    pools: Pools
    at: float
    factor: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Reclaim:
    """At some second the cloud takes a share of these spot instances back."""

    pools: Pools
    at: float
    share: float
    """0 to 1."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Scenario:
    """One simulated time."""

    name: str
    start: datetime
    lasts: float
    seed: int
    services: tuple[Service, ...] = ()
    arrivals: tuple[Arrival, ...] = ()
    """In order of time, then of workload."""
    boot: float = 40.0
    """Seconds from a launch to a Node that is ready."""
    interrupted_per_hour: float = 0.0
    """How many of its kind an hour takes from each spot instance, on average."""
    sold_out: tuple[SoldOut, ...] = ()
    price_changes: tuple[PriceChange, ...] = ()
    reclaims: tuple[Reclaim, ...] = ()
