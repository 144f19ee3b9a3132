"""The stand-in for the plugin `eks` under the real Pulumi engine, with the EKS types of `aws`."""

from collections.abc import Generator
from pathlib import Path

import pytest
from tests.world import plugin_stack
from tests.world.plugin_stack import Stack

from daiku_local.world import World

pytestmark = pytest.mark.world


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Generator[World]:
    with plugin_stack.world_in(tmp_path_factory.mktemp("plugins")) as made:
        yield made


@pytest.fixture
def stack(world: World, tmp_path: Path) -> Generator[Stack]:
    with plugin_stack.stack_in(tmp_path, world) as made:
        yield made


CLUSTER = (
    plugin_stack.NETWORK.replace("{", "{{").replace("}", "}}")
    + """
    skip = {skip}
    cluster = eks.Cluster(
        "main",
        name="plugins",
        version="1.34",
        vpc_id=vpc.id,
        private_subnet_ids=[subnet.id for subnet in subnets],
        authentication_mode=eks.AuthenticationMode.API,
        create_oidc_provider=True,
        upgrade_policy=aws.eks.ClusterUpgradePolicyArgs(support_type="STANDARD"),
        skip_default_node_group=True,
        skip_default_security_groups=skip,
        use_default_vpc_cni=skip,
        kube_proxy_addon_options=eks.KubeProxyAddonOptionsArgs(enabled=not skip),
        coredns_addon_options=eks.CoreDnsAddonOptionsArgs(enabled=False),
        tags={{"team": "a"}},
    )
    inside = k8s.Provider("inside", kubeconfig=cluster.kubeconfig_json)
    k8s.core.v1.Namespace("space", opts=ResourceOptions(provider=inside))
    trust = aws.iam.get_policy_document(
        statements=[
            {{
                "actions": ["sts:AssumeRole", "sts:TagSession"],
                "principals": [
                    {{
                        "type": "Service",
                        "identifiers": ["ec2.amazonaws.com", "pods.eks.amazonaws.com"],
                    }}
                ],
            }}
        ]
    ).json
    role = aws.iam.Role("role", assume_role_policy=trust)
    name = cluster.eks_cluster.name
    entry = aws.eks.AccessEntry("entry", cluster_name=name, principal_arn=role.arn)
    aws.eks.AccessPolicyAssociation(
        "may",
        cluster_name=name,
        principal_arn=entry.principal_arn,
        policy_arn="arn:aws:eks::aws:cluster-access-policy/AmazonEKSViewPolicy",
        access_scope={{"type": "cluster"}},
    )
    aws.eks.PodIdentityAssociation(
        "pods", cluster_name=name, namespace="kube-system", service_account="x", role_arn=role.arn
    )
    aws.eks.NodeGroup(
        "nodes",
        cluster_name=name,
        node_role_arn=aws.iam.Role("node", assume_role_policy=trust).arn,
        subnet_ids=[subnet.id for subnet in subnets],
        scaling_config={{"desired_size": 1, "min_size": 1, "max_size": {size}}},
        taints=[{{"key": "k", "value": "v", "effect": "NO_SCHEDULE"}}],
    )
    aws.eks.Addon("agent", cluster_name=name, addon_name="eks-pod-identity-agent")
    pulumi.export("endpoint", cluster.core.endpoint)
    pulumi.export("issuer", [cluster.oidc_provider_url, cluster.oidc_issuer])
    pulumi.export("groups", [cluster.cluster_security_group_id, cluster.node_security_group_id])
    pulumi.export("kubeconfig", cluster.get_kubeconfig(profile_name="x"))
    pulumi.export(
        "addon",
        aws.eks.get_addon_version(
            addon_name="vpc-cni", kubernetes_version="1.34", most_recent=True
        ).version,
    )
"""
)


def test_a_cluster_is_constructed_and_its_kubeconfig_reaches_it(world: World, stack: Stack) -> None:
    stack.write(CLUSTER.format(skip=True, size=2))
    assert set(stack.steps().values()) <= {"create", "read"}

    stack.up()

    made = stack.outputs()
    assert made["endpoint"] == world.kubernetes_endpoint
    assert made["issuer"] == [
        world.service_account_issuer,
        world.service_account_issuer.removeprefix("https://"),
    ]
    assert len(set(made["groups"])) == 1
    assert world.kubernetes_endpoint in made["kubeconfig"]
    assert "client-key-data" not in stack.state_file()
    stack.run("refresh", "--yes", "--skip-preview", "--expect-no-changes")
    stack.write(CLUSTER.format(skip=True, size=3))
    assert stack.steps() == {"nodes": "update"}
    stack.up()
    stack.run("destroy", "--yes", "--skip-preview")
    assert plugin_stack.client(world, "eks").list_clusters()["clusters"] == []
    assert plugin_stack.own_vpcs(world) == []


def test_a_cluster_has_the_groups_and_add_ons_that_are_not_switched_off(stack: Stack) -> None:
    stack.up(CLUSTER.format(skip=False, size=2))

    made = stack.state()
    assert {"main-kube-proxy", "main-vpc-cni", "main-nodeSecurityGroup"} <= made.keys()
    assert "main-coredns" not in made
    assert len(set(stack.outputs()["groups"])) == 2
    assert stack.steps() == {}
    stack.run("refresh", "--yes", "--skip-preview", "--expect-no-changes")
