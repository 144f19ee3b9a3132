"""A pod, as far as scheduling and disruption read it."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from typing import Final

from daiku.model import labels, quick, units
from daiku.model.meta import Meta
from daiku.model.requirements import Requirements
from daiku.model.taints import Toleration
from daiku.model.topology import AffinityTerm, HostPort, Preferred, Spread

FOREVER: Final = datetime.max.replace(tzinfo=UTC)
"""Later than any time that can come."""
_CRITICAL: Final = frozenset({"system-cluster-critical", "system-node-critical"})
_SPREAD_OWNERS: Final = frozenset({"ReplicaSet", "ReplicationController", "StatefulSet"})


@quick.made
@dataclass(frozen=True, slots=True, kw_only=True)
class Pod:
    """A pod whose quantities, selectors and durations have been parsed already."""

    meta: Meta
    requests: Mapping[str, int]
    """What it asks for as kube-scheduler counts it, `pods`=1 included: cpu in millicores, else base units."""
    node_name: str = ""
    """Empty while unbound."""
    nominated_node_name: str = ""
    phase: str = "Pending"
    unschedulable: bool = False
    """kube-scheduler said PodScheduled=False, reason Unschedulable."""
    gated: bool = False
    """It has a scheduling gate, so kube-scheduler does not look at it yet."""
    ready: bool = False
    ready_since: datetime | None = None
    """Since when it is ready; None while it is not."""
    scheduled: datetime | None = None
    """When it was bound."""
    node_selector: Mapping[str, str] = field(default_factory=dict[str, str])
    required_node_affinity: tuple[Requirements, ...] = ()
    """Terms that are alternatives (OR); empty means no restriction."""
    tolerations: tuple[Toleration, ...] = ()
    preferred_node_affinity: tuple[Preferred, ...] = ()
    spread: tuple[Spread, ...] = ()
    pod_affinity: tuple[AffinityTerm, ...] = ()
    """Required: for each, a matching pod must be in the domain of the node."""
    pod_anti_affinity: tuple[AffinityTerm, ...] = ()
    """Required: for each, no matching pod may be in the domain of the node."""
    preferred_pod_affinity: tuple[Preferred, ...] = ()
    preferred_pod_anti_affinity: tuple[Preferred, ...] = ()
    host_ports: tuple[HostPort, ...] = ()
    volume_claims: tuple[str, ...] = ()
    """Names of the PersistentVolumeClaims that it mounts, those of ephemeral volumes included, sorted."""
    priority: int = 0
    priority_class: str = ""
    scheduler_name: str = "default-scheduler"
    termination_grace_seconds: int = 30
    resource_claims: tuple[str, ...] = ()
    """Names of its `resourceClaims`, in order: it asks for devices, which nobody here allocates."""

    @property
    def is_daemon(self) -> bool:
        """Made by a DaemonSet, so it comes and goes with its node."""
        return self._is_of("DaemonSet")

    @property
    def is_mirror(self) -> bool:
        """The shadow of a static pod; only the kubelet can end it."""
        return self._is_of("Node")

    @property
    def is_finished(self) -> bool:
        """Its containers have ended for good; it holds no resources any more."""
        return self.phase in {"Succeeded", "Failed"}

    @property
    def is_active(self) -> bool:
        """Neither finished nor being deleted."""
        return not self.is_finished and self.meta.deleted is None

    @property
    def is_critical(self) -> bool:
        """Of a system priority class: drained last."""
        return self.priority_class in _CRITICAL

    @property
    def is_reschedulable(self) -> bool:
        """Would have to run elsewhere if its node went away.

        A StatefulSet's pod counts even while it is being deleted: its successor waits for its end.
        """
        if self.is_finished:
            return False
        # One look at the owners: this is asked of every pod in every tick.
        kinds = [owner.kind for owner in self.meta.owners]
        if "DaemonSet" in kinds or "Node" in kinds:
            return False
        return self.meta.deleted is None or "StatefulSet" in kinds

    @property
    def deletion_cost(self) -> int:
        """Of two pods a ReplicaSet gives up the one whose cost is lower; 0 when it names none that can be read."""
        try:
            return int(self.meta.annotations.get(labels.POD_DELETION_COST, "0"))
        except ValueError:
            return 0

    @property
    def spread_with(self) -> str:
        """Uid of the owner over whose pods kube-scheduler spreads it unasked; empty when it does not.

        Source: the default constraints of kube-scheduler's PodTopologySpread.
        """
        if self.spread:
            return ""
        return next((o.uid for o in self.meta.owners if o.kind in _SPREAD_OWNERS), "")

    @property
    def constrains(self) -> bool:
        """Whether other pods matter to where it may or would run, or its volumes or host ports do."""
        return bool(
            self.spread
            or self.pod_affinity
            or self.pod_anti_affinity
            or self.preferred_pod_affinity
            or self.preferred_pod_anti_affinity
            or self.host_ports
            or self.volume_claims
        )

    @property
    def is_provisionable(self) -> bool:
        """Waits for a node that could be made for it, unless kube-scheduler makes room (`Snapshot.provisionable`)."""
        return (
            self.unschedulable
            and not self.node_name
            and self.is_active
            and not self.is_daemon
            and not self.is_mirror
        )

    def _is_of(self, kind: str) -> bool:
        # A loop, because this is asked of every pod several times in a tick.
        for owner in self.meta.owners:  # noqa: SIM110
            if owner.kind == kind:
                return True
        return False

    def unbound(self) -> "Pod":
        """The same before anybody has placed it."""
        return replace(
            self,
            node_name="",
            nominated_node_name="",
            phase="Pending",
            ready=False,
            ready_since=None,
            scheduled=None,
        )

    def protected_until(self) -> datetime | None:
        """Until when its annotation do-not-disrupt holds: `true`, or a duration since it was bound; None: not at all.

        A duration of a pod that is not bound yet has not begun to pass.
        """
        wish = self.meta.annotations.get(labels.DO_NOT_DISRUPT, "")
        if not wish:
            return None
        if wish == "true":
            return FOREVER
        try:
            length = units.parse_duration(wish)
        except ValueError:
            return None
        if length <= timedelta(0):
            return None
        if self.scheduled is None or length >= FOREVER - self.scheduled:
            return FOREVER
        return self.scheduled + length

    def must_not_be_disrupted(self, now: datetime) -> bool:
        """Whether its annotation do-not-disrupt holds at `now`."""
        until = self.protected_until()
        return until is not None and now < until
