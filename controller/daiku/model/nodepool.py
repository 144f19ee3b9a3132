"""NodePool: which nodes may be made, how many, and when they may be taken away again."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import timedelta

from daiku.model import labels
from daiku.model.budget import Budget
from daiku.model.condition import Condition
from daiku.model.instance_type import NodeClassRef
from daiku.model.meta import Meta
from daiku.model.requirements import Requirements
from daiku.model.taints import Taint


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeTemplate:
    """What every node of a pool is made from (`spec.template`)."""

    labels: Mapping[str, str] = field(default_factory=dict[str, str])
    annotations: Mapping[str, str] = field(default_factory=dict[str, str])
    taints: tuple[Taint, ...] = ()
    startup_taints: tuple[Taint, ...] = ()
    requirements: Requirements
    node_class: NodeClassRef
    expire_after: timedelta | None = None
    """None: never."""
    termination_grace_period: timedelta | None = None
    """None: as long as its pods need."""


@dataclass(frozen=True, slots=True, kw_only=True)
class NodePool:
    """A NodePool whose quantities and durations have been parsed already."""

    meta: Meta
    template: NodeTemplate
    weight: int = 0
    """0 to 100; heavier pools are tried first."""
    limits: Mapping[str, int] | None = None
    """None: unlimited. cpu in millicores, else base units; `nodes` counts nodes."""
    consolidation_policy: str = "WhenEmptyOrUnderutilized"
    consolidate_after: timedelta | None = timedelta(0)
    """How long a node must have been quiet; None: never consolidate."""
    budgets: tuple[Budget, ...] = ()
    replicas: int | None = None
    """None: as many as pods need; a number makes the pool static."""
    conditions: tuple[Condition, ...] = ()
    status_nodes: int | None = None
    """`status.nodes` as it stands; None when it was never written."""
    status_resources: Mapping[str, int] | None = None
    """`status.resources` as it stands; None when it was never written."""
    status_class_generation: int | None = None
    """`status.nodeClassObservedGeneration` as it stands."""
    invalid: str = ""
    """Why this NodePool cannot be used (one sentence per mistake, joined by "; "); empty when it can."""

    @property
    def disruption_mode(self) -> str:
        """`dry-run` or `paused`; anything else when it acts."""
        return self.meta.annotations.get(labels.DISRUPTION_MODE, "")
