"""What single values of a stack change."""

import json
from typing import Any

import pulumi
import pytest
from tests.infra import graph
from tests.infra.conftest import run_program, stack_values
from tests.infra.graph import Graph

import daiku_infra as infra
from daiku_infra import crds

NAT = "aws:ec2/natGateway:NatGateway"
ROUTE = "aws:ec2/route:Route"
ADDON = "aws:eks/addon:Addon"


def with_values(**changes: Any) -> Graph:
    return run_program(stack_values("local") | {f"daiku:{k}": v for k, v in changes.items()})


@pytest.mark.parametrize(
    ("gateways", "nat_count", "route_count"),
    [
        pytest.param("none", 0, 1, id="none: only public subnets have a way out"),
        pytest.param("single", 1, 4, id="single: all private subnets share one"),
        pytest.param("perZone", 3, 4, id="per zone: each has its own"),
    ],
)
def test_nat_gateways_are_as_many_as_asked(gateways: str, nat_count: int, route_count: int) -> None:
    made = with_values(natGateways=gateways)

    assert (len(made.of(NAT)), len(made.of(ROUTE))) == (nat_count, route_count)


def test_a_zone_that_is_appended_changes_no_subnet_that_was_there(local: Graph) -> None:
    zones = stack_values("local")["daiku:zones"]

    more = with_values(zones=[*zones, "us-west-2d"])

    before = {s.name: s.inputs for s in local.of("aws:ec2/subnet:Subnet")}
    after = {s.name: s.inputs for s in more.of("aws:ec2/subnet:Subnet")}
    assert before.items() <= after.items()
    assert len(after) == 8


def test_addons_that_run_as_pods_wait_for_nodes_and_nodes_for_the_others() -> None:
    made = with_values(addons=[{"name": "vpc-cni"}, {"name": "coredns", "version": "v1.11.4"}])

    nodes = made.one("aws:eks/nodeGroup:NodeGroup")
    cni, dns = (made.one(ADDON, f"daiku-local-{name}") for name in ("vpc-cni", "coredns"))
    assert cni.urn in made.needs(nodes)
    assert nodes.urn in made.needs(dns)
    assert dns.urn in made.needs(made.one("kubernetes:apps/v1:Deployment"))
    assert dns.inputs["addonVersion"] == "v1.11.4"


def test_a_stack_without_pools_still_gets_its_controller() -> None:
    made = with_values(nodePools=[], nodeClasses=[])

    assert made.one("kubernetes:apps/v1:Deployment")
    assert not made.of("kubernetes:karpenter.sh/v1:NodePool")


def test_keys_of_a_spec_are_sent_as_they_were_written() -> None:
    """Tags and labels may look like Pulumi's own snake_case names, such as api_version."""
    spec = {"amiSelectorTerms": [{"alias": "al2023@latest"}], "tags": {"api_version": "1"}}

    made = with_values(nodeClasses=[{"name": "default", "spec": spec}])

    sent = made.one("kubernetes:karpenter.k8s.aws/v1:EC2NodeClass").inputs["spec"]
    assert sent["tags"]["api_version"] == "1"
    assert sent["instanceProfile"] == "daiku-local-us-west-2-node"


def test_a_crd_is_sent_as_it_was_written(local: Graph) -> None:
    written = {crd["metadata"]["name"]: crd for crd in crds.load(crds.folder())}
    sent = local.of("kubernetes:apiextensions.k8s.io/v1:CustomResourceDefinition")

    assert len(sent) == len(written)
    for crd in sent:
        expected = json.loads(json.dumps(written[crd.inputs["metadata"]["name"]]["spec"]))
        assert crd.inputs["spec"] == expected


def test_a_stack_file_that_cannot_be_followed_registers_nothing() -> None:
    with pytest.raises(infra.ConfigError, match="did you mean perZone"):
        with_values(natGateways="perzone")


def test_the_autoscaler_takes_a_cluster_that_somebody_else_made() -> None:
    def program() -> None:
        cluster = infra.ClusterRef(
            name="theirs",
            region=graph.REGION,
            account_id=graph.ACCOUNT,
            existing_name="theirs",
            endpoint="https://theirs.example.com",
            certificate_authority="Q0E=",
            oidc_provider_arn="arn:aws:iam::123456789012:oidc-provider/theirs",
            oidc_issuer="theirs",
            kubeconfig=pulumi.Output.secret("{}"),
            vpc_id="vpc-1",
            private_subnet_ids=["subnet-1"],
            security_group_id="sg-1",
            system_nodes="theirs",
        )
        nodes = infra.NodeRole("theirs-node", infra.NodeRoleArgs(cluster=cluster))
        scaler = infra.Autoscaler(
            "daiku",
            infra.AutoscalerArgs(
                cluster=cluster, role_arn="arn:role", queue_name="queue", image="controller:1"
            ),
        )
        infra.NodePools(
            "daiku",
            infra.NodePoolsArgs(
                cluster=cluster,
                controller=scaler.controller,
                instance_profile_name=nodes.instance_profile_name,
                node_classes=[infra.NodeClassArgs(name="default", spec={})],
                node_pools=[infra.NodePoolArgs(name="default", spec={})],
            ),
        )

    made = graph.register(program)

    assert not made.of("eks:index:Cluster")
    pool = made.one("kubernetes:karpenter.sh/v1:NodePool")
    assert made.one("kubernetes:apps/v1:Deployment").urn in made.needs(pool)
