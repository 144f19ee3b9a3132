"""What the nodes cost, how full they are, and how many of them their NodePools would let go.

Most nodes are the same value from one snapshot to the next, so each is looked at when it changes and its part is kept;
a decision that follows on unchanged nodes costs nothing here.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Final

from daiku import reasons
from daiku.model import budget, resources
from daiku.model.instance_type import Catalogue, NodeClassRef
from daiku.model.nodepool import NodePool
from daiku.reason import label
from daiku.scheduling import prices
from daiku.state.snapshot import Snapshot
from daiku.state.statenode import StateNode
from daiku.telemetry import metrics

REASONS: Final = (reasons.DRIFTED, reasons.EMPTY, reasons.UNDERUTILIZED)
"""Why a node may be disrupted, as budgets write it."""
UNLIMITED: Final = 2**31 - 1
"""What Karpenter shows where no budget limits anything."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Part:
    """What one node adds."""

    state_node: StateNode
    usd_per_hour: float
    counts: bool
    """Whether shares in budgets are shares of it."""
    may_be: str
    """For what it would be disrupted: drifted, empty or underutilized."""


@dataclass(slots=True)
class FleetGauges:
    """Sets the gauges of nodes and budgets. One thread uses it."""

    _parts: dict[str, _Part] = field(default_factory=dict[str, _Part])
    _of: tuple[object, object, object] | None = None
    """State nodes, catalogue and NodePools that the gauges were last set from."""
    _catalogue: Catalogue | None = None
    _prices: prices.Prices = field(default_factory=dict[tuple[NodeClassRef, str, str, str], float])
    _used: dict[str, int] = field(default_factory=dict[str, int])
    _room: dict[str, int] = field(default_factory=dict[str, int])
    _costs: dict[str, float] = field(default_factory=dict[str, float])
    _counted: dict[str, int] = field(default_factory=dict[str, int])
    """NodePool -> nodes of which its budgets are shares."""
    _allowed: dict[str, tuple[NodePool, int, datetime]] = field(
        default_factory=dict[str, tuple[NodePool, int, datetime]]
    )
    """NodePool -> what its allowed disruptions were last worked out from."""

    def observe(self, snapshot: Snapshot, catalogue: Catalogue) -> None:
        """Set what a snapshot says."""
        of = snapshot.state_nodes, catalogue, snapshot.node_pools
        if self._of is None or any(a is not b for a, b in zip(of, self._of, strict=True)):
            self._of = of
            self._take(snapshot, catalogue)
            self._show_costs()
            self._show_utilization()
        self._show_allowed(snapshot)

    def usd_per_hour(self, name: str) -> float:
        """What the node called `name` cost when last seen; 0 when nobody knows."""
        part = self._parts.get(name)
        return part.usd_per_hour if part is not None else 0.0

    def may_be(self, name: str) -> str:
        """For what the node called `name` would be disrupted: drifted, empty or underutilized; empty if unknown."""
        part = self._parts.get(name)
        return part.may_be if part is not None else ""

    def _take(self, snapshot: Snapshot, catalogue: Catalogue) -> None:
        priced_anew = catalogue is not self._catalogue
        if priced_anew:
            self._catalogue, self._prices = catalogue, prices.of_offerings(catalogue)
        before, self._parts = self._parts, {}
        costs = {pool.meta.name: 0.0 for pool in snapshot.node_pools}
        counted = dict.fromkeys(costs, 0)
        for state_node in snapshot.state_nodes:
            part = before.pop(state_node.name, None)
            if part is None or priced_anew or part.state_node is not state_node:
                if part is not None:
                    self._add(part.state_node, -1)
                self._add(state_node, 1)
                part = _Part(
                    state_node=state_node,
                    usd_per_hour=prices.of_node(state_node, self._prices),
                    counts=_counts(state_node),
                    may_be=_may_be(state_node),
                )
            self._parts[state_node.name] = part
            if state_node.claim is not None and state_node.nodepool in costs:
                costs[state_node.nodepool] += part.usd_per_hour
                counted[state_node.nodepool] += part.counts
        for part in before.values():
            self._add(part.state_node, -1)
        for name in [name for name in self._costs if name not in costs]:
            # What is left of a pool that is gone would stay for ever.
            metrics.NODEPOOL_COST.remove(name)
            self._allowed.pop(name, None)
            for reason in REASONS:
                metrics.ALLOWED_DISRUPTIONS.remove(name, reason)
        self._costs, self._counted = costs, counted

    def _add(self, state_node: StateNode, sign: int) -> None:
        if state_node.node is not None:
            _shift(self._used, state_node.used(), sign)
            _shift(self._room, state_node.allocatable, sign)

    def _show_costs(self) -> None:
        for name, usd_per_hour in self._costs.items():
            metrics.NODEPOOL_COST.labels(name).set(usd_per_hour)

    def _show_utilization(self) -> None:
        for resource in (resources.CPU, resources.MEMORY, resources.PODS):
            room = self._room.get(resource, 0)
            share = 100 * self._used.get(resource, 0) / room if room else 0.0
            metrics.CLUSTER_UTILIZATION.labels(resource).set(share)

    def _show_allowed(self, snapshot: Snapshot) -> None:
        # Budgets begin and end with a minute.
        minute = snapshot.at.replace(second=0, microsecond=0)
        for pool in snapshot.node_pools:
            name = pool.meta.name
            count = self._counted.get(name, 0)
            known = self._allowed.get(name)
            if known is not None and known[0] is pool and known[1:] == (count, minute):
                continue
            self._allowed[name] = pool, count, minute
            for reason in REASONS:
                allowed = budget.allowed(pool.budgets, reason, count, snapshot.at)
                metrics.ALLOWED_DISRUPTIONS.labels(name, reason).set(
                    UNLIMITED if allowed is None else allowed
                )


def _counts(state_node: StateNode) -> bool:
    claim = state_node.claim
    return (
        claim is not None
        and state_node.node is not None
        and state_node.is_initialized
        and not claim.is_true("InstanceTerminating")
    )


def _may_be(state_node: StateNode) -> str:
    if state_node.claim is not None and state_node.claim.is_true("Drifted"):
        return label(reasons.DRIFTED)
    return label(reasons.UNDERUTILIZED if state_node.reschedulable else reasons.EMPTY)


def _shift(total: dict[str, int], amounts: Mapping[str, int], sign: int) -> None:
    for resource, amount in amounts.items():
        total[resource] = total.get(resource, 0) + sign * amount
