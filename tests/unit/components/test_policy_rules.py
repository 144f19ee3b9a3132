import json
from typing import Any

import pytest
from policies import rules

CLUSTER = "aws:eks/cluster:Cluster"
POLICY = "aws:iam/policy:Policy"
TEMPLATE = "aws:ec2/launchTemplate:LaunchTemplate"
NODE_CLASS = "kubernetes:karpenter.k8s.aws/v1:EC2NodeClass"
GROUP = "aws:ec2/securityGroup:SecurityGroup"
TAG = "aws:ec2/tag:Tag"
FOUND = {"key": "karpenter.sh/discovery", "resourceId": "sg-1"}


def policy(**statement: Any) -> dict[str, Any]:
    return {"policy": json.dumps({"Statement": [{"Effect": "Allow", **statement}]})}


def disk(encrypted: Any) -> dict[str, Any]:
    return {"blockDeviceMappings": [{"deviceName": "/dev/xvda", "ebs": {"encrypted": encrypted}}]}


OPEN = {"vpcConfig": {"endpointPublicAccess": True}}
LISTED = {"vpcConfig": {"endpointPublicAccess": True, "publicAccessCidrs": ["203.0.113.0/24"]}}
WORLD = {"vpcConfig": {"publicAccessCidrs": ["0.0.0.0/0"]}}
WIDE = policy(Action="ec2:TerminateInstances", Resource="*")


@pytest.mark.parametrize(
    ("check", "resource_type", "props", "part"),
    [
        pytest.param(rules.public_endpoint, CLUSTER, OPEN, "from anywhere", id="open to all"),
        pytest.param(
            rules.public_endpoint, CLUSTER, WORLD, "from anywhere", id="open by its range"
        ),
        pytest.param(rules.public_endpoint, CLUSTER, LISTED, None, id="open to a few"),
        pytest.param(
            rules.public_endpoint,
            CLUSTER,
            {"vpcConfig": {"endpointPublicAccess": False}},
            None,
            id="not open",
        ),
        pytest.param(rules.wide_rights, POLICY, WIDE, "ec2:TerminateInstances", id="ends anything"),
        pytest.param(
            rules.wide_rights, POLICY, policy(Action="*", Resource="*"), "allows *", id="may all"
        ),
        pytest.param(
            rules.wide_rights,
            POLICY,
            policy(Action=["ec2:DescribeInstances", "iam:ListRoles"], Resource="*"),
            None,
            id="looks at anything",
        ),
        pytest.param(
            rules.wide_rights,
            POLICY,
            policy(Action="ec2:CreateTags", Resource="*", Condition={"StringEquals": {"a": "b"}}),
            None,
            id="with a condition",
        ),
        pytest.param(rules.clear_text, CLUSTER, {}, "encryptSecrets", id="secrets"),
        pytest.param(rules.clear_text, "aws:sqs/queue:Queue", {}, "queue", id="queue"),
        pytest.param(rules.clear_text, TEMPLATE, disk("false"), "/dev/xvda", id="disk"),
        pytest.param(rules.clear_text, TEMPLATE, disk("true"), None, id="encrypted disk"),
        pytest.param(
            rules.clear_text, NODE_CLASS, {"spec": disk(encrypted=False)}, "xvda", id="nodes' disk"
        ),
        pytest.param(rules.open_metadata, TEMPLATE, {}, "httpTokens", id="metadata by default"),
        pytest.param(
            rules.open_metadata,
            TEMPLATE,
            {"metadataOptions": {"httpTokens": "required"}},
            None,
            id="metadata by session",
        ),
        pytest.param(rules.open_metadata, NODE_CLASS, {"spec": {}}, None, id="a class's default"),
        pytest.param(
            rules.open_metadata,
            NODE_CLASS,
            {"spec": {"metadataOptions": {"httpTokens": "optional"}}},
            "httpTokens",
            id="a class that opens it",
        ),
        pytest.param(
            rules.untagged, GROUP, {"tags": {"Name": "x"}}, "daiku.dev/cluster", id="tags"
        ),
        pytest.param(rules.untagged, TAG, {}, None, id="what takes no tags"),
    ],
)
def test_a_rule_finds_what_it_is_for_and_nothing_else(
    check: rules.Check, resource_type: str, props: dict[str, Any], part: str | None
) -> None:
    found = " ".join(check(resource_type, props))

    assert (part in found) if part else not found


@pytest.mark.parametrize(
    ("resources", "wrong"),
    [
        pytest.param([(CLUSTER, {}), (TAG, FOUND)], False, id="one, by a tag"),
        pytest.param([(CLUSTER, {})], True, id="none"),
        pytest.param(
            [(TAG, FOUND), (GROUP, {"tags": {"karpenter.sh/discovery": "x"}})], True, id="two"
        ),
        pytest.param(
            [(TAG, FOUND), (TAG, {**FOUND, "resourceId": "subnet-1"})], False, id="subnets too"
        ),
        pytest.param([(GROUP, {"tags": {}})], False, id="a stack without a cluster"),
    ],
)
def test_exactly_one_group_is_found_by_node_classes(
    resources: list[tuple[str, dict[str, Any]]], wrong: bool
) -> None:
    assert bool(rules.discovery_groups(resources)) is wrong
