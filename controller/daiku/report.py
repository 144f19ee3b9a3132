"""Why not: what a tick decided not to do, as typed values with numbers; text is made only when read."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Final

from daiku.events import Interrupted
from daiku.model import quick
from daiku.reason import Reason


@dataclass(frozen=True, slots=True, kw_only=True)
class Blocker:
    """One rule that kept pods from one NodePool."""

    nodepool: str
    """Empty when no NodePool was even tried."""
    reason: Reason
    """Of kind WAITING."""
    asked: str
    """What the pods ask for, in the API's notation, such as "cpu 9"; empty when what was found says it all."""
    offered: str
    """What was found instead, as a sentence, such as "the most on one node is cpu 7910m (m5.2xlarge)"."""

    @property
    def sentence(self) -> str:
        """What is asked and what was found, for a person."""
        return f"asks for {self.asked}; {self.offered}" if self.asked else self.offered

    def __str__(self) -> str:
        """The sentence with its NodePool and reason."""
        scope = f"NodePool {self.nodepool}: " if self.nodepool else ""
        return f"{scope}{self.reason}: {self.sentence}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Unschedulable:
    """Pods that fit nowhere, and why, nearest miss first."""

    pods: tuple[str, ...]
    """namespace/name of each."""
    blockers: tuple[Blocker, ...]


@quick.made
@dataclass(frozen=True, slots=True, kw_only=True)
class Kept:
    """A node that could have been disrupted and is still there, and why."""

    node_claim: str
    reason: Reason
    """Of kind KEPT; of kind EVENT for what is only told to a pod."""
    message: str


_PART: Final = timedelta(seconds=2)
"""Between two parts of one look, so that a big cluster does not take all of one tick after the other."""
_CHANGED: Final = timedelta(seconds=10)
"""Between two looks when something has changed meanwhile (Karpenter's interval)."""
_UNCHANGED: Final = timedelta(minutes=5)
"""Between two looks when nothing has (Karpenter's interval)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Proposal:
    """A disruption that was decided and has not begun."""

    id: str
    reason: Reason
    """Empty, Drifted or Underutilized."""
    method: str
    """empty, drift, static, repack or single."""
    claims: tuple[str, ...]
    """NodeClaims that go, in order."""
    node_pools: tuple[str, ...]
    new_nodes: int
    """How many nodes come in their place."""
    detail: str = ""
    """The cheapest instance types of those."""
    saves_usd_per_hour: float
    decided: datetime
    changes: int = -1
    """What had happened by then, as `Snapshot.changes` counts it."""

    def __str__(self) -> str:
        """One line for people, as Karpenter writes it."""
        decision = "replace" if self.new_nodes else "delete"
        coming = f" -> [{self.new_nodes} replacement(s): {self.detail}]" if self.new_nodes else ""
        return (
            f"{self.reason}/{self.id}: {decision}: nodepools=[{', '.join(self.node_pools)}]: "
            f"[{', '.join(self.claims)}]{coming} (savings: ${self.saves_usd_per_hour:.4f}/h)"
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Repacked:
    """What all nodes that may go could become, as one search found it."""

    considered: int
    """Nodes that could have gone."""
    gone: int
    """Nodes that would go."""
    made: int
    """Nodes that would come."""
    steps: int
    """Into how many parts it is divided, each worth taking by itself."""
    moved: int
    """Pods that would be evicted."""
    usd_per_hour_before: float
    """All launched nodes, now."""
    usd_per_hour_after: float
    """The same after all steps."""
    lower_bound_usd_per_hour: float
    """No cluster that holds the pods that run can cost less."""

    def __str__(self) -> str:
        """One sentence for a person."""
        if not self.steps:
            return f"repacking any of {self.considered} nodes saves nothing that its moves would not cost"
        return (
            f"repacking {self.gone} of {self.considered} nodes into {self.made} new ones and the room of others, in "
            f"{self.steps} steps with {self.moved} pods moved, takes the nodes from "
            f"${self.usd_per_hour_before:.4f}/h to ${self.usd_per_hour_after:.4f}/h; no cluster that holds their pods "
            f"costs less than ${self.lower_bound_usd_per_hour:.4f}/h"
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Look:
    """What a method remembers that looks at all nodes, a part of them per tick."""

    at: datetime
    """When it looked last."""
    changes: int
    """`Snapshot.changes` when this look began; -1 when that shall not count as unchanged."""
    tried: frozenset[str] = frozenset()
    """NodeClaims that it has seen."""
    kept: tuple[Kept, ...] = ()
    """What it said of them."""
    complete: bool = False
    """It has seen all."""
    until: datetime | None = None
    """When a time alone makes a difference; None when none does."""
    pause: timedelta = _CHANGED
    """Between two looks when something has changed meanwhile: longer for a look that took long."""
    repacked: Repacked | None = None
    """What this look found that all nodes could become; None when that was not asked."""

    def again_at(self, changes: int) -> datetime:
        """When to look again, if by now there were so many changes."""
        if not self.complete:
            return self.at + _PART
        due = self.at + (self.pause if changes != self.changes else _UNCHANGED)
        return due if self.until is None else min(due, self.until)

    def is_due(self, changes: int, now: datetime) -> bool:
        """Whether to look again now."""
        return now >= self.again_at(changes)


@quick.made
@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    """What a tick saw and why it did not do more. Reasons are for events, conditions, `explain` and metrics."""

    unschedulable: tuple[Unschedulable, ...] = ()
    kept: tuple[Kept, ...] = ()
    proposals: tuple[Proposal, ...] = ()
    """Disruptions that are decided and rest before they are acted upon."""
    looks: Mapping[str, Look] = field(default_factory=dict[str, Look])
    """Methods of disruption that have looked at nodes, and what they remember of it."""
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
