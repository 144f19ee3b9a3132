"""What a message of the interruption queue says: from EventBridge's JSON to a kind and the instances concerned.

Pure. A message that is not what it should be is Unreadable; one about something else is of kind `no_op`.

Source: EventBridge events of EC2 ("EC2 Spot Instance Interruption Warning" and its like) and of AWS Health; which of
them count, and for what, is Karpenter's choice.
"""

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Final, cast

from daiku.cloud.aws.answers import part, parts
from daiku.model import interruption

_SHOWN_MOST: Final = 120
_STATES: Final = {
    "stopping": interruption.STOPPED,
    "stopped": interruption.STOPPED,
    "shutting-down": interruption.TERMINATED,
    "terminated": interruption.TERMINATED,
}
Json = dict[str, Any]


class Unreadable(Exception):
    """The message is no event of EventBridge."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Message:
    """One event."""

    kind: str
    """One of `model.interruption`."""
    instance_ids: tuple[str, ...] = ()
    at: datetime | None = None
    """When AWS made the event."""


def parse(body: str | None) -> Message:
    """What a message says.

    Raises:
        Unreadable: It is not JSON, or JSON of another form.
    """
    if body is None:
        raise Unreadable("the message has no body")
    if not body.strip():
        return Message(kind=interruption.NO_OP)
    try:
        event: Any = json.loads(body)
    except ValueError as error:
        raise Unreadable(f"not JSON ({error}): {body[:_SHOWN_MOST]!r}") from error
    if not isinstance(event, dict):
        raise Unreadable(f"a JSON object is expected: {body[:_SHOWN_MOST]!r}")
    known = cast("Json", event)
    version, source, kind = (str(known.get(name)) for name in ("version", "source", "detail-type"))
    reader = _READERS.get((version, source, kind))
    detail: Any = known.get("detail")
    if reader is None or not isinstance(detail, dict):
        return Message(kind=interruption.NO_OP, at=_time(known))
    kind, ids = reader(cast("Json", detail))
    named = tuple(dict.fromkeys(i for i in ids if i.startswith("i-")))
    return Message(kind=kind if named else interruption.NO_OP, instance_ids=named, at=_time(known))


def _time(event: Mapping[str, Any]) -> datetime | None:
    try:
        found = datetime.fromisoformat(str(event.get("time")))
    except ValueError:
        return None
    return found if found.tzinfo is not None else found.replace(tzinfo=UTC)


def _instance(detail: Json) -> list[str]:
    return [str(detail.get("instance-id") or "")]


def _of(kind: str) -> Callable[[Json], tuple[str, list[str]]]:
    return lambda detail: (kind, _instance(detail))


def _state_change(detail: Json) -> tuple[str, list[str]]:
    state = str(detail.get("state") or "").lower()
    kind = _STATES.get(state, interruption.NO_OP)
    return kind, _instance(detail) if kind != interruption.NO_OP else []


def _health(detail: Json) -> tuple[str, list[str]]:
    concerns = detail.get("service") == "EC2" and (
        detail.get("eventTypeCategory") == "scheduledChange"
    )
    if not concerns:
        return interruption.NO_OP, []
    rows: list[Any] = parts(detail, "affectedEntities")
    named = [part({"": row}, "") for row in rows if isinstance(row, dict)]
    return interruption.SCHEDULED_CHANGE, [str(row.get("entityValue") or "") for row in named]


_READERS: Final[dict[tuple[str, str, str], Callable[[Json], tuple[str, list[str]]]]] = {
    ("0", "aws.ec2", "EC2 Spot Instance Interruption Warning"): _of(interruption.SPOT),
    ("0", "aws.ec2", "EC2 Instance Rebalance Recommendation"): _of(interruption.REBALANCE),
    ("0", "aws.ec2", "EC2 Capacity Reservation Instance Interruption Warning"): _of(
        interruption.RESERVATION
    ),
    ("0", "aws.ec2", "EC2 Instance State-change Notification"): _state_change,
    ("0", "aws.health", "AWS Health Event"): _health,
}
"""(version, source, detail type) -> what reads the detail."""
