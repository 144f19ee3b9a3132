"""What is measured of a simulated time: how full nodes were, how long pods waited, what was disrupted.

Amounts that last are integrated over time at every change; beside that a sample is taken every few minutes for plots.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from daiku.model import resources
from daiku.model.node import Node
from daiku.model.pod import Pod

MEASURED: Final = (resources.CPU, resources.MEMORY)
Amounts = dict[str, int]


@dataclass(frozen=True, slots=True, kw_only=True)
class Sample:
    """How things stood at one moment."""

    at: float
    nodes: int
    pods: int
    """Bound, those of DaemonSets left out."""
    pending: int
    usd_per_hour: float
    cpu: float
    """Requests over allocatable, 0 to 1; 0 without nodes."""
    memory: float


@dataclass(slots=True)
class Ledger:
    """Figures as they grow."""

    samples: list[Sample] = field(default_factory=list[Sample])
    waits: list[float] = field(default_factory=list[float])
    """Seconds from a pod's creation to its binding, one for each that was bound."""
    evicted: dict[str, int] = field(default_factory=dict[str, int])
    """Reason -> pods that were asked to leave."""
    killed: int = 0
    """Pods that ended with their instance, without having been asked."""
    lost_seconds: float = 0.0
    """Work of pods that had to begin again."""
    ended: dict[str, int] = field(default_factory=dict[str, int])
    """Reason -> nodes that were given up."""
    launched: int = 0
    sold_out: int = 0
    """Launches that the cloud refused."""
    interrupted: int = 0
    nodes: int = 0
    """Ready now."""
    pods: int = 0
    capacity: Amounts = field(default_factory=lambda: dict.fromkeys(MEASURED, 0))
    requested: Amounts = field(default_factory=lambda: dict.fromkeys(MEASURED, 0))
    node_seconds: float = 0.0
    nodes_most: int = 0
    capacity_seconds: dict[str, float] = field(default_factory=lambda: dict.fromkeys(MEASURED, 0.0))
    requested_seconds: dict[str, float] = field(
        default_factory=lambda: dict.fromkeys(MEASURED, 0.0)
    )
    _at: float = 0.0

    def advance(self, at: float) -> None:
        """Time goes on to second `at`."""
        passed = at - self._at
        if passed > 0:
            self.node_seconds += passed * self.nodes
            for resource in MEASURED:
                self.capacity_seconds[resource] += passed * self.capacity[resource]
                self.requested_seconds[resource] += passed * self.requested[resource]
        self._at = at

    def joined(self, node: Node, sign: int = 1) -> None:
        """A node is ready, or with `sign` -1 no more."""
        self.nodes += sign
        self.nodes_most = max(self.nodes_most, self.nodes)
        _add(self.capacity, node.allocatable, sign)

    def bound(self, pod: Pod, sign: int = 1) -> None:
        """A pod holds what it asks for, or with `sign` -1 no more."""
        self.pods += sign * (not pod.is_daemon)
        _add(self.requested, pod.requests, sign)

    def sample(self, at: float, pending: int, usd_per_hour: float) -> None:
        """Write down how things stand."""
        cpu, memory = (
            self.requested[r] / self.capacity[r] if self.capacity[r] else 0.0 for r in MEASURED
        )
        self.samples.append(
            Sample(
                at=at,
                nodes=self.nodes,
                pods=self.pods,
                pending=pending,
                usd_per_hour=usd_per_hour,
                cpu=cpu,
                memory=memory,
            )
        )


def count(counts: dict[str, int], reason: str) -> None:
    """One more for this reason."""
    counts[reason] = counts.get(reason, 0) + 1


def _add(amounts: Amounts, more: Mapping[str, int], sign: int) -> None:
    for resource in MEASURED:
        amounts[resource] += sign * more.get(resource, 0)
