"""Many launches at once: how they share calls, and that each claim gets one instance and no other's."""

import threading
from collections.abc import Iterator
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest
from tests import build
from tests.unit.daiku_edge import aws_facts

from daiku.cloud import errors as cloud_errors
from daiku.cloud.aws import capacity, launcher, search, wishes
from daiku.cloud.aws.addresses import Addresses
from daiku.cloud.aws.launch_templates import LaunchTemplates
from daiku.cloud.aws.pace import Pace
from daiku.model.instance_type import LaunchOption

TYPE = aws_facts.facts()
OPTION = LaunchOption(
    instance_type=TYPE.name, zone="us-west-2a", capacity_type="on-demand", price_usd_per_hour=0.1
)


class Ec2:
    """EC2 that launches what it is asked for, once for each token; `most` is all it has, `silent` calls get lost."""

    region = "us-west-2"

    def __init__(self, *, most: int = 10_000, silent: int = 0) -> None:
        self.pace, self.lock = Pace(), threading.Lock()
        self.most, self.silent = most, silent
        self.fleets: dict[str, dict[str, Any]] = {}
        self.launched: list[str] = []
        self.asked: list[tuple[str, dict[str, Any]]] = []

    def call(self, service: str, operation: str, **parameters: Any) -> dict[str, Any]:
        assert service == "ec2"
        with self.lock:
            self.asked.append((operation, parameters))
            return self._fleet(parameters) if operation == "create_fleet" else {}

    def _fleet(self, asked: dict[str, Any]) -> dict[str, Any]:
        token = asked["ClientToken"]
        if token not in self.fleets:
            count = asked["TargetCapacitySpecification"]["TotalTargetCapacity"]
            count = min(count, self.most - len(self.launched))
            ids = [f"i-{len(self.launched) + n}" for n in range(count)]
            self.launched += ids
            override = {"InstanceType": TYPE.name, "AvailabilityZone": "us-west-2a"}
            echo = {"LaunchTemplateAndOverrides": {"Overrides": override}}
            got = {"InstanceType": TYPE.name, "InstanceIds": ids, **echo}
            no = {"ErrorCode": "InsufficientInstanceCapacity", "ErrorMessage": "no", **echo}
            short = len(ids) < asked["TargetCapacitySpecification"]["TotalTargetCapacity"]
            self.fleets[token] = {
                "Instances": [got] if ids else [],
                "Errors": [no] if short else [],
            }
        if self.silent:
            self.silent -= 1
            raise cloud_errors.Unreachable("no answer")
        return self.fleets[token]

    def pages(self, service: str, operation: str, **_: Any) -> Iterator[dict[str, Any]]:
        assert (service, operation) in {
            ("ec2", "describe_launch_templates"),
            ("ec2", "describe_instances"),
        }
        yield from ()

    def sent(self, operation: str) -> list[dict[str, Any]]:
        return [parameters for name, parameters in self.asked if name == operation]


def _plan(name: str) -> wishes.Plan:
    claim = build.node_claim(name, launched=False)
    found = aws_facts.node_class()
    return wishes.Plan(
        claim=replace(claim, meta=replace(claim.meta, uid=f"uid-{name}")),
        node_class=found,
        sizing=capacity.sizing_of(found, memory_overhead=0.075, reserved_interfaces=0),
        options=(OPTION,),
        types={TYPE.name: TYPE},
        cluster=aws_facts.CLUSTER,
    )


def _launcher(ec2: Any) -> launcher.Launcher:
    return launcher.Launcher(
        ec2,
        LaunchTemplates(ec2, "demo"),
        build.NOW - timedelta(hours=1),
        Addresses(ec2.pace.monotonic),
    )


def _launch(launching: launcher.Launcher, names: list[str]) -> dict[str, str]:
    """Launch from a thread each; claim -> instance id, or the name of its error."""
    found: dict[str, str] = {}

    def one(name: str) -> None:
        try:
            found[name] = launching.launch(_plan(name)).instance_id
        except cloud_errors.CloudError as error:
            found[name] = type(error).__name__

    threads = [threading.Thread(target=one, args=(name,)) for name in names]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return found


NAMES = [f"default-{n}" for n in range(40)]


def test_launches_that_need_not_wait_have_calls_and_names_of_their_own() -> None:
    ec2 = Ec2()

    _launch(_launcher(ec2), NAMES[:5])

    tags = [{t["Key"] for t in r["TagSpecifications"][0]["Tags"]} for r in ec2.sent("create_fleet")]
    assert len(tags) == 5
    assert all(search.NODE_CLAIM_TAG in keys for keys in tags)


def test_launches_that_wait_share_a_call_and_each_gets_an_instance() -> None:
    ec2 = Ec2()

    found = _launch(_launcher(ec2), NAMES)

    assert len(ec2.sent("create_fleet")) <= 8
    assert sorted(found.values()) == sorted(ec2.launched)
    assert len(set(found.values())) == len(NAMES)


def test_what_was_launched_together_is_tagged_with_its_claim_afterwards() -> None:
    ec2 = Ec2()
    launching = _launcher(ec2)
    found = _launch(launching, NAMES)

    launching.tag_some(100)
    launching.tag_some(100)

    tagged = {r["Resources"][0]: r["Tags"][0]["Value"] for r in ec2.sent("create_tags")}
    assert len(tagged) == len(ec2.sent("create_tags")) > 0
    assert all(found[claim] == instance for instance, claim in tagged.items())


def test_when_there_are_too_few_the_others_learn_what_was_sold_out() -> None:
    ec2 = Ec2(most=20)

    found = _launch(_launcher(ec2), NAMES)

    got = [value for value in found.values() if value.startswith("i-")]
    assert sorted(got) == sorted(ec2.launched)
    assert [v for v in found.values() if v not in got] == ["InsufficientCapacity"] * 20


@pytest.mark.parametrize("retried", [NAMES, list(reversed(NAMES)), NAMES[::3]])
def test_after_no_answer_each_claim_gets_what_was_launched_for_it(retried: list[str]) -> None:
    ec2 = Ec2(silent=100)
    launching = _launcher(ec2)
    assert set(_launch(launching, NAMES).values()) == {"Unreachable"}
    ec2.silent = 0

    found = _launch(launching, retried)

    assert len(ec2.launched) == len(NAMES)
    assert len(set(found.values())) == len(retried)
    assert set(found.values()) <= set(ec2.launched)
