"""IAM policy documents as plain values.

The controller's permissions are one table, `controller_statements`: each row names the calls that
the controller makes, and the narrowest set of resources they need. Whatever changes or removes
something asks for the tags that the controller puts on its own, so that it can touch nothing else
of the account. Rows are gathered into three managed policies, since one may hold no more than 6,144
characters. No Pulumi in here; ARNs that are known late are put in by the components.
"""

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

POLICY_SIZE_MAX = 6144
"""Characters of one managed policy, white space not counted."""

Conditions = Mapping[str, Mapping[str, str | Sequence[str]]]
Document = dict[str, Any]


class PolicyName(StrEnum):
    """The managed policies of the controller."""

    NODES = "nodes"
    """Launch, tag and terminate instances."""
    PROFILES = "profiles"
    """Hand the node role to instances, and keep instance profiles for it."""
    READING = "reading"
    """Look at what AWS offers and at what is announced."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Scope:
    """What one controller's statements are about."""

    partition: str
    """Partition of the account, such as "aws"."""
    region: str
    """Region of the cluster."""
    account: str
    """Account id, 12 digits."""
    cluster: str
    """Name of the cluster."""
    node_role_arn: str
    """The role that launched nodes have."""
    queue_arn: str
    """The queue that interruptions are announced in."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Statement:
    """One permission: these calls, on these resources, under these conditions."""

    policy: PolicyName
    """The managed policy it belongs to."""
    sid: str
    """What it is for, in one word of letters and digits."""
    actions: Sequence[str]
    """The calls, such as ec2:CreateFleet."""
    resources: Sequence[str]
    """ARNs, with * where any will do."""
    conditions: Conditions = field(default_factory=dict[str, dict[str, str]])
    """Operator, then condition key, then what it must be."""

    def encode(self) -> Document:
        """Write it as IAM reads it."""
        row: Document = {
            "Sid": self.sid,
            "Effect": "Allow",
            "Action": _one_or_many(self.actions),
            "Resource": _one_or_many(self.resources),
        }
        if self.conditions:
            row["Condition"] = {operator: dict(keys) for operator, keys in self.conditions.items()}
        return row


def controller_statements(scope: Scope) -> list[Statement]:
    """Everything that the controller may do in AWS."""
    return [*_node_statements(scope), *_profile_statements(scope), *_reading_statements(scope)]


def controller_documents(scope: Scope) -> dict[PolicyName, Document]:
    """The controller's managed policies."""
    statements = controller_statements(scope)
    return {
        name: document(row.encode() for row in statements if row.policy is name)
        for name in PolicyName
    }


def document(statements: Iterable[Document]) -> Document:
    """Put statements into one policy document."""
    return {"Version": "2012-10-17", "Statement": list(statements)}


def render(policy: Document) -> str:
    """Write a document as IAM counts its size: without white space."""
    return json.dumps(policy, separators=(",", ":"))


def service_trust(service: str) -> Document:
    """Who may assume a role: a service of AWS, such as ec2.amazonaws.com."""
    return document(
        [{"Effect": "Allow", "Principal": {"Service": service}, "Action": "sts:AssumeRole"}]
    )


def service_account_trust(
    *, provider_arn: str, issuer: str, namespace: str, service_account: str
) -> Document:
    """Who may assume a role: exactly one ServiceAccount of one cluster.

    Args:
        provider_arn: IAM's OIDC provider of the cluster.
        issuer: The cluster's token issuer, with or without https://.
        namespace: Namespace of the ServiceAccount.
        service_account: Its name.
    """
    host_and_path = issuer.removeprefix("https://")
    return document(
        [
            {
                "Effect": "Allow",
                "Principal": {"Federated": provider_arn},
                "Action": "sts:AssumeRoleWithWebIdentity",
                "Condition": {
                    "StringEquals": {
                        f"{host_and_path}:aud": "sts.amazonaws.com",
                        f"{host_and_path}:sub": f"system:serviceaccount:{namespace}:{service_account}",
                    }
                },
            }
        ]
    )


def queue_policy(*, queue_arn: str, rule_arns: Sequence[str]) -> Document:
    """Who may use the interruption queue: the rules that feed it, and nobody without TLS."""
    return document(
        [
            {
                "Sid": "FeedFromRules",
                "Effect": "Allow",
                "Principal": {"Service": "events.amazonaws.com"},
                "Action": "sqs:SendMessage",
                "Resource": queue_arn,
                "Condition": {"ArnEquals": {"aws:SourceArn": list(rule_arns)}},
            },
            {
                "Sid": "DenyHTTP",
                "Effect": "Deny",
                "Principal": "*",
                "Action": "sqs:*",
                "Resource": queue_arn,
                "Condition": {"Bool": {"aws:SecureTransport": "false"}},
            },
        ]
    )


def _node_statements(scope: Scope) -> list[Statement]:
    """Instances and their launch templates: made with our tags, touched by our tags."""

    def ec2(*kinds: str, account: str = "*") -> list[str]:
        start = f"arn:{scope.partition}:ec2:{scope.region}"
        return [f"{start}:{account}:{kind}/*" for kind in kinds]

    made = ec2(
        "fleet",
        "instance",
        "volume",
        "network-interface",
        "launch-template",
        "spot-instances-request",
    )
    shared = ["security-group", "subnet", "capacity-reservation", "placement-group"]
    launch = ["ec2:CreateFleet", "ec2:RunInstances"]
    own = _own_resource(scope)
    asked_own = _own_request(scope)
    at_creation = {"ec2:CreateAction": ["CreateFleet", "CreateLaunchTemplate", "RunInstances"]}
    eks_tag = "eks:eks-cluster-name"
    return [
        Statement(
            policy=PolicyName.NODES,
            sid="LaunchFromWhatTheAccountShares",
            actions=launch,
            resources=[*ec2("image", "snapshot", account=""), *ec2(*shared)],
        ),
        Statement(
            policy=PolicyName.NODES,
            sid="LaunchFromOwnTemplates",
            actions=launch,
            resources=ec2("launch-template"),
            conditions=own,
        ),
        Statement(
            policy=PolicyName.NODES,
            sid="LaunchWithOwnTags",
            actions=[*launch, "ec2:CreateLaunchTemplate"],
            resources=made,
            conditions=asked_own,
        ),
        Statement(
            policy=PolicyName.NODES,
            sid="TagWhileLaunching",
            actions=["ec2:CreateTags"],
            resources=made,
            conditions=_also(asked_own, "StringEquals", at_creation),
        ),
        Statement(
            policy=PolicyName.NODES,
            sid="TagOwnInstancesWithTheirNode",
            actions=["ec2:CreateTags"],
            resources=ec2("instance"),
            conditions={
                **own,
                "StringEqualsIfExists": {f"aws:RequestTag/{eks_tag}": scope.cluster},
                "ForAllValues:StringEquals": {
                    "aws:TagKeys": [eks_tag, "karpenter.sh/nodeclaim", "Name"]
                },
            },
        ),
        Statement(
            policy=PolicyName.NODES,
            sid="RemoveOwn",
            actions=["ec2:DeleteLaunchTemplate", "ec2:TerminateInstances"],
            resources=ec2("instance", "launch-template"),
            conditions=own,
        ),
    ]


def _profile_statements(scope: Scope) -> list[Statement]:
    """Instance profiles of node classes that name a role, and the right to hand that role over."""
    profiles = [f"arn:{scope.partition}:iam::{scope.account}:instance-profile/*"]
    node_class = "karpenter.k8s.aws/ec2nodeclass"
    owned_here = {
        f"kubernetes.io/cluster/{scope.cluster}": "owned",
        "topology.kubernetes.io/region": scope.region,
    }
    has = {f"aws:ResourceTag/{key}": value for key, value in owned_here.items()}
    asks = {
        f"aws:RequestTag/{key}": value
        for key, value in {**owned_here, "eks:eks-cluster-name": scope.cluster}.items()
    }
    has_class = {f"aws:ResourceTag/{node_class}": "*"}
    asks_class = {f"aws:RequestTag/{node_class}": "*"}
    return [
        Statement(
            policy=PolicyName.PROFILES,
            sid="HandNodeRoleToInstances",
            actions=["iam:PassRole"],
            resources=[scope.node_role_arn],
            conditions={
                "StringEquals": {
                    "iam:PassedToService": ["ec2.amazonaws.com", "ec2.amazonaws.com.cn"]
                }
            },
        ),
        Statement(
            policy=PolicyName.PROFILES,
            sid="CreateOwnProfiles",
            actions=["iam:CreateInstanceProfile"],
            resources=profiles,
            conditions={"StringEquals": asks, "StringLike": asks_class},
        ),
        Statement(
            policy=PolicyName.PROFILES,
            sid="TagOwnProfiles",
            actions=["iam:TagInstanceProfile"],
            resources=profiles,
            conditions={"StringEquals": has | asks, "StringLike": has_class | asks_class},
        ),
        Statement(
            policy=PolicyName.PROFILES,
            sid="ChangeOwnProfiles",
            actions=[
                "iam:AddRoleToInstanceProfile",
                "iam:DeleteInstanceProfile",
                "iam:RemoveRoleFromInstanceProfile",
            ],
            resources=profiles,
            conditions={"StringEquals": has, "StringLike": has_class},
        ),
        Statement(
            policy=PolicyName.PROFILES,
            sid="ReadProfiles",
            actions=["iam:GetInstanceProfile"],
            resources=profiles,
        ),
        Statement(
            policy=PolicyName.PROFILES,
            sid="ListProfiles",
            actions=["iam:ListInstanceProfiles"],
            resources=["*"],
        ),
    ]


def _reading_statements(scope: Scope) -> list[Statement]:
    """What is offered at which price, what runs, and what is about to be interrupted."""
    partition, region = scope.partition, scope.region
    cluster_arn = f"arn:{partition}:eks:{region}:{scope.account}:cluster/{scope.cluster}"
    described = [
        "CapacityReservations",
        "Images",
        "InstanceStatus",
        "InstanceTypeOfferings",
        "InstanceTypes",
        "Instances",
        "LaunchTemplates",
        "PlacementGroups",
        "SecurityGroups",
        "SpotPriceHistory",
        "Subnets",
    ]
    rows: list[tuple[str, list[str], str, Conditions]] = [
        (
            "ReadTheRegion",
            [f"ec2:Describe{noun}" for noun in described],
            "*",
            {"StringEquals": {"aws:RequestedRegion": region}},
        ),
        (
            "ReadImageParameters",
            ["ssm:GetParameter"],
            f"arn:{partition}:ssm:{region}::parameter/aws/service/*",
            {},
        ),
        ("ReadPrices", ["pricing:GetProducts"], "*", {}),
        ("FindTheCluster", ["eks:DescribeCluster"], cluster_arn, {}),
        (
            "ReadZonalShifts",
            ["arc-zonal-shift:GetManagedResource"],
            "*",
            {"StringEquals": {"arc-zonal-shift:ResourceIdentifier": cluster_arn}},
        ),
        (
            "TakeInterruptions",
            ["sqs:DeleteMessage", "sqs:GetQueueUrl", "sqs:ReceiveMessage"],
            scope.queue_arn,
            {},
        ),
    ]
    return [
        Statement(
            policy=PolicyName.READING,
            sid=sid,
            actions=actions,
            resources=[resource],
            conditions=conditions,
        )
        for sid, actions, resource, conditions in rows
    ]


def _own_resource(scope: Scope) -> dict[str, dict[str, str]]:
    """The resource is one that this cluster's controller made."""
    return {
        "StringEquals": {f"aws:ResourceTag/kubernetes.io/cluster/{scope.cluster}": "owned"},
        "StringLike": {"aws:ResourceTag/karpenter.sh/nodepool": "*"},
    }


def _own_request(scope: Scope) -> dict[str, dict[str, str]]:
    """The request puts this cluster's tags on what it makes."""
    return {
        "StringEquals": {
            f"aws:RequestTag/kubernetes.io/cluster/{scope.cluster}": "owned",
            "aws:RequestTag/eks:eks-cluster-name": scope.cluster,
        },
        "StringLike": {"aws:RequestTag/karpenter.sh/nodepool": "*"},
    }


def _also(
    conditions: Conditions, operator: str, keys: Mapping[str, Sequence[str]]
) -> dict[str, dict[str, str | Sequence[str]]]:
    """The same conditions, and these keys under one operator."""
    merged = {name: dict(values) for name, values in conditions.items()}
    merged[operator] = {**merged.get(operator, {}), **keys}
    return merged


def _one_or_many(values: Sequence[str]) -> str | list[str]:
    """IAM takes one value bare, and counts every character."""
    return values[0] if len(values) == 1 else list(values)
