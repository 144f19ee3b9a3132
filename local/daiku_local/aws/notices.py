# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false
"""What AWS announces about instances, on the account's event bus; the program's own rules bring it to its queue.

Each change of an instance's state is announced by itself; warnings come when an experiment asks for them
(`POST /_weather/interrupt`), and what was warned of then really happens. moto would add a field that EventBridge does
not have, so events are handed to its rules directly. Input templates of targets are not played.
"""

import copy
import uuid
from collections.abc import Callable, Mapping
from typing import Any

from daiku_local.aws import moto_door
from daiku_local.aws.cloud import Cloud


class BadInterruptionError(Exception):
    """An interruption that cannot be played; the message says why."""


def announce(
    cloud: Cloud, source: str, detail_type: str, detail: Mapping[str, Any], *resources: str
) -> None:
    """Put an event on the default bus. The caller holds the cloud's lock."""
    backend = moto_door.events(cloud.world.account, cloud.world.region)
    rules = list(backend.event_buses["default"].rules.values())
    event: dict[str, Any] = {
        "version": "0",
        "id": str(uuid.uuid4()),
        "detail-type": detail_type,
        "source": source,
        "account": cloud.world.account,
        "time": cloud.now(),
        "region": cloud.world.region,
        "resources": list(resources),
        "detail": dict(detail),
    }
    for rule in rules:
        if rule.state == "ENABLED":
            rule.send_to_targets(copy.deepcopy(event), transform_input=False)


def state_changed(cloud: Cloud, instance: Any) -> None:
    """Announce the state that an instance has now."""
    detail = {"instance-id": str(instance.id), "state": str(instance.state)}
    arn = _arn(cloud, str(instance.id))
    announce(cloud, "aws.ec2", "EC2 Instance State-change Notification", detail, arn)


def spot_interruption(cloud: Cloud, instance_id: str) -> None:
    """Warn that a spot instance is taken back."""
    detail = {"instance-id": instance_id, "instance-action": "terminate"}
    arn = _arn(cloud, instance_id)
    announce(cloud, "aws.ec2", "EC2 Spot Instance Interruption Warning", detail, arn)


def rebalance(cloud: Cloud, instance_id: str) -> None:
    """Recommend to leave a spot instance."""
    detail = {"instance-id": instance_id}
    arn = _arn(cloud, instance_id)
    announce(cloud, "aws.ec2", "EC2 Instance Rebalance Recommendation", detail, arn)


def reservation_interruption(cloud: Cloud, instance_id: str) -> None:
    """Warn that a capacity reservation is taken back from an instance."""
    detail = {"instance-id": instance_id, "instance-action": "terminate"}
    kind = "EC2 Capacity Reservation Instance Interruption Warning"
    announce(cloud, "aws.ec2", kind, detail, _arn(cloud, instance_id))


def scheduled_change(cloud: Cloud, instance_id: str) -> None:
    """Have AWS Health tell of a retirement."""
    detail = {
        "eventArn": f"arn:aws:health:{cloud.world.region}::event/EC2/{uuid.uuid4()}",
        "service": "EC2",
        "eventTypeCode": "AWS_EC2_PERSISTENT_INSTANCE_RETIREMENT_SCHEDULED",
        "eventTypeCategory": "scheduledChange",
        "eventDescription": [{"language": "en_US", "latestDescription": "a host is retired"}],
        "affectedEntities": [{"entityValue": instance_id}],
    }
    announce(cloud, "aws.health", "AWS Health Event", detail, _arn(cloud, instance_id))


def _arn(cloud: Cloud, instance_id: str) -> str:
    return f"arn:aws:ec2:{cloud.world.region}:{cloud.world.account}:instance/{instance_id}"


WARNINGS: dict[str, tuple[Callable[[Cloud, str], None], bool]] = {
    "spot-interruption": (spot_interruption, True),
    "rebalance": (rebalance, False),
    "reservation-interruption": (reservation_interruption, True),
    "scheduled-change": (scheduled_change, False),
}
"""Kind of interruption -> what announces it, and whether the instance goes when the notice is over."""
