"""Conditions: what an object's status says about itself, one sentence per type."""

from dataclasses import dataclass
from datetime import datetime
from typing import Literal

from daiku.model import quick

Status = Literal["True", "False", "Unknown"]


@quick.made
@dataclass(frozen=True, slots=True, kw_only=True)
class Condition:
    """One entry of `status.conditions`."""

    type: str
    status: Status
    reason: str = ""
    """PascalCase, never empty on the wire; empty here means the type's own name."""
    message: str = ""
    last_transition: datetime | None = None
    """When `status` last changed; None when it has not been written yet."""
    observed_generation: int = 0


def find(conditions: tuple[Condition, ...], kind: str) -> Condition | None:
    """The condition of type `kind`, or None."""
    # A loop, because this is asked more often than anything else.
    for condition in conditions:
        if condition.type == kind:
            return condition
    return None


def is_true(conditions: tuple[Condition, ...], kind: str) -> bool:
    """Whether the condition of type `kind` is there and True."""
    found = find(conditions, kind)
    return found is not None and found.status == "True"
