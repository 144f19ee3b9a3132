"""What is disrupted, why other nodes are not, and what consolidation has saved.

Decisions and savings are counted when their commands have been carried out, so that what is called off in time counts
for nothing. A replacement counts as decided once its NodeClaim is made, a mere deletion once it is asked for.

Source: Karpenter's disruption metrics.
"""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Final

from daiku import commands, reasons
from daiku.disruption import disruption_commands
from daiku.disruption.disruption_commands import Record
from daiku.model import labels
from daiku.model.nodepool import NodePool
from daiku.reason import Reason, label
from daiku.report import Kept, Report
from daiku.runtime.fleet_gauges import FleetGauges
from daiku.state.snapshot import Snapshot
from daiku.state.statenode import StateNode
from daiku.telemetry import metrics

_BARRED: Final = frozenset(
    {
        reasons.NOT_INITIALIZED, reasons.DISRUPTING, reasons.NODE_POOL_NOT_FOUND, reasons.PAUSED, reasons.NOMINATED,
        reasons.DO_NOT_DISRUPT, reasons.LET_OFF, reasons.POD_DO_NOT_DISRUPT, reasons.SEVERAL_BUDGETS,
        reasons.POD_DISRUPTION_BUDGET, reasons.STATIC_NODE_POOL, reasons.CONSOLIDATION_DISABLED, reasons.TOO_YOUNG,
        reasons.NOT_EMPTY, reasons.LOOP,
    }
)  # fmt: skip
"""Reasons for which a node is no candidate at all, whatever it would save."""
_CONSOLIDATION: Final = frozenset({reasons.EMPTY, reasons.UNDERUTILIZED})
_TYPES: Final = frozenset({"empty", "multi", "single", "repack"})
"""Methods that count as types of consolidation; repack is not one of Karpenter's."""
_REMEMBERED: Final = 1000
"""Disruptions that are known to be counted; more are not under way at a time."""


def termination_mode(grace: timedelta | None) -> str:
    """How a node ends, by its terminationGracePeriod: whether its pods may keep it for ever, for a while, or not."""
    if grace is None:
        return "graceful"
    return "eventual" if grace > timedelta(0) else "forceful"


@dataclass(slots=True)
class DisruptionGauges:
    """Sets the metrics of disruption. One thread uses it."""

    fleet: FleetGauges
    """Knows what nodes cost."""
    _by_name: Mapping[str, StateNode] = field(default_factory=dict[str, StateNode])
    _pools: Mapping[str, NodePool] = field(default_factory=dict[str, NodePool])
    _kept: frozenset[Reason] = frozenset()
    """Reasons that have been shown."""
    _seen: dict[tuple[str, str], None] = field(default_factory=dict[tuple[str, str], None])
    """Ids of disruptions, each with what of it has been counted."""
    _owed_usd_per_hour: float = 0.0
    """What replacements cost beyond the savings of the nodes that have gone so far; a counter cannot fall."""

    def observe(self, snapshot: Snapshot, report: Report) -> None:
        """Set what a snapshot and its report say."""
        self._by_name = snapshot.by_name
        self._pools = {pool.meta.name: pool for pool in snapshot.node_pools}
        counts = Counter(each.reason for each in report.kept)
        self._kept |= counts.keys()
        for reason in self._kept:
            metrics.NODES_KEPT.labels(reason).set(counts[reason])
        eligible = Counter(filter(None, (self._eligible(each) for each in report.kept)))
        # While one consolidation rests, no other is looked for.
        later = (reasons.UNDERUTILIZED,) if not report.proposals else ()
        for reason in map(label, (reasons.DRIFTED, reasons.EMPTY, *later)):
            metrics.ELIGIBLE_NODES.labels(reason).set(eligible[reason])

    def carried(self, command: commands.Command) -> None:
        """Count what a command that was carried out means."""
        match command:
            case commands.CreateNodeClaim():
                written = disruption_commands.read(command.node_claim)
                if written is not None:
                    self._decided(written, "replace")
            case commands.DeleteNodeClaim():
                state_node = self._by_name.get(command.name)
                metrics.NODECLAIMS_DISRUPTED.labels(*self._labels(command, state_node)).inc()
                if state_node is not None:
                    self._ended(command, state_node)
            case _:
                pass

    def _eligible(self, kept: Kept) -> str:
        """For what a node that is kept for now could go; empty when it is no candidate."""
        if kept.reason in _BARRED:
            return ""
        state_node = self._by_name.get(kept.node_claim)
        return self.fleet.may_be(state_node.name) if state_node is not None else ""

    def _ended(self, command: commands.DeleteNodeClaim, state_node: StateNode) -> None:
        claim = state_node.claim
        if claim is None or claim.meta.uid != command.uid:
            return
        written = disruption_commands.read(claim)
        if written is None or written.reason != command.reason:
            return
        moved = len(state_node.reschedulable)
        metrics.PODS_DISRUPTED.labels(*self._labels(command, state_node)).inc(moved)
        if written.method == "static":
            self._decided(written, "replace")
        elif not written.replacements:
            self._decided(written, "delete")
        if written.reason in _CONSOLIDATION:
            self._save(written, state_node)

    def _labels(
        self, command: commands.DeleteNodeClaim, state_node: StateNode | None
    ) -> tuple[str, str, str, str, str]:
        """Reason, NodePool, capacity type, policy (of a consolidation) and how its pods are treated."""
        claim = state_node.claim if state_node is not None else None
        if claim is None:
            return label(command.reason), "", "", "", ""
        pool = self._pools.get(claim.nodepool)
        chosen = pool is not None and command.reason in _CONSOLIDATION
        return (
            label(command.reason),
            claim.nodepool,
            claim.meta.labels.get(labels.CAPACITY_TYPE, ""),
            label(pool.consolidation_policy) if pool is not None and chosen else "",
            termination_mode(claim.termination_grace_period),
        )

    def _save(self, written: Record, state_node: StateNode) -> None:
        self._owed_usd_per_hour -= self.fleet.usd_per_hour(state_node.name)
        if self._is_first(written.id, "saved"):
            for name in written.replacements:
                new = self._by_name.get(name)
                self._owed_usd_per_hour += self.fleet.usd_per_hour(new.name) if new else 0.0
        if self._owed_usd_per_hour < 0:
            metrics.SAVINGS.inc(-self._owed_usd_per_hour)
            self._owed_usd_per_hour = 0.0

    def _decided(self, written: Record, decision: str) -> None:
        if self._is_first(written.id, "decided"):
            kind = written.method if written.method in _TYPES else ""
            metrics.DISRUPTION_DECISIONS.labels(decision, label(written.reason), kind).inc()

    def _is_first(self, id_: str, what: str) -> bool:
        if (id_, what) in self._seen:
            return False
        self._seen[id_, what] = None
        if len(self._seen) > _REMEMBERED:
            del self._seen[next(iter(self._seen))]
        return True
