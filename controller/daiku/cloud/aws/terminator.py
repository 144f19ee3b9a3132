"""TerminateInstances for many instances at once.

EC2 ends all of a call or none: when it refuses, each instance is asked for by itself, so that one that is gone or
protected does not keep the others.
"""

from collections.abc import Sequence
from typing import Final

from daiku.cloud import errors
from daiku.cloud.aws.answers import parts
from daiku.cloud.aws.batching import Batcher
from daiku.cloud.aws.session import Session

OPEN_SECONDS: Final = 0.1
"""How long others may join; nobody waits for the end of a machine."""
INSTANCES_MAX: Final = 500


def make(session: Session) -> Batcher[str, str, str]:
    """What terminates instances: given an id, it gives the state that the instance has afterwards."""

    def execute(_key: str, ids: Sequence[str]) -> Sequence[str | errors.CloudError]:
        try:
            states = _terminate(session, list(dict.fromkeys(ids)))
        except errors.CloudError as error:
            if len(ids) == 1 or isinstance(error, errors.Throttled):
                return [error] * len(ids)
            return [_alone(session, instance_id) for instance_id in ids]
        return [states.get(i) or _alone(session, i) for i in ids]

    return Batcher(
        name="terminate_instances",
        execute=execute,
        open_seconds=lambda: OPEN_SECONDS,
        items_max=INSTANCES_MAX,
    )


def _alone(session: Session, instance_id: str) -> str | errors.CloudError:
    try:
        state = _terminate(session, [instance_id]).get(instance_id)
    except errors.CloudError as error:
        return error
    return state or errors.Unreachable(f"EC2 did not say what became of instance {instance_id}")


def _terminate(session: Session, ids: Sequence[str]) -> dict[str, str]:
    answer = session.call("ec2", "terminate_instances", InstanceIds=list(ids))
    return {
        str(i["InstanceId"]): str(i["CurrentState"]["Name"])
        for i in parts(answer, "TerminatingInstances")
    }
