"""Optional parts under the real engine: image, charts, a group of nodes' own, dual stack, regional NAT.

What a laptop cannot do (build layers, render charts) the stand-ins leave out and say so; what the engine does
with the parts (order, diff, replacement, secrets, end) is here as it is anywhere.
"""

from collections.abc import Generator
from typing import Any

import pytest
from tests.world import plugin_stack
from tests.world.plugin_stack import Stack

from daiku_local.world import World

pytestmark = pytest.mark.world

PARTS = """
import daiku_infra as infra

account = aws.get_caller_identity().account_id
ours = {"daiku.dev/cluster": "shop"}
vpc = infra.Vpc("shop", infra.VpcArgs(
    region="us-west-2", cluster_name="shop", tags=ours, ipv6=True,
    zones=["us-west-2a", "us-west-2b"], nat_gateways=infra.NatGateways.REGIONAL,
))
control = aws.ec2.SecurityGroup("control", vpc_id=vpc.vpc_id, description="stands for EKS' own")
nodes = infra.NodeSecurityGroup("nodes", infra.NodeSecurityGroupArgs(
    cluster_name="shop", vpc_id=vpc.vpc_id, cluster_security_group_id=control.id,
    webhook_ports=[15017], tags=ours,
))
image = infra.ControllerImage("c", infra.ControllerImageArgs(cluster_name="shop", tags=ours))
kubernetes = k8s.Provider("k", enable_server_side_apply=True, delete_unreachable=True)
infra.Platform("p", infra.PlatformArgs(
    cluster=infra.ClusterRef(
        name="shop", region="us-west-2", account_id=account, existing_name="shop", tags=ours,
        endpoint="https://shop.example.com", certificate_authority="Q0E=",
        oidc_provider_arn=f"arn:aws:iam::{account}:oidc-provider/shop", oidc_issuer="shop",
        kubeconfig="{}", vpc_id=vpc.vpc_id, private_subnet_ids=[*vpc.private_subnet_ids],
        security_group_id=nodes.security_group_id, system_nodes="shop",
    ),
    load_balancers=True, prometheus=True, keda=%(keda)s,
), ResourceOptions(providers=[kubernetes]))
pulumi.export("image", image.image)
pulumi.export("group", nodes.security_group_id)
"""


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Generator[World]:
    with plugin_stack.world_in(tmp_path_factory.mktemp("parts")) as made:
        yield made


@pytest.fixture(scope="module")
def stack(world: World, tmp_path_factory: pytest.TempPathFactory) -> Generator[Stack]:
    with plugin_stack.stack_in(tmp_path_factory.mktemp("parts"), world) as made:
        made.up(PARTS % {"keda": True})
        yield made


def test_a_second_look_finds_nothing_to_do(stack: Stack) -> None:
    stack.run("preview", "--expect-no-changes")
    stack.run("refresh", "--yes", "--skip-preview", "--expect-no-changes")


def test_the_image_is_in_the_registry_under_a_tag_that_never_moves(
    stack: Stack, world: World
) -> None:
    reference: str = stack.outputs()["image"]

    name, _, digest = reference.partition("@")
    repository, _, tag = name.rpartition("/")[2].partition(":")
    ecr = plugin_stack.client(world, "ecr")
    [found] = ecr.describe_images(repositoryName=f"shop/{repository}")["imageDetails"]
    assert (found["imageTags"], found["imageDigest"]) == ([tag], digest)
    rules = ecr.get_lifecycle_policy(repositoryName=f"shop/{repository}")
    assert "imageCountMoreThan" in rules["lifecyclePolicyText"]


def test_the_registrys_password_is_not_in_the_state(stack: Stack, world: World) -> None:
    ecr = plugin_stack.client(world, "ecr")
    [found] = ecr.get_authorization_token()["authorizationData"]

    state = stack.state_file()

    assert found["authorizationToken"] not in state
    assert '"password": "' not in state


def test_releases_are_recorded_where_helm_looks_for_them(stack: Stack) -> None:
    names = stack.kubectl("get", "secrets", "-A", "-l", "owner=helm", "-o", "name").split()

    assert sorted(names) == [
        "secret/sh.helm.release.v1.aws-load-balancer-controller.v1",
        "secret/sh.helm.release.v1.keda.v1",
        "secret/sh.helm.release.v1.kube-prometheus-stack.v1",
    ]


def test_the_control_plane_reaches_nodes_by_the_ports_that_are_named_and_no_others(
    stack: Stack, world: World
) -> None:
    group = stack.outputs()["group"]
    [found] = plugin_stack.client(world, "ec2").describe_security_groups(GroupIds=[group])[
        "SecurityGroups"
    ]

    def sources(rule: Any) -> list[str]:
        return [pair["GroupId"] for pair in rule["UserIdGroupPairs"]]

    ports = {r["FromPort"] for r in found["IpPermissions"] if sources(r) != [group]}
    assert ports == {443, 4443, 6443, 8443, 9443, 10250, 10251, 15017}
    assert [r["IpProtocol"] for r in found["IpPermissions"] if sources(r) == [group]] == ["-1"]
    assert {"Key": "karpenter.sh/discovery", "Value": "shop"} in found["Tags"]
    assert not [r for r in found["IpPermissions"] if r.get("IpRanges")]


def test_one_nat_gateway_serves_every_zone_and_stands_in_none(stack: Stack) -> None:
    made = stack.state()

    [gateway] = [r for r in made.values() if r["type"] == "aws:ec2/natGateway:NatGateway"]
    assert gateway["inputs"]["availabilityMode"] == "regional"
    assert "subnetId" not in gateway["inputs"]
    subnets = [r for r in made.values() if r["type"] == "aws:ec2/subnet:Subnet"]
    assert all(r["inputs"]["ipv6CidrBlock"] for r in subnets)


def test_a_chart_that_is_wished_for_no_longer_goes_and_nothing_else_does(stack: Stack) -> None:
    stack.write(PARTS % {"keda": False})

    assert {name: op for name, op in stack.steps().items() if op != "read"} == {"p-keda": "delete"}
