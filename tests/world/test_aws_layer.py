"""The stand-in AWS over HTTP, as boto3 sees it: launching, the life of instances, weather, guards."""

import concurrent.futures
import time
from collections.abc import Generator
from pathlib import Path
from typing import Any

import botocore.exceptions
import pytest
from tests.world import aws_account
from tests.world.aws_account import Account, Network, eventually, fleet, instance, launched

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


def refused(call: Any, *arguments: Any, **parameters: Any) -> tuple[str, str]:
    """Code and message of the error that a call ends with."""
    with pytest.raises(botocore.exceptions.ClientError) as caught:
        call(*arguments, **parameters)
    error = caught.value.response["Error"]
    return error["Code"], error["Message"]


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


def test_instance_types_come_in_pages_of_the_size_asked_for(account: Account) -> None:
    pages = (
        account.client("ec2")
        .get_paginator("describe_instance_types")
        .paginate(
            Filters=[{"Name": "processor-info.supported-architecture", "Values": ["arm64"]}],
            PaginationConfig={"PageSize": 50},
        )
    )

    sizes = [len(page["InstanceTypes"]) for page in pages]

    assert set(sizes[:-1]) == {50}
    assert 200 < sum(sizes) < 800


def test_the_price_list_has_a_price_for_every_type_that_is_offered(account: Account) -> None:
    ec2, pricing = account.client("ec2"), account.client("pricing")
    offered = {
        row["InstanceType"]
        for page in ec2.get_paginator("describe_instance_type_offerings").paginate()
        for row in page["InstanceTypeOfferings"]
    }
    wanted = {
        "Shared": "Compute Instance",
        "Dedicated": "Compute Instance (bare metal)",
    }

    listed = 0
    for tenancy, family in wanted.items():
        fields = {"regionCode": "us-west-2", "tenancy": tenancy, "productFamily": family}
        asked = [{"Type": "TERM_MATCH", "Field": k, "Value": v} for k, v in fields.items()]
        pages = pricing.get_paginator("get_products").paginate(
            ServiceCode="AmazonEC2", Filters=asked
        )
        listed += sum(len(page["PriceList"]) for page in pages)

    assert listed == len(offered)


def test_the_images_that_ssm_names_exist(account: Account) -> None:
    ssm, ec2 = account.client("ssm"), account.client("ec2")
    linux = "/aws/service/eks/optimized-ami/1.33/amazon-linux-2023/arm64/standard"
    names = {
        f"{linux}/recommended/image_id": "arm64",
        f"{linux}/amazon-eks-node-al2023-arm64-standard-1.33-v20260915/image_id": "arm64",
        "/aws/service/bottlerocket/aws-k8s-1.35-nvidia/x86_64/latest/image_id": "x86_64",
    }

    for name, architecture in names.items():
        image_id = ssm.get_parameter(Name=name)["Parameter"]["Value"]
        image = ec2.describe_images(ImageIds=[image_id])["Images"][0]
        assert (image["Architecture"], image["State"]) == (architecture, "available")
        assert image["ImageOwnerAlias"] == "amazon"

    code, _ = refused(ssm.get_parameter, Name=f"{linux}/amazon-eks-node-nothing/image_id")
    assert code == "ParameterNotFound"


@pytest.mark.usefixtures("place")
def test_the_weather_throttles_an_operation(account: Account) -> None:
    account.weather(throttle={"DescribeInstances": 1.0})
    ec2 = account.client("ec2")

    ec2.describe_instances()

    assert refused(ec2.describe_instances)[0] == "RequestLimitExceeded"


def test_calls_are_counted_by_service_and_operation(account: Account) -> None:
    before = account.ask("GET", "/_usage").get("sqs:ListQueues", 0)

    account.client("sqs").list_queues()

    assert account.ask("GET", "/_usage")["sqs:ListQueues"] == before + 1


def test_waiting_for_a_message_holds_up_nobody(account: Account) -> None:
    sqs = account.client("sqs")
    queue = sqs.create_queue(QueueName="interruptions")["QueueUrl"]

    with concurrent.futures.ThreadPoolExecutor() as threads:
        waiting = threads.submit(sqs.receive_message, QueueUrl=queue, WaitTimeSeconds=20)
        began = time.monotonic()
        account.client("ec2").describe_vpcs()
        sqs.send_message(QueueUrl=queue, MessageBody="two minutes left")
        messages = waiting.result(timeout=10)["Messages"]

    assert [message["Body"] for message in messages] == ["two minutes left"]
    assert time.monotonic() - began < 5


def test_an_operation_that_is_not_played_is_named_in_the_error(account: Account) -> None:
    ec2 = account.client("ec2")

    code, message = refused(ec2.describe_instance_topology)

    assert code == "UnsupportedOperation"
    assert "ec2:DescribeInstanceTopology" in message


def test_instance_profiles_are_listed_by_their_path(account: Account) -> None:
    iam = account.client("iam")
    iam.create_instance_profile(InstanceProfileName="ours", Path="/daiku/us-west-2/a/")
    iam.create_instance_profile(InstanceProfileName="others", Path="/else/")

    listed = iam.list_instance_profiles(PathPrefix="/daiku/")["InstanceProfiles"]

    assert [profile["InstanceProfileName"] for profile in listed] == ["ours"]


@pytest.mark.parametrize(
    "name",
    [
        "AmazonEKSClusterPolicy",
        "AmazonEKSWorkerNodePolicy",
        "AmazonEKS_CNI_Policy",
        "AmazonEC2ContainerRegistryPullOnly",
        "AmazonSSMManagedInstanceCore",
    ],
)
def test_awss_managed_policies_exist(account: Account, name: str) -> None:
    arn = f"arn:aws:iam::aws:policy/{name}"

    assert account.client("iam").get_policy(PolicyArn=arn)["Policy"]["PolicyName"] == name


def test_a_launch_template_that_is_not_there_is_told_by_the_codes_of_ec2(account: Account) -> None:
    ec2 = account.client("ec2")

    by_id = refused(ec2.delete_launch_template, LaunchTemplateId="lt-0123456789abcdef0")
    by_name = refused(ec2.describe_launch_templates, LaunchTemplateNames=["nothing"])

    assert by_id[0] == "InvalidLaunchTemplateId.NotFound"
    assert by_name[0] == "InvalidLaunchTemplateName.NotFoundException"


def test_an_account_has_neither_capacity_reservations_nor_placement_groups(
    account: Account,
) -> None:
    ec2 = account.client("ec2")

    assert ec2.describe_capacity_reservations()["CapacityReservations"] == []
    assert ec2.describe_placement_groups()["PlacementGroups"] == []


def test_a_folder_without_a_world_is_one_clear_message(tmp_path: Path) -> None:
    done = aws_account.start_and_wait(tmp_path, port=0)

    assert done.returncode == 1
    assert "no laptop world" in done.stderr
    assert "daiku local up" in done.stderr


def test_a_port_that_is_taken_is_one_clear_message(account: Account) -> None:
    port = int(account.world.aws_endpoint.rpartition(":")[2])

    done = aws_account.start_and_wait(Path(account.world.folder), port=port)

    assert done.returncode == 1
    assert f"port {port}" in done.stderr
    assert len(done.stderr.splitlines()) == 1
