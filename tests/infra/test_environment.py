"""What an environment refuses, and what follows from its name and its network."""

import pytest
from tests.infra import conftest, graph
from tests.infra.test_components import with_values

import daiku_infra as infra


def test_an_environment_of_another_region_is_refused() -> None:
    """A program says where it belongs; the provider may have been pointed elsewhere."""
    zones = ["eu-west-1a", "eu-west-1b"]

    def program() -> None:
        vpc = infra.VpcArgs(region="eu-west-1", cluster_name="shop", zones=zones)
        infra.Environment(
            "shop", infra.EnvironmentArgs(cluster_name="shop", region="eu-west-1", vpc=vpc)
        )

    with pytest.raises(infra.PreflightError) as refused:
        graph.register(program)

    said = str(refused.value)
    assert "this stack belongs to eu-west-1, and the provider works in us-west-2" in said
    assert "nothing was changed" in said


def test_the_laptop_stack_is_refused_where_nothing_leads_its_calls_to_the_laptop_world() -> None:
    with pytest.raises(infra.PreflightError, match="AWS_ENDPOINT_URL is not set") as refused:
        conftest.run_program(conftest.stack_values("local"), endpoint="")

    assert "`daiku local exec -- pulumi up --stack local`" in str(refused.value)


def test_pods_with_ipv6_addresses_change_the_cluster_and_what_nodes_may_do() -> None:
    made = with_values(ipv6=True, ipFamily="ipv6")

    assert made.one("eks:index:Cluster").inputs["ipFamily"] == "ipv6"
    assert made.one("aws:ec2/egressOnlyInternetGateway:EgressOnlyInternetGateway")
    policies = {r.name: r.inputs["policy"] for r in made.of("aws:iam/rolePolicy:RolePolicy")}
    assert policies.keys() == {
        "daiku-local-node-cni-ipv6",
        "daiku-local-system-node-cni-ipv6",
    }
    assert all("ec2:AssignIpv6Addresses" in policy for policy in policies.values())
    attached = {
        r.inputs["policyArn"] for r in made.of("aws:iam/rolePolicyAttachment:RolePolicyAttachment")
    }
    assert not [arn for arn in attached if arn.endswith("AmazonEKS_CNI_Policy")]
    profile = made.one("kubernetes:karpenter.k8s.aws/v1:EC2NodeClass")
    assert set(policies) <= {made.resources[urn].name for urn in made.needs(profile)}


def test_the_longest_name_of_a_cluster_makes_names_that_iam_takes() -> None:
    made = with_values(clusterName="c" * 100)

    names = [role.inputs["name"] for role in made.of("aws:iam/role:Role")]
    assert names
    assert len(set(names)) == len(names)
    assert max(map(len, names)) <= 64


def test_the_controller_is_told_what_was_chosen_and_that_its_vpc_has_no_way_out() -> None:
    made = with_values(
        natGateways="none", vpcEndpoints="private", controllerSettings={"logLevel": "debug"}
    )

    [container] = made.one("kubernetes:apps/v1:Deployment").inputs["spec"]["template"]["spec"][
        "containers"
    ]
    told = {each["name"]: each.get("value") for each in container["env"]}
    assert told["ISOLATED_VPC"] == "true"
    assert told["LOG_LEVEL"] == "debug"
    assert "BATCH_MAX_DURATION" not in told
