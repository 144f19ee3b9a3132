"""A node class, as far as the core reads it: which one it is and whether it can launch.

The cloud-specific spec stays with its cloud provider; here it is an opaque value.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from daiku.model.condition import Condition
from daiku.model.instance_type import NodeClassRef
from daiku.model.meta import Meta


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeClass:
    """An EC2NodeClass or a KWOKNodeClass."""

    meta: Meta
    ref: NodeClassRef
    ready: bool
    """Its condition Ready is True for its current generation."""
    why_not_ready: str = ""
    conditions: tuple[Condition, ...] = ()
    spec: Mapping[str, Any] = field(default_factory=dict[str, Any])
    """`spec` as it is on the wire; only its own cloud provider looks inside."""
    status: Mapping[str, Any] = field(default_factory=dict[str, Any])
    """`status` as it is on the wire."""
