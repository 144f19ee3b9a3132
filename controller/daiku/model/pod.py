"""A pod, as far as scheduling and disruption read it."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime

from daiku.model.meta import NOTHING, Meta
from daiku.model.requirements import Requirements
from daiku.model.taints import Toleration


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
    ready: bool = False
    scheduled: datetime | None = None
    """When it was bound."""
    node_selector: Mapping[str, str] = NOTHING
    required_node_affinity: tuple[Requirements, ...] = ()
    """Terms that are alternatives (OR); empty means no restriction."""
    tolerations: tuple[Toleration, ...] = ()
    priority: int = 0
    priority_class: str = ""
    scheduler_name: str = "default-scheduler"
    termination_grace_seconds: int = 30
    unsupported: tuple[str, ...] = ()
    """Constraints that are on the pod but not modelled here yet, such as "topologySpreadConstraints":
    such a pod is planned for without them and the report says so."""
