"""One launch: the request that goes out, what is found instead of made, and what an answer means."""

import base64
from collections.abc import Iterator
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest
import yaml
from tests import build
from tests.unit.daiku_edge import aws_facts

from daiku.cloud import errors as cloud_errors
from daiku.cloud.aws import capacity, errors, launcher, wishes
from daiku.cloud.aws.addresses import Addresses
from daiku.cloud.aws.launch_templates import LaunchTemplates
from daiku.cloud.aws.pace import Pace
from daiku.model import labels
from daiku.model.instance_type import LaunchOption
from daiku.model.nodeclaim import NodeClaim
from daiku.model.nodeclass import NodeClass
from daiku.model.taints import Taint

TYPES = {
    t.name: t
    for t in (
        aws_facts.facts(),
        aws_facts.facts("m5.xlarge", 4, 16384, 4, 15),
        aws_facts.facts("m6g.large", architecture="arm64"),
    )
}


class Ec2:
    """EC2 as far as a launch asks it: remembers what was asked, answers what it was told to."""

    region = "us-west-2"

    def __init__(self, *answers: Any, running: dict[str, Any] | None = None) -> None:
        self.answers = list(answers)
        self.running = running
        self.pace = Pace()
        self.asked: list[tuple[str, dict[str, Any]]] = []

    def call(self, service: str, operation: str, **parameters: Any) -> dict[str, Any]:
        assert service == "ec2"
        self.asked.append((operation, parameters))
        if operation != "create_fleet":
            return {}
        answer = self.answers.pop(0)
        if isinstance(answer, Exception):
            raise answer
        return answer

    def pages(self, service: str, operation: str, **parameters: Any) -> Iterator[dict[str, Any]]:
        assert service == "ec2"
        self.asked.append((operation, parameters))
        if operation == "describe_instances" and self.running is not None:
            yield {"Reservations": [{"Instances": [self.running]}]}

    def sent(self, operation: str) -> list[dict[str, Any]]:
        return [parameters for name, parameters in self.asked if name == operation]


def _got(kind: str, zone: str = "us-west-2a") -> dict[str, Any]:
    override = {"InstanceType": kind, "AvailabilityZone": zone}
    return {
        "Instances": [
            {
                "InstanceType": kind,
                "InstanceIds": ["i-1"],
                "LaunchTemplateAndOverrides": {"Overrides": override},
            }
        ]
    }


def _no(code: str, kind: str, zone: str = "us-west-2a") -> dict[str, Any]:
    override = {"InstanceType": kind, "AvailabilityZone": zone}
    return {
        "ErrorCode": code,
        "ErrorMessage": "no",
        "LaunchTemplateAndOverrides": {"Overrides": override},
    }


def _option(kind: str, price: float, zone: str = "us-west-2a") -> LaunchOption:
    return LaunchOption(
        instance_type=kind, zone=zone, capacity_type="on-demand", price_usd_per_hour=price
    )


OPTIONS = (_option("m5.large", 0.096), _option("m5.xlarge", 0.192), _option("m6g.large", 0.077))


def _plan(claim: NodeClaim | None = None, node_class: NodeClass | None = None) -> wishes.Plan:
    found = node_class or aws_facts.node_class()
    return wishes.Plan(
        claim=claim or build.node_claim("default-1", launched=False),
        node_class=found,
        sizing=capacity.sizing_of(found, memory_overhead=0.075, reserved_interfaces=0),
        options=OPTIONS,
        types=TYPES,
        cluster=aws_facts.CLUSTER,
    )


def _launcher(ec2: Any, *, started_after: bool = False) -> launcher.Launcher:
    """A launcher of a process that began before the claim was made, or after."""
    started = build.NOW + timedelta(hours=1 if started_after else -1)
    return launcher.Launcher(
        ec2, LaunchTemplates(ec2, "demo"), started, Addresses(ec2.pace.monotonic)
    )


def test_one_fleet_is_asked_for_with_every_pool_and_its_price() -> None:
    ec2 = Ec2(_got("m6g.large"))

    made = _launcher(ec2).launch(_plan())

    (request,) = ec2.sent("create_fleet")
    overrides = [o for c in request["LaunchTemplateConfigs"] for o in c["Overrides"]]
    assert request["Type"] == "instant"
    assert {(o["InstanceType"], o["SubnetId"], o["ImageId"], o["Priority"]) for o in overrides} == {
        ("m5.large", "subnet-a1", "ami-x86", 0.096),
        ("m5.xlarge", "subnet-a1", "ami-x86", 0.192),
        ("m6g.large", "subnet-a1", "ami-arm", 0.077),
    }
    assert (made.instance_type, made.image, made.instance_id) == ("m6g.large", "ami-arm", "i-1")


def test_types_that_take_another_number_of_pods_get_a_template_of_their_own() -> None:
    ec2 = Ec2(_got("m5.large"))

    _launcher(ec2).launch(_plan())

    assert len(ec2.sent("create_launch_template")) == 3
    names = {request["LaunchTemplateName"] for request in ec2.sent("create_launch_template")}
    assert all(name.startswith("karpenter.k8s.aws/") for name in names)


def test_a_template_is_made_once_for_all_claims_that_want_it() -> None:
    ec2 = Ec2(_got("m5.large"), _got("m5.large"))
    launching = _launcher(ec2)

    launching.launch(_plan(build.node_claim("default-1", launched=False)))
    launching.launch(_plan(build.node_claim("default-2", launched=False)))

    assert len(ec2.sent("create_launch_template")) == 3
    assert len(ec2.sent("describe_launch_templates")) == 1


def test_the_instance_says_whose_it_is() -> None:
    ec2 = Ec2(_got("m5.large"))

    _launcher(ec2).launch(_plan(node_class=aws_facts.node_class(tags={"team": "payments"})))

    (request,) = ec2.sent("create_fleet")
    tags = {t["Key"]: t["Value"] for t in request["TagSpecifications"][0]["Tags"]}
    assert tags == {
        "team": "payments",
        "kubernetes.io/cluster/demo": "owned",
        "eks:eks-cluster-name": "demo",
        "karpenter.k8s.aws/ec2nodeclass": "default",
        "karpenter.sh/nodepool": "default",
        "karpenter.sh/nodeclaim": "default-1",
    }


def test_a_template_says_whose_it_is_because_the_controller_may_make_no_other() -> None:
    ec2 = Ec2(_got("m5.large"))

    _launcher(ec2).launch(_plan())

    request = ec2.sent("create_launch_template")[0]
    own = {t["Key"] for t in request["TagSpecifications"][0]["Tags"]}
    kinds = {s["ResourceType"] for s in request["LaunchTemplateData"]["TagSpecifications"]}
    assert own >= {"karpenter.sh/nodepool", "kubernetes.io/cluster/demo", "eks:eks-cluster-name"}
    assert kinds == {"network-interface"}


def test_the_template_holds_everything_of_the_node_class() -> None:
    ec2 = Ec2(_got("m5.large"))
    found = aws_facts.node_class(
        detailedMonitoring=True,
        associatePublicIPAddress=False,
        metadataOptions={"httpPutResponseHopLimit": 2, "httpTokens": "required"},
        blockDeviceMappings=[
            {"deviceName": "/dev/xvda", "ebs": {"volumeSize": "50G", "encrypted": False, "iops": 0}}
        ],
    )

    _launcher(ec2).launch(_plan(node_class=found))

    data = ec2.sent("create_launch_template")[0]["LaunchTemplateData"]
    assert data["IamInstanceProfile"] == {"Name": "nodes"}
    assert data["Monitoring"] == {"Enabled": True}
    assert data["MetadataOptions"]["HttpPutResponseHopLimit"] == 2
    assert data["MetadataOptions"]["InstanceMetadataTags"] == "disabled"
    assert data["BlockDeviceMappings"] == [
        {"DeviceName": "/dev/xvda", "Ebs": {"Encrypted": False, "VolumeSize": 47}}
    ]
    (interface,) = data["NetworkInterfaces"]
    assert interface["Groups"] == ["sg-1"]
    assert interface["AssociatePublicIpAddress"] is False


def test_the_machine_is_told_its_labels_taints_and_number_of_pods() -> None:
    ec2 = Ec2(_got("m5.large"))
    claim = build.node_claim("a", launched=False, taints=(Taint("gpu", "NoSchedule", "yes"),))

    _launcher(ec2).launch(_plan(claim))

    data = ec2.sent("create_launch_template")[0]["LaunchTemplateData"]
    text = base64.b64decode(data["UserData"]).decode()
    document = yaml.safe_load(text.split("application/node.eks.aws")[1].split("\n--//--")[0])
    config = document["spec"]["kubelet"]["config"]
    assert config["maxPods"] == 29
    assert [t["key"] for t in config["registerWithTaints"]] == ["gpu", labels.UNREGISTERED_TAINT]
    (flag,) = document["spec"]["kubelet"]["flags"]
    assert "karpenter.sh/capacity-type=on-demand" in flag
    assert "karpenter.sh/do-not-sync-taints=true" in flag
    assert labels.ZONE not in flag


def test_pools_that_are_sold_out_are_told_beside_the_instance() -> None:
    ec2 = Ec2({**_got("m5.large"), "Errors": [_no("InsufficientInstanceCapacity", "m6g.large")]})

    made = _launcher(ec2).launch(_plan())

    assert made.sold_out == (("m6g.large", "us-west-2a", "on-demand"),)


def test_no_capacity_anywhere_is_insufficient_capacity_with_every_pool() -> None:
    ec2 = Ec2({"Errors": [_no("InsufficientInstanceCapacity", o.instance_type) for o in OPTIONS]})

    with pytest.raises(cloud_errors.InsufficientCapacity) as refused:
        _launcher(ec2).launch(_plan())

    assert len(refused.value.sold_out) == 3
    assert refused.value.code == "InsufficientInstanceCapacity"


def test_a_denied_launch_is_denied_though_some_pools_were_sold_out() -> None:
    problems = [
        _no("InsufficientInstanceCapacity", "m5.large"),
        _no("UnauthorizedOperation", "m5.xlarge"),
    ]

    with pytest.raises(cloud_errors.Denied):
        _launcher(Ec2({"Errors": problems})).launch(_plan())


RUNNING = {
    "InstanceId": "i-7",
    "InstanceType": "m5.large",
    "Placement": {"AvailabilityZone": "us-west-2b"},
    "ImageId": "ami-x86",
    "Tags": [{"Key": "karpenter.sh/nodeclaim", "Value": "default-1"}],
}


def test_a_claim_of_an_earlier_process_may_have_an_instance_that_is_found() -> None:
    ec2 = Ec2(running=RUNNING)

    made = _launcher(ec2, started_after=True).launch(_plan())

    assert (made.instance_id, made.zone) == ("i-7", "us-west-2b")
    assert ec2.sent("create_fleet") == []


def test_an_instance_that_was_listed_is_found_and_never_launched_again() -> None:
    # Such as that of a claim which this process launched, and which a restored backup knows as it was before.
    listed = replace(_plan(), options=())
    ec2, gone = Ec2(running=RUNNING), Ec2()

    assert _launcher(ec2).launch(listed).instance_id == "i-7"
    with pytest.raises(cloud_errors.InstanceNotFound, match="is gone"):
        _launcher(gone).launch(listed)

    assert ec2.sent("create_fleet") == gone.sent("create_fleet") == []


def test_after_no_answer_the_same_token_is_used_again() -> None:
    ec2 = Ec2(cloud_errors.Unreachable("gone"), _got("m5.large"))
    launching = _launcher(ec2)
    with pytest.raises(cloud_errors.Unreachable):
        launching.launch(_plan())

    launching.launch(_plan())

    first, second = ec2.sent("create_fleet")
    assert first["ClientToken"] == second["ClientToken"]
    assert len(ec2.sent("describe_instances")) == 1


def test_after_a_definite_no_another_token_is_used() -> None:
    ec2 = Ec2(cloud_errors.LaunchRefused("no"), _got("m5.large"))
    launching = _launcher(ec2)
    with pytest.raises(cloud_errors.LaunchRefused):
        launching.launch(_plan())

    launching.launch(_plan())

    first, second = ec2.sent("create_fleet")
    assert first["ClientToken"] != second["ClientToken"]


def test_a_template_that_somebody_removed_is_made_again() -> None:
    ec2 = Ec2(
        errors.ResourceNotFound("no template", code="InvalidLaunchTemplateName.NotFoundException"),
        _got("m5.large"),
    )

    _launcher(ec2).launch(_plan())

    assert len(ec2.sent("create_launch_template")) == 6


def test_a_class_without_a_usable_image_or_subnet_has_no_capacity() -> None:
    found = aws_facts.node_class()
    bare = NodeClass(
        meta=found.meta, ref=found.ref, ready=True, spec=found.spec, status={"instanceProfile": "n"}
    )

    with pytest.raises(cloud_errors.InsufficientCapacity, match="none of 3 offerings"):
        _launcher(Ec2()).launch(_plan(node_class=bare))
