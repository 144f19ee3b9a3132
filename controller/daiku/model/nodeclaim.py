"""NodeClaim: one node that is wanted, from the wish to the machine to its end."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from daiku.model import condition, labels, quick
from daiku.model.condition import Condition
from daiku.model.instance_type import NodeClassRef
from daiku.model.meta import Meta
from daiku.model.requirements import Requirements
from daiku.model.taints import Taint


@quick.made
@dataclass(frozen=True, slots=True, kw_only=True)
class NodeClaim:
    """A NodeClaim whose quantities and durations have been parsed already."""

    meta: Meta
    requirements: Requirements
    """Label requirements, the allowed instance types among them."""
    requests: Mapping[str, int]
    """What its pods and DaemonSets ask for: cpu in millicores, else base units."""
    node_class: NodeClassRef
    taints: tuple[Taint, ...] = ()
    startup_taints: tuple[Taint, ...] = ()
    expire_after: timedelta | None = None
    termination_grace_period: timedelta | None = None

    provider_id: str = ""
    """Empty until the instance is launched."""
    node_name: str = ""
    image_id: str = ""
    capacity: Mapping[str, int] = field(default_factory=dict[str, int])
    allocatable: Mapping[str, int] = field(default_factory=dict[str, int])
    conditions: tuple[Condition, ...] = ()
    last_pod_event: datetime | None = None
    """When a pod last came to or left its node."""

    @property
    def nodepool(self) -> str:
        """Name of its NodePool; empty for a NodeClaim made by hand."""
        return self.meta.labels.get(labels.NODEPOOL, "")

    def is_true(self, kind: str) -> bool:
        """Whether its condition `kind` is there and True."""
        return condition.is_true(self.conditions, kind)
