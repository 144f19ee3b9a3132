"""What came of a simulated time, as figures that people compare."""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from daiku.events import Object
from daiku.model import resources
from daiku.model.instance_type import Catalogue
from daiku.settings import Settings
from daiku.simulation.ledger import Sample
from daiku.simulation.scenario import Scenario
from daiku.simulation.world import World

PERCENTILES: Final = (50, 90, 99)
"""Those that people ask for."""
SHARES: Final = tuple(float(share) for share in (*range(100), 99.5, 99.9, 100))
"""Those that are drawn."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Result:
    """One configuration's day."""

    name: str
    usd: float
    usd_by_pool: Mapping[tuple[str, str], float]
    """(NodePool, capacity type) -> USD."""
    hours: float
    pods: int
    """Bindings: a pod that had to begin again counts again."""
    waits: Mapping[int, float]
    """Percentile -> seconds from a pod's creation to its binding."""
    waits_by_share: Mapping[float, float]
    """The same for each of `SHARES`."""
    waits_mean: float
    waits_most: float
    still_waiting: int
    why_not: Mapping[str, int]
    """Why pods have no place at the end -> how many."""
    evicted: Mapping[str, int]
    killed: int
    lost_hours: float
    """Pod hours of work that had to be done again."""
    nodes_ended: Mapping[str, int]
    launched: int
    sold_out: int
    interrupted: int
    nodes_mean: float
    nodes_most: int
    cpu: float
    """Requested over allocatable, over the whole time."""
    memory: float
    samples: Sequence[Sample]
    ticks: int

    @property
    def usd_per_hour(self) -> float:
        """What it cost on average."""
        return self.usd / self.hours

    @property
    def disrupted(self) -> int:
        """Pods that had to go before they were done or scaled away."""
        return sum(self.evicted.values()) + self.killed


def simulate(
    name: str,
    scenario: Scenario,
    objects: Sequence[Object],
    catalogue: Catalogue,
    settings: Settings,
    *,
    step: Callable[[float], None] = lambda _share: None,
) -> Result:
    """Play `scenario` against one configuration.

    Args:
        name: What the configuration is called.
        scenario: What happens.
        objects: NodePools, node classes, DaemonSets.
        catalogue: What can be bought.
        settings: How the controller decides.
        step: Is told now and then which share of the time is over.
    """
    world = World(scenario, objects, catalogue, settings)
    world.run(step)
    ledger = world.ledger
    waits = sorted(ledger.waits)
    cpu, memory = (
        ledger.requested_seconds[r] / ledger.capacity_seconds[r]
        if ledger.capacity_seconds[r]
        else 0.0
        for r in (resources.CPU, resources.MEMORY)
    )
    return Result(
        name=name,
        usd=sum(world.cloud.spent.values()),
        usd_by_pool=dict(sorted(world.cloud.spent.items())),
        hours=scenario.lasts / 3600,
        pods=len(waits),
        waits={p: percentile(waits, p) for p in PERCENTILES},
        waits_by_share={share: percentile(waits, share) for share in SHARES},
        waits_mean=sum(waits) / len(waits) if waits else 0.0,
        waits_most=waits[-1] if waits else 0.0,
        still_waiting=len(world.workloads.waiting),
        why_not=world.why_not,
        evicted=dict(sorted(ledger.evicted.items())),
        killed=ledger.killed,
        lost_hours=ledger.lost_seconds / 3600,
        nodes_ended=dict(sorted(ledger.ended.items())),
        launched=ledger.launched,
        sold_out=ledger.sold_out,
        interrupted=ledger.interrupted,
        nodes_mean=ledger.node_seconds / scenario.lasts,
        nodes_most=ledger.nodes_most,
        cpu=cpu,
        memory=memory,
        samples=tuple(ledger.samples),
        ticks=world.ticks,
    )


def percentile(ordered: Sequence[float], percent: float) -> float:
    """The smallest value that so many percent do not exceed; 0 of nothing."""
    if not ordered:
        return 0.0
    return ordered[max(0, math.ceil(len(ordered) * percent / 100) - 1)]
