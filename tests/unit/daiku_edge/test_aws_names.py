"""Instances are called as their nodes.

Source: Karpenter AWS v1.14.1, pkg/controllers/nodeclaim/tagging (a node is needed, every subset of the tags, an
instance that is gone).
"""

from collections.abc import Iterator
from typing import Any

import pytest
from tests import build

from daiku.cloud import errors
from daiku.cloud.aws.pace import Pace
from daiku.cloud.aws.provider import AwsOptions, AwsProvider

OWN = {
    "karpenter.sh/nodepool": "default",
    "karpenter.k8s.aws/ec2nodeclass": "default",
    "eks:eks-cluster-name": "demo",
}


class Ec2:
    """EC2 with one instance that carries these tags; tagging ends with `answer`."""

    region = "us-west-2"

    def __init__(self, tags: dict[str, str], answer: Exception | None = None) -> None:
        self.tags, self.answer = {**OWN, **tags}, answer
        self.pace = Pace()
        self.asked: list[dict[str, Any]] = []

    def call(self, service: str, operation: str, **parameters: Any) -> dict[str, Any]:
        assert (service, operation) == ("ec2", "create_tags")
        self.asked.append(parameters)
        if self.answer is not None:
            raise self.answer
        return {}

    def pages(self, service: str, operation: str, **_: Any) -> Iterator[dict[str, Any]]:
        assert (service, operation) == ("ec2", "describe_instances")
        instance = {
            "InstanceId": "i-1",
            "Placement": {"AvailabilityZone": "us-west-2a"},
            "LaunchTime": build.NOW,
            "State": {"Name": "running"},
            "Tags": [{"Key": key, "Value": value} for key, value in self.tags.items()],
        }
        yield {"Reservations": [{"Instances": [instance]}]}


def provider(ec2: Any) -> AwsProvider:
    return AwsProvider(ec2, AwsOptions(cluster_name="demo"), lambda: build.NOW)


def test_an_instance_is_called_as_its_node() -> None:
    ec2 = Ec2({})
    made = provider(ec2)

    made.list_instances()
    made.names.note("aws:///us-west-2a/i-1", "ip-10-0-0-1.ec2.internal")
    made.names.note("aws:///us-west-2a/i-2", "ip-10-0-0-2.ec2.internal")
    made.list_instances()
    made.list_instances()

    tag = {"Key": "Name", "Value": "ip-10-0-0-1.ec2.internal"}
    assert ec2.asked == [{"Resources": ["i-1"], "Tags": [tag]}]


def test_a_name_that_is_there_stays() -> None:
    ec2 = Ec2({"Name": "of the user"})
    made = provider(ec2)
    made.names.note("aws:///us-west-2a/i-1", "ip-10-0-0-1.ec2.internal")

    made.list_instances()

    assert ec2.asked == []


@pytest.mark.parametrize(
    ("answer", "times"),
    [
        pytest.param(errors.InstanceUnknown("gone"), 1, id="it is gone"),
        pytest.param(errors.Denied("no"), 2, id="denied, so later"),
    ],
)
def test_a_name_that_cannot_be_given(answer: Exception, times: int) -> None:
    ec2 = Ec2({}, answer)
    made = provider(ec2)
    made.names.note("aws:///us-west-2a/i-1", "ip-10-0-0-1.ec2.internal")

    made.list_instances()
    made.list_instances()

    assert len(ec2.asked) == times


def test_a_node_that_has_left_names_nothing() -> None:
    ec2 = Ec2({})
    made = provider(ec2)
    made.names.note("aws:///us-west-2a/i-1", "ip-10-0-0-1.ec2.internal")
    made.names.note("aws:///us-west-2a/i-1", "")

    made.list_instances()

    assert ec2.asked == []
