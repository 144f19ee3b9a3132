"""A controller that may do nothing any more: what it says, that it asks for nothing hot, and that it recovers.

A real control plane and `daiku run` as a process; the AWS side is the stand-in over HTTP.
"""

import json
import time
from collections.abc import Generator
from typing import Any

import pytest
from tests.conformance import aws_calls
from tests.world import launch_stage
from tests.world.launch_stage import CLAIMS, EVENTS, PODS, Lead, Stage, items, until

from daiku.api import encode

pytestmark = pytest.mark.world

DENIED_SECONDS = 40.0
CALLS_MOST = 15
"""Of one operation within DENIED_SECONDS: what pauses of 1, 2, 4, ... seconds come to, and then some."""
OF_OTHERS = frozenset({"ec2:DescribeInstances"})
"""What the laptop's own boot agent asks too, all the time."""
NODE_CLASS = "/apis/karpenter.k8s.aws/v1/ec2nodeclasses"


@pytest.fixture(scope="module")
def stage(tmp_path_factory: pytest.TempPathFactory) -> Generator[Stage]:
    with launch_stage.standing(tmp_path_factory.mktemp("denied") / "world") as made:
        yield made


@pytest.fixture(scope="module")
def running(stage: Stage, tmp_path_factory: pytest.TempPathFactory) -> Generator[Stage]:
    stage.account.client("sqs").create_queue(QueueName="denied")
    made = Lead(stage, tmp_path_factory.mktemp("controller"))
    made.be("denied", INTERRUPTION_QUEUE="denied")
    yield stage
    made.stop()


def _conditions(found: dict[str, Any]) -> dict[str, dict[str, Any]]:
    return {c["type"]: c for c in found.get("status", {}).get("conditions", [])}


def test_denied_everything_it_says_so_and_waits_and_then_goes_on(running: Stage) -> None:
    running.want("m5.large")
    running.launched(set())
    (launched,) = running.claims()
    deny = [
        {"operation": call.partition(":")[2], "code": "AccessDenied", "status": 403}
        for call in sorted(set(aws_calls.made()))
    ]
    running.account.weather(refusals=deny)
    before, began = running.account.ask("GET", "/_usage"), time.monotonic()
    claim = running.claims()[launched]
    running.client.delete(f"{CLAIMS}/{launched}", encode.deletion(claim["metadata"]["uid"]))
    waiting = running.want("c5.xlarge")

    told = until(
        lambda: [
            c
            for c in _conditions(items(running.client, NODE_CLASS)[0]).values()
            if "AccessDenied" in c.get("message", "")
        ],
        "the EC2NodeClass to say what is denied",
    )
    ending = until(
        lambda: [
            c
            for c in _conditions(running.claims()[launched]).values()
            if c["type"] == "InstanceTerminating" and "AccessDenied" in c.get("message", "")
        ],
        "the NodeClaim to say why its instance still runs",
    )
    time.sleep(max(0.0, DENIED_SECONDS - (time.monotonic() - began)))

    assert {c["type"] for c in told} > {"Ready"}
    assert all("role" in c["message"] for c in told)
    assert (
        "TerminateInstances" in ending[0]["message"]
        or "terminate_instances" in ending[0]["message"]
    )
    after = running.account.ask("GET", "/_usage")
    calls = {name: count - before.get(name, 0) for name, count in after.items()}
    hot = {name: count for name, count in calls.items() if count > CALLS_MOST}
    assert set(hot) <= OF_OTHERS, hot

    running.account.weather()
    until(lambda: launched not in running.claims(), "the claim to go")
    until(running.claims, "a claim for the pod that waits")
    running.launched({launched})
    pods = {p["metadata"]["name"] for p in items(running.client, PODS)}
    assert waiting in pods
    events = json.dumps(items(running.client, EVENTS))
    assert "AccessDenied" in events


def test_a_message_that_is_no_json_is_taken_out_of_the_queue_and_told_in_the_log(
    running: Stage,
) -> None:
    sqs = running.account.client("sqs")
    url = sqs.get_queue_url(QueueName="denied")["QueueUrl"]
    sqs.send_message(QueueUrl=url, MessageBody="{not json")

    def left() -> int:
        wanted = ["ApproximateNumberOfMessages", "ApproximateNumberOfMessagesNotVisible"]
        found = sqs.get_queue_attributes(QueueUrl=url, AttributeNames=wanted)["Attributes"]
        return sum(int(each) for each in found.values())

    until(lambda: left() == 0, "the message to be deleted")
