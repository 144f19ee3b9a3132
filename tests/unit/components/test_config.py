import dataclasses
import json
from typing import Any

import pulumi
import pytest

from daiku_infra import config
from daiku_infra.config import ConfigError
from daiku_infra.environment import EnvironmentArgs
from daiku_infra.subnets import NatGateways

CLASS = {"name": "default", "spec": {"amiSelectorTerms": [{"alias": "al2023@latest"}]}}
REFERENCE = {"group": "karpenter.k8s.aws", "kind": "EC2NodeClass", "name": "default"}
TEMPLATE: dict[str, Any] = {"nodeClassRef": REFERENCE, "requirements": []}
POOL = {"name": "default", "spec": {"template": {"spec": TEMPLATE}}}
SMALLEST: dict[str, Any] = {
    "clusterName": "demo",
    "zones": ["us-west-2a", "us-west-2b"],
    "controllerImage": "registry.example.com/controller:1",
}


def parse(**changes: Any) -> EnvironmentArgs:
    values = {key: value for key, value in (SMALLEST | changes).items() if value is not None}
    return config.parse(values, region="us-west-2")


def pool(**template: Any) -> list[dict[str, Any]]:
    return [{"name": "p", "spec": {"template": {"spec": TEMPLATE | template}}}]


def mistakes(**changes: Any) -> list[str]:
    with pytest.raises(ConfigError) as caught:
        parse(**changes)
    return str(caught.value).splitlines()[1:]


def test_the_smallest_stack_gets_the_defaults() -> None:
    stack = parse()

    assert stack.vpc is not None
    assert stack.vpc.cidr_block == "10.0.0.0/16"
    assert stack.vpc.nat_gateways is NatGateways.SINGLE
    assert stack.control_plane.kubernetes_version == "1.36"
    assert [addon.name for addon in stack.addons] == [
        "vpc-cni",
        "kube-proxy",
        "eks-pod-identity-agent",
        "coredns",
    ]
    assert (stack.system_nodes.size, stack.controller_replicas) == (2, 2)


def test_an_empty_list_of_addons_is_an_answer() -> None:
    assert parse(addons=[]).addons == []


def test_pools_and_classes_are_taken_in_the_words_of_the_api() -> None:
    stack = parse(nodeClasses=[CLASS], nodePools=[POOL])

    assert stack.node_classes[0].spec == CLASS["spec"]
    assert stack.node_pools[0].spec == POOL["spec"]


def test_numbers_and_flags_may_be_text_as_pulumi_hands_them_over() -> None:
    stack = parse(controllerReplicas="3", endpointPublicAccess="false")

    assert (stack.controller_replicas, stack.control_plane.endpoint_public_access) == (3, False)


def test_all_mistakes_are_reported_at_once() -> None:
    found = mistakes(
        clusterName=None, zones="us-west-2a", natGateways="singel", controllerReplicas=0
    )

    assert [line.split(":")[1].strip() for line in found] == [
        "clusterName",
        "zones",
        "natGateways",
        "zones",
        "controllerReplicas",
    ]


@pytest.mark.parametrize(
    ("changes", "part"),
    [
        pytest.param({"clustername": "x"}, "did you mean clusterName?", id="wrong case of a key"),
        pytest.param({"natGateway": "none"}, "did you mean natGateways?", id="a letter missing"),
        pytest.param({"qqqq": 1}, "known here: ", id="a key like no other"),
        pytest.param(
            {"systemNodeGroup": {"sise": 2}},
            "daiku:systemNodeGroup.sise: there is no such key; did you mean size?",
            id="an unknown key inside",
        ),
        pytest.param({"natGateways": "perzone"}, "did you mean perZone?", id="wrong case of a word"),
        pytest.param({"controllerReplicas": "two"}, "from 1 to 5", id="a word for a number"),
        pytest.param({"controllerReplicas": True}, "from 1 to 5", id="a flag for a number"),
        pytest.param({"systemNodeGroup": {"size": 0}}, "from 1 to 50", id="a number out of bounds"),
        pytest.param({"systemNodeGroup": 3}, "is not a mapping", id="a number for a mapping"),
        pytest.param({"endpointPublicAccess": "yes"}, "neither true nor false", id="yes for true"),
        pytest.param({"kubernetesVersion": "1.4"}, '"1.36"', id="a version that lost its zero"),
        pytest.param({"clusterName": "a b"}, "letters, digits", id="a name with a blank"),
        pytest.param({"clusterName": "c" * 101}, "101 characters", id="a name too long"),
        pytest.param({"zones": ["us-west-2a"]}, "at least 2 zones", id="one zone only"),
        pytest.param({"zones": ["us-west-2a", "eu-west-1a"]}, "'eu-west-1a'", id="a foreign zone"),
        pytest.param({"vpcCidr": "10.0.0.0/28"}, "/16 to /24", id="a VPC too small"),
        pytest.param({"publicAccessCidrs": ["1.2.3.4/8"]}, "has host bits set", id="host bits"),
        pytest.param({"natGateways": "none"}, "set vpcEndpoints to private", id="no way to AWS"),
        pytest.param({"podCidr": "10.0.0.0/18"}, "overlaps", id="pods inside the VPC's own range"),
        pytest.param({"podCidr": "172.20.0.0/16"}, "AWS adds none of", id="pods in a range that AWS refuses"),
        pytest.param({"ipFamily": "ipv6"}, "set ipv6 to true", id="IPv6 pods in IPv4 subnets"),
        pytest.param(
            {"ipFamily": "ipv6", "ipv6": True, "podCidr": "100.64.0.0/16"}, "leave one of the two out",
            id="IPv4 addresses for IPv6 pods",
        ),
        pytest.param({"flowLogDays": 2}, "write one of 0, 1, 3", id="days that CloudWatch cannot"),
        pytest.param({"logRetentionDays": 0}, "write one of 1, 3", id="logs kept for no time"),
        pytest.param({"existingVpc": {"vpcId": "vpc-1"}}, "leave out zones", id="two networks"),
        pytest.param(
            {"zones": None, "existingVpc": {"vpcId": "vpc-1", "privateSubnetIds": ["subnet-1"]}},
            "1 subnets are listed",
            id="an existing network in one zone",
        ),
        pytest.param(
            {"endpointPublicAccess": False, "publicAccessCidrs": ["1.2.3.0/24"]},
            "leave one of the two out",
            id="ranges of an endpoint that is not public",
        ),
        pytest.param(
            {"nodeSecurity": {"groupIds": ["default"]}},
            "such as [sg-0123456789abcdef0]",
            id="a security group by its name",
        ),
        pytest.param(
            {"nodeSecurity": {"own": True, "webhookPorts": [70000]}},
            "from 1 to 65535",
            id="a port that is none",
        ),
        pytest.param(
            {"nodeSecurity": {"webhookPorts": [8443]}},
            "set own to true",
            id="ports of a group that lets everything in",
        ),
        pytest.param({"identity": "podidentity"}, "did you mean podIdentity?", id="wrong case"),
        pytest.param(
            {"identity": "podIdentity", "addons": []}, "eks-pod-identity-agent", id="no agent"
        ),
        pytest.param(
            {"cni": {"prefixDelegation": True}, "addons": []}, "no add-on vpc-cni", id="no CNI"
        ),
        pytest.param(
            {"access": [{"name": "a", "principalArn": "admins"}]},
            "such as arn:aws:iam",
            id="a principal that is none",
        ),
        pytest.param({"accountId": "1234"}, '"123456789012"', id="an account too short"),
        pytest.param({"controllerImage": None}, "or set buildController to true", id="no image"),
        pytest.param({"buildController": True}, "leave one of the two out", id="an image twice"),
        pytest.param({"platform": {"keta": True}}, "did you mean keda?", id="no such part"),
        pytest.param({"controlPlaneLogs": ["apis"]}, "'apis'", id="a log that is none"),
        pytest.param({"tags": {"eks:x": "y"}}, "choose another", id="a reserved tag"),
        pytest.param({"tags": {"n": 1}}, "put it in quotes", id="a tag that is a number"),
        pytest.param({"nodeClasses": [CLASS, CLASS]}, "listed 2 times", id="a class twice"),
        pytest.param({"nodeClasses": [{"name": "x"}]}, "spec: is missing", id="no spec"),
        pytest.param({"nodePools": ["x"]}, "nodePools[0]: 'x' is not a mapping", id="not a pool"),
        pytest.param({"nodePools": [POOL]}, "no node class of this stack", id="no such class"),
        pytest.param({"nodePools": pool(nodeClassRef=None)}, "nodeClassRef: is missing", id="no ref"),
        pytest.param(
            {"nodeClasses": [CLASS], "nodePools": pool(requirements=[{"key": "a", "operator": "=="}])},
            "requirements[0].operator: '==' is none of In",
            id="an operator that is none",
        ),
        pytest.param(
            {
                "nodeClasses": [CLASS],
                "nodePools": pool(requirements=[{"key": "a", "operator": "Gt", "values": [2]}]),
            },
            "put it in quotes",
            id="a requirement with a bare number",
        ),
    ],
)  # fmt: skip
def test_a_mistake_says_where_it_is_and_what_would_be_right(
    changes: dict[str, Any], part: str
) -> None:
    found = mistakes(**changes)

    assert any(part in line for line in found), found


def test_a_stack_without_a_region_is_told_which_key_is_missing() -> None:
    with pytest.raises(ConfigError, match=r"aws:region: is missing.*us-west-2"):
        config.parse(SMALLEST, region=None)


def test_the_message_begins_with_how_many_and_that_nothing_was_changed() -> None:
    with pytest.raises(ConfigError, match="has 1 mistake; nothing was changed"):
        parse(natGateways="many")


def test_a_stack_file_reads_the_same_through_pulumi() -> None:
    encoded = {
        f"daiku:{key}": value if isinstance(value, str) else json.dumps(value)
        for key, value in SMALLEST.items()
    }
    pulumi.runtime.set_all_config({**encoded, "aws:region": "us-west-2", "aws:profile": "x"})

    assert config.load() == dataclasses.replace(parse(), aws_profile="x")
