"""Why not: what a tick decided not to do, as typed values with numbers; text is made only when read."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from daiku.events import Interrupted


@dataclass(frozen=True, slots=True, kw_only=True)
class Blocker:
    """One rule that kept pods from one NodePool."""

    nodepool: str
    """Empty when no NodePool was even tried."""
    reason: str
    """PascalCase: InsufficientResources, RequirementsNotMet, TaintNotTolerated, NoOffering, LimitExceeded,
    MinValuesNotMet, NodePoolNotReady or NoNodePool."""
    asked: str
    """What the pods ask for, in the API's notation, such as "cpu 9"."""
    offered: str
    """The most that was to be had, such as "cpu 7.91 (m5.2xlarge)"; empty when that is no number."""

    def __str__(self) -> str:
        """One sentence for a person."""
        scope = f"NodePool {self.nodepool}: " if self.nodepool else ""
        return f"{scope}{self.reason}: asks {self.asked}" + (
            f"; most on offer {self.offered}" if self.offered else ""
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Unschedulable:
    """Pods that fit nowhere, and why, nearest miss first."""

    pods: tuple[str, ...]
    """namespace/name of each."""
    blockers: tuple[Blocker, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Kept:
    """A node that could have been disrupted and is still there, and why."""

    node_claim: str
    reason: str
    message: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    """What a tick saw and why it did not do more. Reasons are for events, conditions, `explain` and metrics."""

    unschedulable: tuple[Unschedulable, ...] = ()
    kept: tuple[Kept, ...] = ()
    placements: Mapping[str, str] = field(default_factory=dict[str, str])
    """Pending pod namespace/name -> node, or NodeClaim that does not have a node yet, that it is expected on."""
    usd_per_hour: float = 0.0
    """What all nodes of NodePools cost now, at the catalogue's prices."""
    lower_bound_usd_per_hour: float = 0.0
    """No packing of this tick's new pods on new nodes can cost less; 0 when nothing was packed."""
    new_usd_per_hour: float = 0.0
    """What this tick's new nodes cost."""
    planned_pods: bool = False
    """Whether this tick planned pending pods; False when there were none, or their batch is still open."""
    settled: tuple[Interrupted, ...] = ()
    """Warnings of the cloud about which nothing is left to be done."""
    notes: tuple[str, ...] = ()
    """Anything else worth a line in `daiku plan`."""
