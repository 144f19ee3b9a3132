"""The stand-in AWS over HTTP beside launching: facts, prices, images, weather, counts, messages."""

import concurrent.futures
import time
from collections.abc import Generator
from pathlib import Path

import pytest
from tests.world import aws_account
from tests.world.aws_account import Account, refused

pytestmark = pytest.mark.world


@pytest.fixture(scope="module")
def account(tmp_path_factory: pytest.TempPathFactory) -> Generator[Account]:
    with aws_account.running(tmp_path_factory.mktemp("aws") / "world") as running:
        yield running


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


def test_the_weather_throttles_an_operation(account: Account) -> None:
    account.weather(throttle={"DescribeInstances": 1.0})
    ec2 = account.client("ec2")

    ec2.describe_instances()

    code, _ = refused(ec2.describe_instances)
    account.weather()
    assert code == "RequestLimitExceeded"


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
