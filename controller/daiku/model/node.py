"""A node, as far as scheduling and lifecycle read it."""

from collections.abc import Mapping
from dataclasses import dataclass

from daiku.model import condition, labels, quick
from daiku.model.condition import Condition
from daiku.model.meta import Meta
from daiku.model.taints import Taint


@quick.made
@dataclass(frozen=True, slots=True, kw_only=True)
class Node:
    """A machine that has joined the cluster."""

    meta: Meta
    provider_id: str = ""
    """Such as aws:///us-west-2a/i-0123456789abcdef0; the link to the NodeClaim."""
    taints: tuple[Taint, ...] = ()
    capacity: Mapping[str, int]
    """cpu in millicores, everything else in base units."""
    allocatable: Mapping[str, int]
    """cpu in millicores, everything else in base units."""
    conditions: tuple[Condition, ...] = ()
    unschedulable: bool = False
    """Cordoned."""

    @property
    def is_ready(self) -> bool:
        """Its kubelet says that it can run pods."""
        return condition.is_true(self.conditions, "Ready")

    @property
    def is_registered(self) -> bool:
        """It is marked as carrying all that its NodeClaim says."""
        return self.meta.labels.get(labels.REGISTERED) == "true"

    @property
    def is_initialized(self) -> bool:
        """It is marked as ready for pods."""
        return self.meta.labels.get(labels.INITIALIZED) == "true"
