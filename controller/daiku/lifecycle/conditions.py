"""Conditions of an object, and the root condition that sums them up.

A condition keeps the time of its last change for as long as its status stays the same. The root, Ready, is True when
every condition that it depends on is True for the object's present generation.

Source: operatorpkg's status conditions, as Karpenter uses them.
"""

from collections.abc import Sequence
from datetime import datetime

from daiku.model.condition import Condition, Status, find

ROOT = "Ready"


def make(
    before: Sequence[Condition],
    *,
    kind: str,
    status: Status,
    reason: str,
    message: str,
    generation: int,
    now: datetime,
) -> Condition:
    """The condition `kind` as it is to be; equal to the one before when nothing changes."""
    known = find(tuple(before), kind)
    same = known is not None and known.status == status and known.last_transition is not None
    return Condition(
        type=kind,
        status=status,
        reason=reason or kind,
        message=message,
        last_transition=known.last_transition if same and known is not None else now,
        observed_generation=generation,
    )


def root(
    before: Sequence[Condition],
    parts: Sequence[Condition],
    *,
    generation: int,
    now: datetime,
) -> Condition:
    """The condition Ready that follows from `parts`."""
    unhealthy = [
        part for part in parts if part.status != "True" or part.observed_generation != generation
    ]
    status: Status = "True"
    reason = ROOT
    if unhealthy:
        failed = any(p.status == "False" and p.observed_generation == generation for p in unhealthy)
        status = "False" if failed else "Unknown"
        reason = "UnhealthyDependents" if failed else "ReconcilingDependents"
    return make(
        before,
        kind=ROOT,
        status=status,
        reason=reason,
        message=", ".join(f"{part.type}={part.status}" for part in unhealthy),
        generation=generation,
        now=now,
    )


def awaiting(kind: str, *, created: datetime | None, generation: int, now: datetime) -> Condition:
    """A condition that nobody has looked at yet."""
    return Condition(
        type=kind,
        status="Unknown",
        reason="AwaitingReconciliation",
        message="object is awaiting reconciliation",
        last_transition=created or now,
        observed_generation=generation,
    )
