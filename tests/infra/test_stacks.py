"""What must hold for every stack file of this repository."""

import json
from collections import Counter

import pytest
from tests.infra.graph import ISSUER, Graph

UNTAGGABLE = {
    "aws:cloudwatch/eventTarget:EventTarget",
    "aws:ec2/route:Route",
    "aws:ec2/routeTableAssociation:RouteTableAssociation",
    "aws:ec2/tag:Tag",
    "aws:eks/accessPolicyAssociation:AccessPolicyAssociation",
    "aws:ec2/vpcIpv4CidrBlockAssociation:VpcIpv4CidrBlockAssociation",
    "aws:iam/rolePolicy:RolePolicy",
    "aws:iam/rolePolicyAttachment:RolePolicyAttachment",
    "aws:kms/alias:Alias",
    "aws:sqs/queuePolicy:QueuePolicy",
}
DISCOVERY = "karpenter.sh/discovery"
TAG = "aws:ec2/tag:Tag"
DEPLOYMENT = "kubernetes:apps/v1:Deployment"
NODE_POOL = "kubernetes:karpenter.sh/v1:NodePool"
NODE_CLASS = "kubernetes:karpenter.k8s.aws/v1:EC2NodeClass"


def types_of(urns: set[str]) -> Counter[str]:
    return Counter(urn.split("::")[2].split("$")[-1] for urn in urns)


def test_every_resource_that_can_be_tagged_names_its_cluster(stack: Graph) -> None:
    cluster = stack.one("eks:index:Cluster").inputs["name"]
    taggable = [
        resource
        for resource in stack.resources.values()
        if resource.type.startswith(("aws:", "eks:")) and resource.type not in UNTAGGABLE
    ]

    assert taggable
    assert not [
        resource.name
        for resource in taggable
        if resource.inputs.get("tags", {}).get("daiku.dev/cluster") != cluster
    ]


def test_exactly_one_security_group_carries_the_discovery_tag(stack: Graph) -> None:
    tag = stack.one(TAG)

    assert (tag.inputs["key"], tag.inputs["resourceId"]) == (DISCOVERY, "sg-0123456789abcdef0")
    groups = stack.of("aws:ec2/securityGroup:SecurityGroup")
    assert not [group.name for group in groups if DISCOVERY in group.inputs["tags"]]


def test_node_classes_find_the_private_subnets_and_no_others(stack: Graph) -> None:
    found = {s.name for s in stack.of("aws:ec2/subnet:Subnet") if DISCOVERY in s.inputs["tags"]}

    assert found
    assert all("-private-" in name for name in found)
    assert len(found) == len(
        {s.inputs["availabilityZone"] for s in stack.of("aws:ec2/subnet:Subnet")}
    )


def test_each_service_account_role_is_for_exactly_one_service_account(stack: Graph) -> None:
    documents = [json.loads(r.inputs["assumeRolePolicy"]) for r in stack.of("aws:iam/role:Role")]
    federated = [
        statement
        for document in documents
        for statement in document["Statement"]
        if "Federated" in statement["Principal"]
    ]

    conditions = [statement["Condition"]["StringEquals"] for statement in federated]
    assert all(c.keys() == {f"{ISSUER}:aud", f"{ISSUER}:sub"} for c in conditions)
    assert {c[f"{ISSUER}:aud"] for c in conditions} == {"sts.amazonaws.com"}
    subjects = [c[f"{ISSUER}:sub"] for c in conditions]
    assert "system:serviceaccount:kube-system:daiku" in subjects
    assert len(set(subjects)) == len(subjects)
    assert not [subject for subject in subjects if "*" in subject]


def test_launched_nodes_may_join_and_system_nodes_need_no_entry_of_ours(stack: Graph) -> None:
    [entry] = [
        e for e in stack.of("aws:eks/accessEntry:AccessEntry") if e.inputs["type"] == "EC2_LINUX"
    ]

    assert entry.inputs["principalArn"].endswith("-node")
    assert "system" not in entry.inputs["principalArn"]


def test_five_rules_feed_the_queue_which_admits_those_five(stack: Graph) -> None:
    rules = stack.of("aws:cloudwatch/eventRule:EventRule")
    [feed, _] = json.loads(stack.one("aws:sqs/queuePolicy:QueuePolicy").inputs["policy"])[
        "Statement"
    ]

    assert len(rules) == len(stack.of("aws:cloudwatch/eventTarget:EventTarget")) == 5
    admitted = feed["Condition"]["ArnEquals"]["aws:SourceArn"]
    assert {arn.split("/")[-1] for arn in admitted} == {rule.inputs["name"] for rule in rules}


def test_system_nodes_take_system_pods_only(stack: Graph) -> None:
    [taint] = stack.one("aws:eks/nodeGroup:NodeGroup").inputs["taints"]

    assert (taint["key"], taint["effect"]) == ("CriticalAddonsOnly", "NO_SCHEDULE")


def test_the_control_plane_asks_for_what_the_rest_relies_on(stack: Graph) -> None:
    inputs = stack.one("eks:index:Cluster").inputs

    assert inputs["authenticationMode"] == "API"
    assert inputs["createOidcProvider"] is True
    assert inputs["skipDefaultNodeGroup"] is True
    assert inputs["skipDefaultSecurityGroups"] is True
    assert inputs["endpointPrivateAccess"] is True


def test_everything_in_kubernetes_goes_through_the_clusters_own_provider(stack: Graph) -> None:
    inside = [r for r in stack.resources.values() if r.type.startswith("kubernetes:")]

    assert len({resource.provider for resource in inside}) == 1
    assert "pulumi:providers:kubernetes" in inside[0].provider


def test_the_kubeconfig_is_kept_secret(stack: Graph) -> None:
    assert stack.one("pulumi:providers:kubernetes").secrets == {"kubeconfig"}


def test_the_controller_starts_when_all_it_stands_on_is_there(stack: Graph) -> None:
    types = types_of(stack.needs(stack.one(DEPLOYMENT)))

    assert types["kubernetes:apiextensions.k8s.io/v1:CustomResourceDefinition"] >= 3
    assert types["kubernetes:rbac.authorization.k8s.io/v1:ClusterRoleBinding"] == 1
    assert types["aws:eks/nodeGroup:NodeGroup"] == 1
    assert types["aws:iam/policy:Policy"] == 3
    assert types["aws:cloudwatch/eventTarget:EventTarget"] == 5
    assert types["aws:ec2/natGateway:NatGateway"] >= 1
    assert types["aws:ec2/route:Route"] == len(stack.of("aws:ec2/route:Route"))


def test_on_destroy_pools_go_first_then_classes_then_the_controller(stack: Graph) -> None:
    deployment = stack.one(DEPLOYMENT).urn

    for pool in stack.of(NODE_POOL):
        assert {r.urn for r in stack.of(NODE_CLASS)} <= stack.needs(pool)
    for node_class in stack.of(NODE_CLASS):
        assert deployment in stack.needs(node_class)
        assert types_of(stack.needs(node_class))[TAG] == 1
        assert types_of(stack.needs(node_class))["aws:eks/accessEntry:AccessEntry"] == 1


def test_a_destroy_waits_for_nodes_to_be_drained(stack: Graph) -> None:
    pools = stack.of(NODE_POOL)

    assert {pool.delete_timeout for pool in pools} == {"30m"}
    assert {
        pool.inputs["metadata"]["annotations"]["pulumi.com/deletionPropagationPolicy"]
        for pool in pools
    } == {"foreground"}


@pytest.mark.parametrize(
    "name",
    [
        "clusterName",
        "kubeconfig",
        "vpcId",
        "privateSubnetIds",
        "publicSubnetIds",
        "nodeRole",
        "interruptionQueue",
        "nodePools",
    ],
)
def test_a_stack_hands_out_what_others_need(stack: Graph, name: str) -> None:
    assert name in stack.exports
