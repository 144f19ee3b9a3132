"""Machines that EC2 itself calls broken, or has scheduled something for: asked for, since no message tells.

A failed check counts after two minutes, for many mend themselves; a scheduled event counts at once unless it is over.

Source: EC2 DescribeInstanceStatus; Karpenter's instance status controller.
"""

from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Any, Final

from daiku.cloud.aws.answers import part, parts
from daiku.cloud.aws.session import Session
from daiku.model import interruption

IMPAIRED: Final = timedelta(seconds=120)
EVENTS: Final = (
    "instance-reboot",
    "system-reboot",
    "system-maintenance",
    "instance-retirement",
    "instance-stop",
)
OVER: Final = ("[Completed]", "[Canceled]")
"""How the description of an event begins that will not happen any more."""
_FILTERS: Final = (
    {"Name": "instance-status.status", "Values": ["impaired"]},
    {"Name": "system-status.status", "Values": ["impaired"]},
    {"Name": "event.code", "Values": list(EVENTS)},
)


def unhealthy(session: Session, now: datetime) -> Mapping[str, tuple[str, ...]]:
    """Instance id -> kinds of `model.interruption`, in the order of the ids.

    Raises:
        CloudError: EC2 refused.
    """
    found: dict[str, dict[str, bool]] = {}
    for condition in _FILTERS:
        for page in session.pages("ec2", "describe_instance_status", Filters=[condition]):
            for status in page["InstanceStatuses"]:
                kinds = dict.fromkeys(_kinds(status, now), True)
                found.setdefault(str(status["InstanceId"]), {}).update(kinds)
    return {i: tuple(kinds) for i, kinds in sorted(found.items()) if kinds}


def _kinds(status: Mapping[str, Any], now: datetime) -> list[str]:
    found: list[str] = []
    if _has_failed(part(status, "InstanceStatus"), now):
        found.append(interruption.INSTANCE_STATUS)
    if _has_failed(part(status, "SystemStatus"), now):
        found.append(interruption.SYSTEM_STATUS)
    if any(
        event.get("Code") in EVENTS and not str(event.get("Description", "")).startswith(OVER)
        for event in parts(status, "Events")
    ):
        found.append(interruption.EVENT_STATUS)
    return found


def _has_failed(check: Mapping[str, Any], now: datetime) -> bool:
    return any(
        detail.get("Status") == "failed"
        and isinstance(since := detail.get("ImpairedSince"), datetime)
        and now - since >= IMPAIRED
        for detail in parts(check, "Details")
    )
