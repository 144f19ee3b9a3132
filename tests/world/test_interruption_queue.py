"""Warnings on their way: from the stand-in AWS through rules like the program's into the queue, as it is read."""

import json
import uuid
from collections.abc import Generator
from datetime import timedelta

import pytest
from tests.world import aws_account
from tests.world.aws_account import Account, Network, eventually, fleet, instance, launched

from daiku.cloud import errors
from daiku.cloud.aws import instance_status, messages
from daiku.cloud.aws.queue import Queue
from daiku.cloud.aws.session import Session
from daiku.model import interruption
from daiku.runtime import clock

pytestmark = pytest.mark.world

RULES = {
    "state": ("aws.ec2", "EC2 Instance State-change Notification"),
    "spot": ("aws.ec2", "EC2 Spot Instance Interruption Warning"),
    "rebalance": ("aws.ec2", "EC2 Instance Rebalance Recommendation"),
    "reservation": ("aws.ec2", "EC2 Capacity Reservation Instance Interruption Warning"),
    "health": ("aws.health", "AWS Health Event"),
}


@pytest.fixture(scope="module")
def account(tmp_path_factory: pytest.TempPathFactory) -> Generator[Account]:
    with aws_account.running(tmp_path_factory.mktemp("aws") / "world") as running:
        yield running


@pytest.fixture
def session(account: Account, monkeypatch: pytest.MonkeyPatch) -> Session:
    monkeypatch.setenv("AWS_ENDPOINT_URL", account.world.aws_endpoint)
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "local")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "local")
    return Session(account.world.region)


@pytest.fixture
def queue(account: Account, session: Session) -> Generator[Queue]:
    """A queue with the five rules of the program, gone afterwards."""
    name, events = f"q-{uuid.uuid4().hex[:8]}", account.client("events")
    url = account.client("sqs").create_queue(QueueName=name)["QueueUrl"]
    for rule, (source, detail_type) in RULES.items():
        pattern = json.dumps({"source": [source], "detail-type": [detail_type]})
        events.put_rule(Name=f"{name}-{rule}", EventPattern=pattern)
        arn = f"arn:aws:sqs:{account.world.region}:{account.world.account}:{name}"
        events.put_targets(Rule=f"{name}-{rule}", Targets=[{"Id": "queue", "Arn": arn}])
    yield Queue(session, name)
    for rule in RULES:
        events.remove_targets(Rule=f"{name}-{rule}", Ids=["queue"])
        events.delete_rule(Name=f"{name}-{rule}")
    account.client("sqs").delete_queue(QueueUrl=url)


@pytest.fixture
def place(account: Account) -> Generator[Network]:
    yield aws_account.network(account)
    account.weather()


def start(account: Account, place: Network, capacity: str = "spot") -> str:
    (instance_id,) = launched(fleet(account, place, ["m5.large"], capacity=capacity))
    eventually(lambda: instance(account, instance_id)["State"]["Name"] == "running", "running")
    return instance_id


def kinds(queue: Queue, wanted: int) -> list[str]:
    """Kinds of the next messages that are not no_op; each is deleted."""
    found: list[str] = []
    while len(found) < wanted:
        received = queue.receive()
        assert received, f"only {found} came"
        read = [messages.parse(m.body) for m in received]
        found += [m.kind for m in read if m.kind != interruption.NO_OP]
        queue.delete(received)
    return found


@pytest.mark.parametrize(
    ("kind", "expected"),
    [
        ("spot-interruption", interruption.SPOT),
        ("rebalance", interruption.REBALANCE),
        ("reservation-interruption", interruption.RESERVATION),
        ("scheduled-change", interruption.SCHEDULED_CHANGE),
    ],
)
def test_a_warning_reaches_the_queue_as_the_controller_reads_it(
    account: Account, place: Network, queue: Queue, kind: str, expected: str
) -> None:
    instance_id = start(account, place)

    account.ask("POST", "/_weather/interrupt", {"instance_id": instance_id, "kind": kind})

    assert kinds(queue, 1) == [expected]


def test_an_interrupted_instance_goes_when_its_notice_is_over(
    account: Account, place: Network, queue: Queue
) -> None:
    instance_id = start(account, place)
    account.weather(notice_seconds=1)

    answer = account.ask(
        "POST", "/_weather/interrupt", {"instance_id": instance_id, "kind": "spot-interruption"}
    )

    assert answer["ends_in_seconds"] == 1.0
    assert instance(account, instance_id)["State"]["Name"] == "running"
    eventually(lambda: instance(account, instance_id)["State"]["Name"] == "terminated", "its end")
    assert kinds(queue, 3) == [interruption.SPOT, *[interruption.TERMINATED] * 2]


def test_an_instance_that_ends_by_itself_is_announced(
    account: Account, place: Network, queue: Queue
) -> None:
    instance_id = start(account, place)

    account.ask("POST", "/_weather/interrupt", {"instance_id": instance_id, "kind": "terminated"})

    assert set(kinds(queue, 1)) == {interruption.TERMINATED}


def test_a_broken_machine_is_found_by_asking(
    account: Account, place: Network, session: Session
) -> None:
    instance_id = start(account, place)
    now = clock.now()

    account.ask(
        "POST", "/_weather/interrupt", {"instance_id": instance_id, "kind": "system-status"}
    )

    assert instance_status.unhealthy(session, now) == {}
    later = now + timedelta(minutes=3)
    assert instance_status.unhealthy(session, later) == {instance_id: ("system_status",)}


def test_a_queue_that_does_not_exist_is_an_error_with_its_code(session: Session) -> None:
    with pytest.raises(errors.CloudError, match=r"NonExistentQueue|QueueDoesNotExist"):
        Queue(session, "nowhere").receive()
