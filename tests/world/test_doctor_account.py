"""The checks of an AWS account, against the stand-in AWS: each trap is laid, found, and taken away again."""

import json
from collections.abc import Generator
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from tests import build
from tests.world import aws_account
from tests.world.aws_account import Account, Network
from typer.testing import CliRunner, Result

from daiku.cli.doctoring import account as checks
from daiku.cli.doctoring.evidence import Evidence
from daiku.cli.main import app
from daiku.cloud.aws.session import Session
from daiku.model import labels
from daiku.model.instance_type import NodeClassRef

pytestmark = pytest.mark.world

REF = NodeClassRef(group="karpenter.k8s.aws", kind="EC2NodeClass", name="default")


@pytest.fixture(scope="module")
def account(tmp_path_factory: pytest.TempPathFactory) -> Generator[Account]:
    with aws_account.running(tmp_path_factory.mktemp("aws") / "world") as running:
        yield running


@pytest.fixture
def place(account: Account) -> Network:
    return aws_account.network(account)


@pytest.fixture
def cluster(account: Account, place: Network) -> Generator[str]:
    eks, name = account.client("eks"), f"c-{place.vpc[-8:]}"
    role = aws_account.role(account, f"{name}-cluster", "eks.amazonaws.com")
    eks.create_cluster(
        name=name,
        roleArn=role,
        resourcesVpcConfig={"subnetIds": place.subnets[:2]},
        accessConfig={"authenticationMode": "API"},
    )
    aws_account.eventually(
        lambda: eks.describe_cluster(name=name)["cluster"]["status"] == "ACTIVE", "the cluster"
    )
    yield name
    eks.delete_cluster(name=name)


def examined(
    monkeypatch: pytest.MonkeyPatch,
    account: Account,
    cluster: str,
    *,
    pools: Any = (),
    later: timedelta = timedelta(0),
    **status: Any,
) -> list[str]:
    """Names of the checks that find something."""
    for key, value in {
        "AWS_ENDPOINT_URL": account.world.aws_endpoint,
        "AWS_ACCESS_KEY_ID": "local",
        "AWS_SECRET_ACCESS_KEY": "local",
    }.items():
        monkeypatch.setenv(key, value)
    node_class = replace(build.node_class(REF), status=status)
    asked = checks.Account(
        session=Session(account.world.region),
        cluster=cluster,
        evidence=Evidence(objects=(node_class, *pools), documents=()),
        now=datetime.now(UTC) + later,  # noqa: TID251 - images age in real time
    )
    notes: list[str] = []
    found = checks.examine(asked, notes)
    assert not notes
    return sorted({each.check for each in found})


def test_one_of_several_groups_may_carry_the_tag_of_the_cluster(
    monkeypatch: pytest.MonkeyPatch, account: Account, place: Network, cluster: str
) -> None:
    ec2 = account.client("ec2")
    other = ec2.create_security_group(GroupName="other", Description="x", VpcId=place.vpc)[
        "GroupId"
    ]
    groups = [{"id": place.group}, {"id": other}]
    tag = [{"Key": f"kubernetes.io/cluster/{cluster}", "Value": "owned"}]

    ec2.create_tags(Resources=[place.group], Tags=tag)
    assert examined(monkeypatch, account, cluster, securityGroups=groups) == []
    ec2.create_tags(Resources=[other], Tags=tag)
    found = examined(monkeypatch, account, cluster, securityGroups=groups)

    assert found == ["discovery-tag-on-several-groups"]


def test_subnets_need_room_and_more_than_one_zone(
    monkeypatch: pytest.MonkeyPatch, account: Account, place: Network, cluster: str
) -> None:
    small = account.client("ec2").create_subnet(
        VpcId=place.vpc, CidrBlock="10.0.250.0/28", AvailabilityZone="us-west-2a"
    )["Subnet"]["SubnetId"]

    wide = examined(monkeypatch, account, cluster, subnets=[{"id": s} for s in place.subnets])
    narrow = examined(monkeypatch, account, cluster, subnets=[{"id": small}])

    assert wide == []
    assert narrow == ["one-zone", "subnet-out-of-addresses"]


def test_the_role_of_nodes_is_let_in_and_may_be_taken_by_ec2(
    monkeypatch: pytest.MonkeyPatch, account: Account, place: Network, cluster: str
) -> None:
    eks, iam = account.client("eks"), account.client("iam")
    profile = {"instanceProfile": place.profile}

    without = examined(monkeypatch, account, cluster, **profile)
    eks.create_access_entry(clusterName=cluster, principalArn=place.role, type="EC2_LINUX")
    let_in = examined(monkeypatch, account, cluster, **profile)
    name = place.role.rpartition("/")[2]
    trusted = json.dumps(iam.get_role(RoleName=name)["Role"]["AssumeRolePolicyDocument"])
    iam.update_assume_role_policy(
        RoleName=name, PolicyDocument=trusted.replace("ec2.amazonaws.com", "lambda.amazonaws.com")
    )
    untrusted = examined(monkeypatch, account, cluster, **profile)

    assert (without, let_in, untrusted) == (["access-entry-missing"], [], ["trust-policy"])


def test_an_account_that_has_never_bought_spot_lacks_a_role(
    monkeypatch: pytest.MonkeyPatch, account: Account, cluster: str
) -> None:
    spot = build.node_pool(
        requirements=build.needs(build.require(labels.CAPACITY_TYPE, "In", labels.SPOT))
    )
    on_demand = build.node_pool(
        requirements=build.needs(build.require(labels.CAPACITY_TYPE, "In", labels.ON_DEMAND))
    )

    iam = account.client("iam")
    assert examined(monkeypatch, account, cluster, pools=[spot]) == []

    iam.delete_role(RoleName="AWSServiceRoleForEC2Spot")
    assert examined(monkeypatch, account, cluster, pools=[on_demand]) == []
    assert examined(monkeypatch, account, cluster, pools=[spot]) == ["spot-service-linked-role"]
    iam.create_service_linked_role(AWSServiceName="spot.amazonaws.com")
    assert examined(monkeypatch, account, cluster, pools=[spot]) == []


def test_images_grow_old(
    monkeypatch: pytest.MonkeyPatch, account: Account, place: Network, cluster: str
) -> None:
    images = {"amis": [{"id": place.image}]}

    assert examined(monkeypatch, account, cluster, **images) == []
    years = timedelta(days=365 * 20)
    assert examined(monkeypatch, account, cluster, later=years, **images) == ["deprecated-image"]


def test_leftovers_are_those_of_the_cluster_and_of_nobody_else(
    account: Account, place: Network
) -> None:
    ec2 = account.client("ec2")
    tags = [
        {"Key": "kubernetes.io/cluster/gone", "Value": "owned"},
        {"Key": "karpenter.sh/nodepool", "Value": "web"},
    ]
    [one] = aws_account.launched(
        aws_account.fleet(
            account,
            place,
            ["m5.large"],
            TagSpecifications=[{"ResourceType": "instance", "Tags": tags}],
        )
    )
    environ = {
        "AWS_ENDPOINT_URL": account.world.aws_endpoint,
        "AWS_ACCESS_KEY_ID": "local",
        "AWS_SECRET_ACCESS_KEY": "local",
        "AWS_REGION": account.world.region,
    }

    def asked(cluster: str, *more: str) -> Result:
        named = {**environ, "CLUSTER_NAME": cluster}
        return CliRunner().invoke(app, ["doctor", "--leftovers", *more], env=named)

    listed = json.loads(asked("gone", "--format", "json").stdout)
    assert [(each["kind"], each["id"], each["owner"]) for each in listed] == [
        ("instance", one, "web")
    ]
    assert asked("gone", "--strict").exit_code == 3
    assert asked("other", "--strict").stdout == "Nothing is left.\n"
    ec2.terminate_instances(InstanceIds=[one])
    aws_account.eventually(lambda: "Nothing" in asked("gone").stdout, "the instance to be gone")
    assert asked("").exit_code == 2
