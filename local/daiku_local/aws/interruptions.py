"""Interruptions on request: `POST /_weather/interrupt` with `instance_id` and `kind`.

A warning goes through the event bus (`notices`), and the instance ends after its notice; `terminated` ends it without
one; the kinds of a status check only show in DescribeInstanceStatus.
"""

from typing import Any

from daiku_local.aws import clock, notices
from daiku_local.aws.cloud import Asked, Cloud
from daiku_local.aws.ec2 import filters, lifecycle
from daiku_local.aws.errors import AwsError
from daiku_local.aws.notices import BadInterruptionError

CHECKS = ("instance-status", "system-status", "event-status")
KINDS = (*notices.WARNINGS, "terminated", *CHECKS)
_FIELDS = ("instance_id", "kind", "notice_seconds", "since_seconds")
_FILTERS = {
    "instance-status.status": filters.at("InstanceStatus", "Status"),
    "system-status.status": filters.at("SystemStatus", "Status"),
    "event.code": filters.at("Events", "Code"),
    "instance-state-name": filters.at("InstanceState", "Name"),
}


def interrupt(cloud: Cloud, content: Any) -> dict[str, Any]:
    """Interrupt an instance; gives what will happen.

    Raises:
        BadInterruptionError: The request cannot be read, or there is no such instance.
    """
    wanted: dict[str, Any] = content if isinstance(content, dict) else {}  # pyright: ignore[reportUnknownVariableType] JSON
    instance_id, kind = str(wanted.get("instance_id", "")), str(wanted.get("kind", ""))
    if unknown := sorted(set(wanted) - set(_FIELDS)):
        raise BadInterruptionError(f"unknown: {unknown}; known are {list(_FIELDS)}")
    if kind not in KINDS:
        raise BadInterruptionError(f"kind {kind!r} is not one of {', '.join(KINDS)}")
    with cloud.lock:
        cloud.timeline.settle()
        try:
            (instance,) = lifecycle.find(cloud, [instance_id])
        except AwsError as error:
            raise BadInterruptionError(error.message) from error
        notice = float(wanted.get("notice_seconds", cloud.weather.forecast.notice_seconds))
        if kind in CHECKS:
            since = cloud.now() - float(wanted.get("since_seconds", 0))
            cloud.launches.impaired[instance_id] = (kind, since)
            return {"instance_id": instance_id, "kind": kind, "ends_in_seconds": None}
        if kind == "terminated":
            lifecycle.end(cloud, instance)
            return {"instance_id": instance_id, "kind": kind, "ends_in_seconds": 0.0}
        warn, ends = notices.WARNINGS[kind]
        warn(cloud, instance_id)
        if ends:
            cloud.timeline.after(notice, lambda: lifecycle.end(cloud, instance))
        return {
            "instance_id": instance_id,
            "kind": kind,
            "ends_in_seconds": notice if ends else None,
        }


def describe_status(cloud: Cloud, asked: Asked) -> dict[str, Any]:
    """DescribeInstanceStatus of running instances; all are well but those that an experiment broke."""
    rows = [
        _status(cloud, instance)
        for reservation in cloud.ec2.reservations.values()
        for instance in reservation.instances
        if instance.state == "running"
    ]
    wanted: list[str] = asked.get("InstanceIds", [])
    named = [row for row in rows if not wanted or row["InstanceId"] in wanted]
    return {"InstanceStatuses": filters.keep(named, asked.get("Filters", []), _FILTERS)}


def _status(cloud: Cloud, instance: Any) -> dict[str, Any]:
    kind, since = cloud.launches.impaired.get(str(instance.id), ("", 0.0))

    def check(name: str) -> dict[str, Any]:
        if kind != name:
            return {
                "Status": "ok",
                "Details": [{"Name": "reachability", "Status": "passed"}],
            }
        broken = {
            "Name": "reachability",
            "Status": "failed",
            "ImpairedSince": clock.moment(since),
        }
        return {"Status": "impaired", "Details": [broken]}

    event = {"Code": "instance-retirement", "Description": "The instance's host is retired"}
    return {
        "InstanceId": str(instance.id),
        "AvailabilityZone": instance.placement.zone,
        "InstanceState": lifecycle.state_of(instance),
        "InstanceStatus": check("instance-status"),
        "SystemStatus": check("system-status"),
        "Events": [event] if kind == "event-status" else [],
    }


HANDLERS = {"DescribeInstanceStatus": describe_status}
