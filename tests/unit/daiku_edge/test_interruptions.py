"""From the queue to the core and back: what is deleted, what comes again, what is only counted."""

import json
import threading
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from prometheus_client import REGISTRY

from daiku.cloud import errors
from daiku.cloud.aws import instance_status
from daiku.cloud.aws.queue import Queue, Received
from daiku.events import Interrupted
from daiku.model import interruption
from daiku.runtime.inbox import Inbox
from daiku.runtime.interruptions import QueueReader, Settlements, StatusCheck

NOW = datetime(2026, 3, 2, 12, tzinfo=UTC)


class Shelf:
    """A queue that gives what it was given, and notes what is deleted."""

    def __init__(self, *bodies: str | None) -> None:
        self.messages = [
            Received(message_id=f"m-{n}", receipt=f"r-{n}", body=body)
            for n, body in enumerate(bodies)
        ]
        self.deleted: list[str] = []

    def receive(self) -> Sequence[Received]:
        return self.messages

    def delete(self, messages: Sequence[Received]) -> None:
        self.deleted += [m.message_id for m in messages]


def spot(instance: str) -> str:
    return json.dumps(
        {
            "version": "0",
            "source": "aws.ec2",
            "detail-type": "EC2 Spot Instance Interruption Warning",
            "time": "2026-03-02T11:59:58Z",
            "detail": {"instance-id": instance},
        }
    )


def read(shelf: Shelf, settle: Sequence[Interrupted] = ()) -> list[Any]:
    """Read once while a core settles what it is told to; gives what the core got."""
    inbox, settlements = Inbox(), Settlements()
    got: list[Any] = []

    def core() -> None:
        got.extend(inbox.take(5.0))
        settlements.put(settle)

    thread = threading.Thread(target=core)
    thread.start()
    QueueReader(
        queue=shelf,
        inbox=inbox,
        settlements=settlements,
        stop=threading.Event(),
        settle_seconds=0.3,
    ).step()
    inbox.wake()
    thread.join()
    return got


def counted(name: str, **labels: str) -> float:
    return REGISTRY.get_sample_value(name, labels) or 0.0


def test_a_message_is_deleted_when_the_core_is_done_with_it() -> None:
    shelf = Shelf(spot("i-1"))
    warning = Interrupted("i-1", interruption.SPOT, "m-0")

    got = read(shelf, settle=[warning])

    assert got == [warning]
    assert shelf.deleted == ["m-0"]


def test_a_message_that_the_core_is_not_done_with_comes_again() -> None:
    shelf = Shelf(spot("i-1"), spot("i-2"))

    read(shelf, settle=[Interrupted("i-2", interruption.SPOT, "m-1")])

    assert shelf.deleted == ["m-1"]


@pytest.mark.parametrize("body", [None, "not JSON", "[]"])
def test_a_message_that_nobody_can_read_is_deleted_and_counted(body: str | None) -> None:
    name = "karpenter_interruption_received_messages_total"
    before = counted(name, message_type="unreadable")
    shelf = Shelf(body)

    got = read(shelf)

    assert (got, shelf.deleted) == ([], ["m-0"])
    assert counted(name, message_type="unreadable") == before + 1


def test_a_message_that_concerns_nobody_is_deleted_and_counted() -> None:
    name = "karpenter_interruption_received_messages_total"
    before = counted(name, message_type="no_op")
    gone = counted("karpenter_interruption_deleted_messages_total")
    shelf = Shelf("", "{}")

    read(shelf)

    assert shelf.deleted == ["m-0", "m-1"]
    assert counted(name, message_type="no_op") == before + 2
    assert counted("karpenter_interruption_deleted_messages_total") == gone + 2


class Sqs:
    """SQS as far as a queue asks it."""

    def __init__(self, **answers: Any) -> None:
        self.answers = answers
        self.asked: list[str] = []

    def call(self, service: str, operation: str, **parameters: Any) -> dict[str, Any]:
        assert service == "sqs"
        assert parameters
        self.asked.append(operation)
        return self.answers.get(operation, {})


def test_the_queue_is_looked_up_once() -> None:
    sqs = Sqs(get_queue_url={"QueueUrl": "http://queue"})
    queue = Queue(sqs, "daiku")  # pyright: ignore[reportArgumentType] a stand-in

    assert [*queue.receive(), *queue.receive()] == []
    assert sqs.asked == ["get_queue_url", "receive_message", "receive_message"]


def test_a_deletion_that_fails_in_part_is_told() -> None:
    sqs = Sqs(delete_message_batch={"Failed": [{"Code": "InternalError", "Message": "no"}]})
    queue = Queue(sqs, "daiku")  # pyright: ignore[reportArgumentType] a stand-in

    with pytest.raises(errors.Unreachable, match="1 of 1 messages were not deleted"):
        queue.delete([Received(message_id="m", receipt="r", body="")])


class Ec2:
    """DescribeInstanceStatus with the same answer to each filter."""

    def __init__(self, *statuses: dict[str, Any]) -> None:
        self.statuses = list(statuses)

    def pages(self, service: str, operation: str, **parameters: Any) -> list[dict[str, Any]]:
        assert (service, operation) == ("ec2", "describe_instance_status")
        assert parameters["Filters"]
        return [{"InstanceStatuses": self.statuses}]


def broken(seconds: float) -> dict[str, Any]:
    since = NOW - timedelta(seconds=seconds)
    return {
        "Status": "impaired",
        "Details": [{"Name": "reachability", "Status": "failed", "ImpairedSince": since}],
    }


@pytest.mark.parametrize(
    ("status", "kinds"),
    [
        pytest.param({"InstanceStatus": broken(120)}, ["instance_status"], id="for two minutes"),
        pytest.param({"InstanceStatus": broken(119)}, [], id="not for long enough"),
        pytest.param({"SystemStatus": broken(500)}, ["system_status"], id="the host"),
        pytest.param({"Events": [{"Code": "instance-stop"}]}, ["event_status"], id="scheduled"),
        pytest.param(
            {"Events": [{"Code": "instance-stop", "Description": "[Completed] stop"}]},
            [],
            id="over already",
        ),
        pytest.param({"Events": [{"Code": "other"}]}, [], id="another event"),
        pytest.param({"AttachedEbsStatus": broken(500)}, [], id="a volume is no machine"),
    ],
)
def test_a_machine_is_unhealthy(status: dict[str, Any], kinds: list[str]) -> None:
    ec2: Any = Ec2({"InstanceId": "i-1", **status})

    assert list(instance_status.unhealthy(ec2, NOW).get("i-1", ())) == kinds


def test_an_episode_is_counted_once_and_told_as_long_as_it_lasts() -> None:
    name = "karpenter_interruption_instance_status_unhealthy_total"
    before = counted(name, category="instance_status")
    inbox = Inbox()
    found = {"i-1": ("instance_status",), "i-strange": ("instance_status",)}
    check = StatusCheck(lambda _now: found, lambda i: i == "i-1", inbox)

    check()
    check()

    assert inbox.take(0) == [Interrupted("i-1", "instance_status")] * 2
    assert counted(name, category="instance_status") == before + 1
