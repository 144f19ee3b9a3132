"""A spot instance is taken back: its pods run again elsewhere, and the queue is empty. Judged from outside."""

import json
import urllib.request
from typing import Any

import boto3.session
import pytest
from tests.e2e.conftest import ROOT, Journey, wait

pytestmark = pytest.mark.e2e
NOTICE_SECONDS = 30


def _client(journey: Journey, service: str) -> Any:
    session = boto3.session.Session("local", "local", region_name=journey.here.region)
    return session.client(service, endpoint_url=journey.here.aws_endpoint)


def _ask(journey: Journey, method: str, path: str, content: dict[str, Any]) -> Any:
    request = urllib.request.Request(  # noqa: S310 - the world's own address
        journey.here.aws_endpoint + path, data=json.dumps(content).encode(), method=method
    )
    with urllib.request.urlopen(request, timeout=10) as answer:  # noqa: S310 - as above
        return json.load(answer)


def _instances(journey: Journey, *states: str) -> dict[str, dict[str, Any]]:
    filters = [
        {"Name": "tag-key", "Values": ["karpenter.sh/nodepool"]},
        {"Name": "instance-state-name", "Values": list(states)},
    ]
    pages = _client(journey, "ec2").get_paginator("describe_instances").paginate(Filters=filters)
    return {i["InstanceId"]: i for p in pages for r in p["Reservations"] for i in r["Instances"]}


def _all_run(journey: Journey, count: int) -> bool:
    seen = journey.observer.look()
    return seen.running == seen.pods == count


def test_the_program_is_built_and_pods_run_on_spot(journey: Journey) -> None:
    journey.run("pulumi", "stack", "select", "--create", "local", "--non-interactive")
    journey.run("pulumi", "up", "--stack", "local", "--yes", "--skip-preview", "--non-interactive")
    journey.run("kubectl", "apply", "-f", str(ROOT / "examples" / "inflate.yaml"))

    journey.run("kubectl", "scale", "deployment/inflate", "--replicas=5")
    wait("5 pods running", lambda: _all_run(journey, 5), 240)

    running = _instances(journey, "pending", "running")
    assert running
    assert {i["InstanceLifecycle"] for i in running.values()} == {"spot"}


@pytest.mark.parametrize("body", ["not JSON", "[]", "{}", '{"version": "0", "source": "aws.ec2"}'])
def test_a_message_that_means_nothing_is_taken_out_of_the_queue(
    journey: Journey, body: str
) -> None:
    """What comes after it, in this very queue, is still understood."""
    journey.daiku("local", "weather", "message", body)


def test_an_interrupted_instance_is_left_before_it_goes(journey: Journey) -> None:
    before = _instances(journey, "running")
    victim = min(before)
    name = before[victim]["PrivateDnsName"]
    _ask(journey, "PUT", "/_weather", {"notice_seconds": NOTICE_SECONDS})

    _ask(
        journey,
        "POST",
        "/_weather/interrupt",
        {"instance_id": victim, "kind": "spot-interruption"},
    )

    def is_left() -> bool:
        pods: Any = journey.kubectl("get", "pods", "-l", "app=inflate")["items"]
        return all(pod["spec"].get("nodeName") != name for pod in pods)

    left = wait("no pod on the node that goes", is_left, NOTICE_SECONDS)
    moved = wait("5 pods running again", lambda: _all_run(journey, 5), 120)
    print(f"left after {left:.1f} s, running again {moved:.1f} s later")  # noqa: T201 - a figure
    wait("the node gone", lambda: victim not in _instances(journey, "running"), 60)
    place = before[victim]["InstanceType"], before[victim]["Placement"]["AvailabilityZone"]
    after = _instances(journey, "pending", "running")
    new = [after[i] for i in after if i not in before]
    assert new
    assert place not in [(i["InstanceType"], i["Placement"]["AvailabilityZone"]) for i in new]


def test_people_can_read_what_happened(journey: Journey) -> None:
    events: Any = journey.kubectl("get", "events", "-A")["items"]

    reasons = {event["reason"] for event in events}
    assert {"SpotInterrupted", "TerminatingOnInterruption"} <= reasons


def test_the_queue_is_empty_afterwards(journey: Journey) -> None:
    sqs = _client(journey, "sqs")
    (url,) = sqs.list_queues()["QueueUrls"]

    def is_empty() -> bool:
        names = ["ApproximateNumberOfMessages", "ApproximateNumberOfMessagesNotVisible"]
        known = sqs.get_queue_attributes(QueueUrl=url, AttributeNames=names)["Attributes"]
        return all(known[name] == "0" for name in names)

    wait("every message deleted", is_empty, 60)


def test_the_program_can_be_destroyed(journey: Journey) -> None:
    journey.run(
        "pulumi", "destroy", "--stack", "local", "--yes", "--skip-preview", "--non-interactive"
    )

    assert _instances(journey, "pending", "running") == {}
