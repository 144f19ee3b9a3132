"""The stand-in AWS over HTTP, as boto3 sees it: launching, the life of instances, weather, guards."""

from collections.abc import Generator
from typing import Any

import pytest
from tests.world import aws_account
from tests.world.aws_account import (
    Account,
    Network,
    eventually,
    fleet,
    instance,
    launched,
    refused,
)

pytestmark = pytest.mark.world

TYPES = ["m5.large", "c5.large", "m6a.large"]


@pytest.fixture(scope="module")
def account(tmp_path_factory: pytest.TempPathFactory) -> Generator[Account]:
    with aws_account.running(tmp_path_factory.mktemp("aws") / "world") as running:
        yield running


@pytest.fixture
def place(account: Account) -> Generator[Network]:
    yield aws_account.network(account)
    account.weather()


def test_an_on_demand_fleet_takes_the_cheapest_pool(account: Account, place: Network) -> None:
    answer = fleet(account, place, TYPES)

    assert [group["InstanceType"] for group in answer["Instances"]] == ["c5.large"]
    assert answer["Errors"] == []


def test_a_prioritized_fleet_takes_the_pool_of_least_priority(
    account: Account, place: Network
) -> None:
    answer = fleet(account, place, TYPES, strategy="prioritized", priorities=[2.0, 3.0, 1.0])

    assert answer["Instances"][0]["InstanceType"] == "m6a.large"


def test_a_spot_fleet_takes_the_cheapest_pool_of_the_price_history(
    account: Account, place: Network
) -> None:
    ec2 = account.client("ec2")
    history = ec2.describe_spot_price_history(
        InstanceTypes=TYPES, ProductDescriptions=["Linux/UNIX"], StartTime="2100-01-01T00:00:00Z"
    )["SpotPriceHistory"]
    offered = [row for row in history if row["AvailabilityZone"] != "us-west-2d"]
    cheapest = min(offered, key=lambda row: float(row["SpotPrice"]))

    answer = fleet(
        account, place, TYPES, count=2, capacity="spot", strategy="price-capacity-optimized"
    )

    group = answer["Instances"][0]
    assert group["InstanceType"] == cheapest["InstanceType"]
    echoed = group["LaunchTemplateAndOverrides"]["Overrides"]
    assert echoed["AvailabilityZone"] == cheapest["AvailabilityZone"]
    shown = [instance(account, one) for one in launched(answer)]
    assert [one["InstanceLifecycle"] for one in shown] == ["spot", "spot"]
    assert len({one["SpotInstanceRequestId"] for one in shown}) == 2


def test_a_sold_out_pool_is_an_error_of_the_fleet_and_the_next_one_is_taken(
    account: Account, place: Network
) -> None:
    account.weather(sold_out=[{"instance_type": "c5.large", "capacity_type": "on-demand"}])

    answer = fleet(account, place, TYPES, count=3)

    assert {error["ErrorCode"] for error in answer["Errors"]} == {"InsufficientInstanceCapacity"}
    exhausted = [
        error["LaunchTemplateAndOverrides"]["Overrides"]["InstanceType"]
        for error in answer["Errors"]
    ]
    assert exhausted == ["c5.large"] * 3
    assert [group["InstanceType"] for group in answer["Instances"]] == ["m6a.large"]
    assert len(launched(answer)) == 3


def test_a_fleet_of_nothing_but_sold_out_pools_launches_nothing(
    account: Account, place: Network
) -> None:
    account.weather(sold_out=[{"zone": "*"}])

    answer = fleet(account, place, TYPES)

    assert len(answer["Errors"]) == 9
    assert answer["Instances"] == []


def test_an_unknown_type_is_an_error_of_its_override(account: Account, place: Network) -> None:
    answer = fleet(account, place, ["m5.gigantic", "m5.large"])

    assert {error["ErrorCode"] for error in answer["Errors"]} == {"InvalidParameterValue"}
    assert len(launched(answer)) == 1


def test_the_same_client_token_gives_the_same_instances(account: Account, place: Network) -> None:
    first = fleet(account, place, TYPES, ClientToken="claim-1")
    again = fleet(account, place, TYPES, ClientToken="claim-1")

    assert launched(first) == launched(again)
    code, _ = refused(fleet, account, place, TYPES, count=2, ClientToken="claim-1")
    assert code == "IdempotentParameterMismatch"


def test_a_dry_run_checks_and_launches_nothing(account: Account, place: Network) -> None:
    before = account.client("ec2").describe_instances()["Reservations"]

    code, _ = refused(fleet, account, place, TYPES, DryRun=True)

    assert code == "DryRunOperation"
    after = account.client("ec2").describe_instances()["Reservations"]
    assert len(after) <= len(before)


def test_everything_that_a_launch_template_says_is_on_the_instance(account: Account) -> None:
    disk = {"VolumeSize": 42, "VolumeType": "gp3", "Encrypted": True, "Iops": 4000}
    tags = [{"Key": "from", "Value": "template"}]
    place = aws_account.network(
        account,
        BlockDeviceMappings=[{"DeviceName": "/dev/xvda", "Ebs": disk}],
        MetadataOptions={"HttpTokens": "required", "HttpPutResponseHopLimit": 1},
        Monitoring={"Enabled": True},
        TagSpecifications=[
            {"ResourceType": kind, "Tags": tags} for kind in ("instance", "network-interface")
        ],
    )
    wanted = [{"ResourceType": kind, "Tags": [{"Key": "k", "Value": "v"}]} for kind in ("volume",)]
    ec2 = account.client("ec2")

    answer = fleet(account, place, ["m5.large"], TagSpecifications=wanted)

    shown = instance(account, launched(answer)[0])
    assert shown["IamInstanceProfile"]["Arn"].endswith(f"/{place.profile}")
    assert [group["GroupId"] for group in shown["SecurityGroups"]] == [place.group]
    assert shown["MetadataOptions"]["HttpTokens"] == "required"
    assert shown["MetadataOptions"]["HttpPutResponseHopLimit"] == 1
    assert shown["Monitoring"]["State"] == "enabled"
    assert shown["PrivateDnsName"].endswith(".us-west-2.compute.internal")
    assert {"Key": "from", "Value": "template"} in shown["Tags"]
    interface = ec2.describe_network_interfaces(
        NetworkInterfaceIds=[shown["NetworkInterfaces"][0]["NetworkInterfaceId"]]
    )["NetworkInterfaces"][0]
    assert interface["TagSet"] == tags
    device = shown["BlockDeviceMappings"][0]
    volume = ec2.describe_volumes(VolumeIds=[device["Ebs"]["VolumeId"]])["Volumes"][0]
    assert (device["DeviceName"], volume["Size"], volume["Iops"]) == ("/dev/xvda", 42, 4000)
    assert volume["Encrypted"]
    assert volume["Tags"] == [{"Key": "k", "Value": "v"}]
    user_data = ec2.describe_instance_attribute(
        InstanceId=shown["InstanceId"], Attribute="userData"
    )
    assert user_data["UserData"]["Value"] == "IyEvYmluL3No"


def test_a_templates_own_tags_are_not_among_those_of_what_it_launches(account: Account) -> None:
    def tags(kind: str) -> list[Any]:
        return [{"ResourceType": kind, "Tags": [{"Key": "of", "Value": kind}]}]

    ec2 = account.client("ec2")

    made = ec2.create_launch_template(
        LaunchTemplateName="tagged",
        TagSpecifications=tags("launch-template"),
        LaunchTemplateData={"TagSpecifications": tags("instance")},
    )["LaunchTemplate"]

    template_id = made["LaunchTemplateId"]
    [version] = ec2.describe_launch_template_versions(LaunchTemplateId=template_id)[
        "LaunchTemplateVersions"
    ]
    assert version["LaunchTemplateData"]["TagSpecifications"] == tags("instance")
    [shown] = ec2.describe_launch_templates(LaunchTemplateIds=[template_id])["LaunchTemplates"]
    assert shown["Tags"] == [{"Key": "of", "Value": "launch-template"}]


def test_run_instances_applies_a_launch_template_too(account: Account, place: Network) -> None:
    answer = account.client("ec2").run_instances(
        LaunchTemplate={"LaunchTemplateName": place.template},
        InstanceType="m5.large",
        SubnetId=place.subnets[1],
        MinCount=2,
        MaxCount=2,
    )

    assert len(answer["Instances"]) == 2
    assert {one["IamInstanceProfile"]["Arn"].split("/")[1] for one in answer["Instances"]} == {
        place.profile
    }
    assert {one["Placement"]["AvailabilityZone"] for one in answer["Instances"]} == {"us-west-2b"}


def test_an_instance_is_pending_then_running_then_shutting_down_then_terminated(
    account: Account, place: Network
) -> None:
    ec2 = account.client("ec2")

    def state() -> str:
        return instance(account, one)["State"]["Name"]

    one = launched(fleet(account, place, TYPES))[0]
    assert state() == "pending"
    eventually(lambda: state() == "running", "running")

    first = ec2.terminate_instances(InstanceIds=[one])["TerminatingInstances"][0]
    again = ec2.terminate_instances(InstanceIds=[one])["TerminatingInstances"][0]

    assert first["PreviousState"]["Name"] == "running"
    assert first["CurrentState"]["Name"] == again["CurrentState"]["Name"] == "shutting-down"
    eventually(lambda: state() == "terminated", "terminated")
    shown = instance(account, one)
    assert shown["NetworkInterfaces"] == []
    assert shown["BlockDeviceMappings"] == []


def test_terminating_an_unknown_instance_terminates_none(account: Account, place: Network) -> None:
    one = launched(fleet(account, place, TYPES))[0]
    ec2 = account.client("ec2")

    code, _ = refused(ec2.terminate_instances, InstanceIds=[one, "i-0123456789abcdef0"])

    assert code == "InvalidInstanceID.NotFound"
    assert instance(account, one)["State"]["Name"] in {"pending", "running"}


def test_instances_are_listed_in_pages_that_miss_none(account: Account, place: Network) -> None:
    wanted = set(launched(fleet(account, place, TYPES, count=7)))
    pages = (
        account.client("ec2")
        .get_paginator("describe_instances")
        .paginate(
            Filters=[{"Name": "vpc-id", "Values": [place.vpc]}], PaginationConfig={"PageSize": 5}
        )
    )

    seen = [
        one["InstanceId"]
        for page in pages
        for reservation in page["Reservations"]
        for one in reservation["Instances"]
    ]

    assert len(seen) == 7
    assert set(seen) == wanted


def test_what_an_instance_uses_cannot_be_deleted_until_it_is_terminated(
    account: Account, place: Network
) -> None:
    ec2 = account.client("ec2")
    one = launched(fleet(account, place, TYPES))[0]
    subnet = instance(account, one)["SubnetId"]

    assert refused(ec2.delete_security_group, GroupId=place.group)[0] == "DependencyViolation"
    assert refused(ec2.delete_subnet, SubnetId=subnet)[0] == "DependencyViolation"

    ec2.terminate_instances(InstanceIds=[one])
    eventually(lambda: instance(account, one)["State"]["Name"] == "terminated", "terminated")
    ec2.delete_security_group(GroupId=place.group)
    for subnet in place.subnets:
        ec2.delete_subnet(SubnetId=subnet)
    ec2.delete_vpc(VpcId=place.vpc)


def test_a_deleted_nat_gateway_holds_neither_subnet_nor_address(
    account: Account, place: Network
) -> None:
    ec2 = account.client("ec2")
    address = ec2.allocate_address(Domain="vpc")["AllocationId"]
    gateway = ec2.create_nat_gateway(SubnetId=place.subnets[0], AllocationId=address)
    gateway_id = gateway["NatGateway"]["NatGatewayId"]

    assert refused(ec2.delete_subnet, SubnetId=place.subnets[0])[0] == "DependencyViolation"
    ec2.delete_nat_gateway(NatGatewayId=gateway_id)

    ec2.delete_subnet(SubnetId=place.subnets[0])
    ec2.release_address(AllocationId=address)
