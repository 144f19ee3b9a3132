"""Every call of AWS that the controller makes, denied: what a person is told, and that it is not asked again hot.

Over HTTP against the stand-in AWS. What a running controller makes of it is in `test_denied_controller`.
"""

from collections.abc import Callable, Generator
from dataclasses import replace
from typing import Any

import pytest
from tests.conformance import aws_calls
from tests.world import aws_account, node_classes
from tests.world.node_classes import NOW, Aws

from daiku.cloud import errors
from daiku.cloud.aws import instance_profiles, instance_status, status
from daiku.cloud.aws.provider import AwsProvider
from daiku.cloud.aws.queue import Queue, Received
from daiku.cloud.aws.session import Session
from daiku.model import labels
from daiku.model.instance_type import LaunchOption
from daiku.model.nodeclass import NodeClass

pytestmark = pytest.mark.world

TAGS = [{"tags": {"no": "such"}}]
CONDITIONS: dict[str, tuple[str, dict[str, Any]]] = {
    "ec2:DescribeSubnets": ("SubnetsReady", {}),
    "ec2:DescribeSecurityGroups": ("SecurityGroupsReady", {}),
    "ec2:DescribeImages": ("AMIsReady", {}),
    "ssm:GetParameter": ("AMIsReady", {}),
    "ec2:DescribeCapacityReservations": (
        "CapacityReservationsReady", {"capacityReservationSelectorTerms": TAGS},
    ),
    "ec2:DescribePlacementGroups": (
        "PlacementGroupReady", {"placementGroupSelector": {"name": "near"}},
    ),
    "iam:GetInstanceProfile": ("InstanceProfileReady", {}),
    "iam:CreateInstanceProfile": ("InstanceProfileReady", {"role": "another"}),
    "iam:AddRoleToInstanceProfile": ("InstanceProfileReady", {"role": "another"}),
    "ec2:DescribeLaunchTemplates": ("ValidationSucceeded", {}),
    "ec2:CreateLaunchTemplate": ("ValidationSucceeded", {}),
    "ec2:CreateFleet": ("ValidationSucceeded", {}),
    "ec2:RunInstances": ("ValidationSucceeded", {}),
    "ec2:DeleteLaunchTemplate": ("ValidationSucceeded", {}),
}  # fmt: skip
"""Call -> condition of the EC2NodeClass that tells of its refusal, and what such a class has in its spec."""


def _options(zone: str = "us-west-2a") -> list[LaunchOption]:
    return [
        LaunchOption(
            instance_type="m5.large",
            zone=zone,
            capacity_type=labels.ON_DEMAND,
            price_usd_per_hour=1,
        )
    ]


def _leaving(aws: Aws) -> NodeClass:
    """A class of its own, whose profile goes with it."""
    found = aws.node_class(role="leaving")
    return replace(found, meta=replace(found.meta, name="leaving", uid="leaving"))


def _release(aws: Aws, provider: AwsProvider) -> None:
    status.release(provider, _leaving(aws))


def _collect(_: Aws, provider: AwsProvider) -> None:
    instance_profiles.collect(provider.session, "demo", (), NOW)


def _queue(provider: AwsProvider) -> Queue:
    return Queue(provider.session, "denied")


def _delete(_: Aws, provider: AwsProvider) -> None:
    queue = _queue(provider)
    queue.receive()
    queue.delete([Received(message_id="1", receipt="r", body="")])


ERRORS: dict[str, Callable[[Aws, AwsProvider], object]] = {
    "ec2:DescribeInstances": lambda _, p: p.list_instances(),
    "ec2:DescribeInstanceStatus": lambda _, p: instance_status.unhealthy(p.session, NOW),
    "ec2:DescribeInstanceTypes": lambda _, p: p.catalogue([], 1),
    "ec2:DescribeInstanceTypeOfferings": lambda _, p: p.catalogue([], 1),
    "ec2:TerminateInstances": lambda _, p: p.terminate("aws:///us-west-2a/i-0123456789abcdef0"),
    "eks:DescribeCluster": lambda _, p: replace(
        p, options=replace(p.options, cluster_endpoint="")
    ).cluster(),
    "arc-zonal-shift:GetManagedResource": lambda _, p: p.shifted_zones(),
    "iam:ListInstanceProfiles": _collect,
    "iam:RemoveRoleFromInstanceProfile": _release,
    "iam:DeleteInstanceProfile": _release,
    "sqs:GetQueueUrl": lambda _, p: _queue(p).receive(),
    "sqs:ReceiveMessage": lambda _, p: _queue(p).receive(),
    "sqs:DeleteMessageBatch": _delete,
}
"""Call -> what makes it; whoever asked gets an error with the code and the remedy."""

KEPT = {
    "ec2:DescribeSpotPriceHistory": "the last prices stay",
    "pricing:GetProducts": "the last prices stay",
    "ec2:CreateTags": "what was launched together is tagged with its claims later",
}
"""Call -> what goes on without it."""


@pytest.fixture(scope="module")
def aws(tmp_path_factory: pytest.TempPathFactory) -> Generator[Aws]:
    with node_classes.running(tmp_path_factory.mktemp("aws") / "world") as running:
        running.account.client("ec2").create_placement_group(GroupName="near", Strategy="cluster")
        running.account.client("sqs").create_queue(QueueName="denied")
        for name in ("another", "leaving"):
            aws_account.role(running.account, name, "ec2.amazonaws.com")
        yield running


@pytest.fixture
def provider(aws: Aws) -> Generator[AwsProvider]:
    """One that has seen nothing yet."""
    yield AwsProvider(Session(aws.account.world.region), aws.provider.options, lambda: NOW)
    aws.account.weather()


def deny(aws: Aws, call: str) -> str:
    """Have one call denied; its code."""
    service, _, operation = call.partition(":")
    code = "UnauthorizedOperation" if service == "ec2" else "AccessDeniedException"
    refusal = {
        "operation": operation,
        "code": code,
        "message": "You are not authorized",
        "status": 403,
    }
    aws.account.weather(refusals=[refusal])
    return code


def asked(aws: Aws, call: str) -> int:
    return aws.account.ask("GET", "/_usage").get(call, 0)


def test_no_call_of_the_controller_is_left_out() -> None:
    assert sorted({*CONDITIONS, *ERRORS, *KEPT}) == sorted(set(aws_calls.made()))


@pytest.mark.parametrize("call", CONDITIONS)
def test_a_denied_call_is_a_condition_of_the_node_class(
    aws: Aws, provider: AwsProvider, call: str
) -> None:
    kind, spec = CONDITIONS[call]
    found = aws.node_class(**spec)
    code = deny(aws, call)
    before = asked(aws, call)

    resolved = status.resolve(provider, found, NOW)

    said = {c.type: c for c in resolved.conditions}
    assert said[kind].status != "True"
    assert code in said[kind].message
    assert "role" in said[kind].message, "the remedy"
    assert said["Ready"].status == "False"
    tried = len(aws.network.subnets) if call == "ec2:RunInstances" else 1
    assert asked(aws, call) - before == tried, "each subnet may be another's"


@pytest.mark.parametrize("call", ERRORS)
def test_a_denied_call_is_an_error_with_its_code_and_the_remedy(
    aws: Aws, provider: AwsProvider, call: str
) -> None:
    if ERRORS[call] is _release:
        aws.resolve(_leaving(aws))
    code = deny(aws, call)
    before = asked(aws, call)

    with pytest.raises(errors.Denied) as told:
        ERRORS[call](aws, provider)

    assert told.value.code == code
    assert "allow it in the controller's IAM role" in str(told.value)
    assert asked(aws, call) - before == 1


@pytest.mark.parametrize("call", ["ec2:DescribeSpotPriceHistory", "pricing:GetProducts"])
def test_without_prices_those_that_are_known_stay_and_the_types_are_on_offer(
    aws: Aws, provider: AwsProvider, call: str
) -> None:
    found = aws.ready()
    deny(aws, call)
    before = asked(aws, call)

    first = provider.catalogue([found], 1)
    second = provider.catalogue([found], 2)

    assert first.instance_types[found.ref] is second.instance_types[found.ref]
    m5 = next(t for t in first.instance_types[found.ref] if t.name == "m5.large")
    on_demand = {o.price_usd_per_hour for o in m5.offerings if o.capacity_type == "on-demand"}
    assert on_demand == {0.096}, "from the list, if it must be"
    assert asked(aws, call) - before == 1


def test_what_cannot_be_tagged_yet_is_listed_all_the_same(aws: Aws, provider: AwsProvider) -> None:
    provider.catalogue([], 1)
    found = aws.ready()
    provider.launch(node_classes.claim("tagged-later"), found, _options())
    deny(aws, "ec2:CreateTags")

    listed = [i.node_claim for i in provider.list_instances()]

    assert listed == ["tagged-later"]
    for instance in provider.list_instances():
        provider.terminate(instance.provider_id)
