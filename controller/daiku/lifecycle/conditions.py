"""Conditions of an object, and the root condition that sums them up.

A condition keeps the time of its last change for as long as its status stays the same. The root, Ready, is True when
every condition that it depends on is True for the object's present generation.

Source: operatorpkg's status conditions, as Karpenter uses them.
"""

from collections.abc import Iterable, Sequence
from datetime import datetime

from daiku import reasons
from daiku.model.condition import Condition, Status, find
from daiku.reason import NO_REASON, Reason

ROOT = "Ready"


def make(
    before: tuple[Condition, ...],
    *,
    kind: str,
    status: Status,
    reason: Reason,
    message: str,
    generation: int,
    now: datetime,
) -> Condition:
    """The condition `kind` as it is to be, its own name for want of a reason; the one before when nothing changes."""
    known, since, word = find(before, kind), now, reason or kind
    if known is not None and known.status == status and known.last_transition is not None:
        if (known.reason, known.message, known.observed_generation) == (
            word,
            message,
            generation,
        ):
            return known
        since = known.last_transition
    return Condition(
        type=kind,
        status=status,
        reason=word,
        message=message,
        last_transition=since,
        observed_generation=generation,
    )


def changed(before: tuple[Condition, ...], wanted: Iterable[Condition]) -> tuple[Condition, ...]:
    """Those of `wanted` that are not there yet."""
    news: list[Condition] = []
    for condition in wanted:
        known = find(before, condition.type)
        # Most often it is the very one that is there.
        if known is not condition and known != condition:
            news.append(condition)
    return tuple(news)


def root(
    before: tuple[Condition, ...],
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
    reason = NO_REASON
    if unhealthy:
        failed = any(p.status == "False" and p.observed_generation == generation for p in unhealthy)
        status = "False" if failed else "Unknown"
        reason = reasons.UNHEALTHY_DEPENDENTS if failed else reasons.RECONCILING_DEPENDENTS
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
        reason=reasons.AWAITING_RECONCILIATION,
        message=reasons.means(reasons.AWAITING_RECONCILIATION),
        last_transition=created or now,
        observed_generation=generation,
    )
