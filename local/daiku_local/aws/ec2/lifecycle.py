# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false
"""The life of an instance: pending, running, shutting-down, terminated, forgotten.

moto has instances running at once and lists the terminated for ever. Here each state takes the time that the
weather says, and a terminated instance is listed for a minute (an hour in reality).
"""

from typing import Any

from daiku_local.aws import notices
from daiku_local.aws.cloud import Asked, Cloud
from daiku_local.aws.ec2 import moto_instance
from daiku_local.aws.errors import AwsError

CODES = {
    "pending": 0,
    "running": 16,
    "shutting-down": 32,
    "terminated": 48,
    "stopping": 64,
    "stopped": 80,
}
FORGOTTEN_AFTER_SECONDS = 60.0
ENDED = ("shutting-down", "terminated")


def set_state(instance: Any, name: str) -> None:
    """Put an instance in a state."""
    instance.instance_state.name = name
    instance.instance_state.code = CODES[name]


def begin(cloud: Cloud, instance: Any) -> None:
    """Have a new instance be pending, then running."""
    set_state(instance, "pending")
    notices.state_changed(cloud, instance)

    def run() -> None:
        if instance.state == "pending":
            set_state(instance, "running")
            notices.state_changed(cloud, instance)

    cloud.timeline.after(cloud.weather.forecast.pending_seconds, run)


def end(cloud: Cloud, instance: Any) -> None:
    """Have an instance shut down, be terminated and in the end be forgotten; twice is as once."""
    if instance.state in ENDED:
        return
    set_state(instance, "shutting-down")
    notices.state_changed(cloud, instance)

    def terminate() -> None:
        held = moto_instance.terminate(instance)
        notices.state_changed(cloud, instance)
        cloud.timeline.after(FORGOTTEN_AFTER_SECONDS, lambda: forget(held))

    def forget(held: dict[Any, list[str]]) -> None:
        moto_instance.forget(cloud, instance, held)
        cloud.launches.by_instance.pop(str(instance.id), None)
        cloud.launches.impaired.pop(str(instance.id), None)

    cloud.timeline.after(cloud.weather.forecast.stopping_seconds, terminate)


def is_seen(cloud: Cloud, instance: Any) -> bool:
    """Whether EC2 describes an instance already; a new one is not known everywhere at once."""
    launched = cloud.launches.by_instance.get(str(instance.id))
    return launched is None or cloud.now() - launched.at >= cloud.weather.forecast.unseen_seconds


def find_seen(cloud: Cloud, instance_ids: list[str]) -> list[Any]:
    """Moto's instances of these ids, in their order, as a client sees them.

    Raises:
        AwsError: An id has another form, or there is no such instance, or it is too new.
    """
    found = find(cloud, instance_ids)
    for instance in found:
        if not is_seen(cloud, instance):
            raise AwsError(
                "InvalidInstanceID.NotFound", f"The instance ID '{instance.id}' does not exist"
            )
    return found


def check_tagged(cloud: Cloud, asked: Asked) -> None:
    """CreateTags: an instance that is not seen yet cannot be tagged either."""
    find_seen(cloud, [one for one in asked.get("Resources", []) if one.startswith("i-")])


def find(cloud: Cloud, instance_ids: list[str]) -> list[Any]:
    """Moto's instances of these ids, in their order.

    Raises:
        AwsError: An id has another form, or there is no such instance.
    """
    for instance_id in instance_ids:
        if not instance_id.startswith("i-"):
            raise AwsError(
                "InvalidInstanceID.Malformed", f'Invalid id: "{instance_id}" (expecting "i-...")'
            )
    known = {
        str(instance.id): instance
        for reservation in cloud.ec2.reservations.values()
        for instance in reservation.instances
    }
    if missing := [instance_id for instance_id in instance_ids if instance_id not in known]:
        plural = len(missing) > 1
        raise AwsError(
            "InvalidInstanceID.NotFound",
            f"The instance ID{'s' if plural else ''} '{', '.join(missing)}' "
            f"do{'' if plural else 'es'} not exist",
        )
    return [known[instance_id] for instance_id in instance_ids]


def terminate_instances(cloud: Cloud, asked: Asked) -> dict[str, Any]:
    """TerminateInstances: all of them, or none when one is unknown or protected."""
    instances = find_seen(cloud, asked.get("InstanceIds", []))
    for instance in instances:
        if instance.disable_api_termination:
            raise AwsError(
                "OperationNotPermitted",
                f"The instance '{instance.id}' may not be terminated. Modify its "
                "'disableApiTermination' instance attribute and try again.",
            )
    check_dry_run(asked)
    changes: list[dict[str, Any]] = []
    for instance in instances:
        before = state_of(instance)
        end(cloud, instance)
        changes.append(
            {
                "InstanceId": str(instance.id),
                "CurrentState": state_of(instance),
                "PreviousState": before,
            }
        )
    return {"TerminatingInstances": changes}


def state_of(instance: Any) -> dict[str, Any]:
    """The state as replies show it."""
    return {"Code": int(instance.state_code), "Name": str(instance.state)}


def check_dry_run(asked: Asked) -> None:
    """End a dry run, once everything was checked.

    Raises:
        AwsError: DryRunOperation, which tells the caller that the request would have succeeded.
    """
    if asked.get("DryRun"):
        raise AwsError(
            "DryRunOperation",
            "Request would have succeeded, but DryRun flag is set.",
            status=412,
        )


HANDLERS = {"TerminateInstances": terminate_instances}
BEFORE = {"CreateTags": check_tagged}
