# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false
"""SQS: long polling that lets others through.

moto waits for a message inside the call, up to 20 seconds, and calls into moto are made one at a time.
So the wait is done here, without the cloud's lock, and moto is asked once there is a message.
"""

import json
import time
from typing import Any

from daiku_local.aws import moto_door
from daiku_local.aws.cloud import Asked, Cloud

LOOK_AGAIN_SECONDS = 0.1
WAIT_SECONDS_MOST = 20


def wait_for_messages(cloud: Cloud, asked: Asked) -> bytes:
    """Wait as long as a ReceiveMessage asks to; gives the request that asks for no more waiting."""
    end = time.monotonic() + _seconds(cloud, asked)
    while time.monotonic() < end and not _has_messages(cloud, asked):
        time.sleep(LOOK_AGAIN_SECONDS)
    return json.dumps({**asked, "WaitTimeSeconds": 0}).encode()


def _queue(cloud: Cloud, asked: Asked) -> Any:
    """Moto's queue, None if there is none: moto has the right error for that."""
    name = str(asked.get("QueueUrl", "")).rpartition("/")[2]
    return moto_door.sqs(cloud.world.account, asked.region).queues.get(name)


def _seconds(cloud: Cloud, asked: Asked) -> float:
    with cloud.lock:
        queue = _queue(cloud, asked)
        default = 0 if queue is None else int(queue.receive_message_wait_time_seconds or 0)
    return min(float(asked.get("WaitTimeSeconds", default)), WAIT_SECONDS_MOST)


def _has_messages(cloud: Cloud, asked: Asked) -> bool:
    with cloud.lock:
        queue = _queue(cloud, asked)
        return queue is None or bool(queue.messages)


WAITS = {"ReceiveMessage": wait_for_messages}
