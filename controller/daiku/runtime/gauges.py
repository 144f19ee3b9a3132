"""What the metrics say of the cluster, derived from each snapshot that is decided on.

Counters of nodes come from the difference between two snapshots, so they count what happened to the cluster, whoever
caused it.
"""

from collections import Counter as Counts
from dataclasses import dataclass, field

from prometheus_client import Counter

from daiku import commands, reasons
from daiku.model import labels
from daiku.model.instance_type import Catalogue
from daiku.model.nodepool import NodePool
from daiku.reason import label
from daiku.report import Report
from daiku.runtime.disruption_gauges import DisruptionGauges
from daiku.runtime.fleet_gauges import FleetGauges
from daiku.state.snapshot import Snapshot
from daiku.state.statenode import StateNode
from daiku.telemetry import metrics


@dataclass(frozen=True, slots=True)
class _Place:
    """By what a node is counted."""

    nodepool: str
    capacity_type: str
    zone: str


@dataclass(slots=True)
class Gauges:
    """Sets the metrics of the cluster. One thread uses it."""

    _claims: dict[str, _Place] | None = None
    _pools: tuple[str, ...] = ()
    _seen: dict[str, NodePool] = field(default_factory=dict[str, NodePool])
    """NodePools as their gauges were last set: most ticks change none of them."""
    _held: dict[str, int] = field(default_factory=dict[str, int])
    """NodePools that the price guard has kept from making a node -> pods that wait for that now."""
    _nodes: dict[str, _Place] = field(default_factory=dict[str, _Place])
    _fleet: FleetGauges = field(default_factory=FleetGauges)
    _disruption: DisruptionGauges = field(init=False)

    def __post_init__(self) -> None:
        """Have both parts know the same prices."""
        self._disruption = DisruptionGauges(self._fleet)

    def observe(self, snapshot: Snapshot, report: Report, catalogue: Catalogue) -> None:
        """Set what a snapshot and its report say."""
        self._fleet.observe(snapshot, catalogue)
        self._disruption.observe(snapshot, report)
        least = report.lower_bound_usd_per_hour
        if least > 0:
            metrics.LOWER_BOUND_GAP.set(max(0.0, report.new_usd_per_hour / least - 1))
        ours = [s for s in snapshot.state_nodes if s.claim is not None]
        nodes = {s.name: _place(s) for s in ours if s.node is not None and s.is_registered}
        claims = {s.claim_name: _place(s) for s in ours}
        # The first snapshot shows what was there before this process; none of that happened now.
        if self._claims is not None:
            _count(metrics.NODES_CREATED, nodes, self._nodes)
            _count(metrics.NODES_TERMINATED, self._nodes, nodes)
            for name, place in self._claims.items():
                if name not in claims:
                    metrics.NODECLAIMS_TERMINATED.labels(
                        place.nodepool, place.capacity_type, place.zone
                    ).inc()
        self._claims, self._nodes = claims, nodes
        metrics.CLUSTER_STATE_NODES.set(sum(s.node is not None for s in snapshot.state_nodes))
        metrics.CLUSTER_PRICE.set(report.usd_per_hour)
        metrics.UNSCHEDULABLE_PODS.labels("provisioner").set(
            sum(len(each.pods) for each in report.unschedulable)
        )
        pools = tuple(pool.meta.name for pool in snapshot.node_pools)
        if pools != self._pools:
            # What is left of a pool that is gone would stay for ever.
            metrics.PRICE_GUARD_HELD.clear()
            self._held.clear()
            metrics.NODEPOOL_LIMIT.clear()
            metrics.NODEPOOL_USAGE.clear()
            self._seen.clear()
            self._pools = pools
        # A pool whose pods are held no more goes back to 0.
        self._held = dict.fromkeys(self._held, 0) | _held(report)
        for name, count in self._held.items():
            metrics.PRICE_GUARD_HELD.labels(name).set(count)
        for pool in snapshot.node_pools:
            if self._seen.get(pool.meta.name) is pool:
                continue
            self._seen[pool.meta.name] = pool
            for resource, amount in (pool.limits or {}).items():
                metrics.NODEPOOL_LIMIT.labels(resource, pool.meta.name).set(_base(resource, amount))
            for resource, amount in (pool.status_resources or {}).items():
                metrics.NODEPOOL_USAGE.labels(resource, pool.meta.name).set(_base(resource, amount))

    def carried(self, command: commands.Command) -> None:
        """Count what a command that was carried out means."""
        self._disruption.carried(command)
        match command:
            case commands.CreateNodeClaim():
                meta = command.node_claim.meta
                pool = meta.labels.get(labels.NODEPOOL, "")
                relaxed = meta.annotations.get(labels.MIN_VALUES_RELAXED, "false")
                metrics.NODECLAIMS_CREATED.labels(label(command.reason), pool, relaxed).inc()
            case _:
                pass


def _held(report: Report) -> dict[str, int]:
    """NodePool -> pods that wait for a node of it that is too dear now."""
    found: Counts[str] = Counts()
    for each in report.unschedulable:
        found.update(
            {
                b.nodepool: len(each.pods)
                for b in each.blockers
                if b.reason == reasons.CAPACITY_UNAVAILABLE
            }
        )
    return found


def _place(state_node: StateNode) -> _Place:
    claim = state_node.claim
    if claim is None:
        return _Place(state_node.nodepool, "", "")
    known = claim.meta.labels
    return _Place(
        state_node.nodepool, known.get(labels.CAPACITY_TYPE, ""), known.get(labels.ZONE, "")
    )


def _count(counter: Counter, now: dict[str, _Place], before: dict[str, _Place]) -> None:
    for name, place in now.items():
        if name not in before:
            counter.labels(place.nodepool, place.zone).inc()


def _base(resource: str, amount: int) -> float:
    """An amount in the unit that metrics use: cores, bytes, counts."""
    return amount / 1000 if resource == "cpu" else amount
