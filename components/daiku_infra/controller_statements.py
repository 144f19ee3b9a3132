"""What the controller may do in AWS, as one table.

Each row names calls that the controller makes, and the narrowest set of resources they need.
Whatever changes or removes something asks for the tags that the controller puts on its own, so that
it can touch nothing else of the account. Rows are gathered into three managed policies, since one
may hold no more than 6,144 characters.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum

from daiku_infra import policies
from daiku_infra.policies import Conditions, Statement


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


def controller_statements(scope: Scope) -> dict[PolicyName, list[Statement]]:
    """Everything that the controller may do in AWS, by managed policy."""
    return {
        PolicyName.NODES: _node_statements(scope),
        PolicyName.PROFILES: _profile_statements(scope),
        PolicyName.READING: _reading_statements(scope),
    }


def controller_documents(scope: Scope) -> dict[PolicyName, policies.Document]:
    """The controller's managed policies, as IAM reads them."""
    return {
        name: policies.document(row.encode() for row in rows)
        for name, rows in controller_statements(scope).items()
    }


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
            sid="LaunchFromWhatTheAccountShares",
            actions=launch,
            resources=[*ec2("image", "snapshot", account=""), *ec2(*shared)],
        ),
        Statement(
            sid="LaunchFromOwnTemplates",
            actions=launch,
            resources=ec2("launch-template"),
            conditions=own,
        ),
        Statement(
            sid="LaunchWithOwnTags",
            actions=[*launch, "ec2:CreateLaunchTemplate"],
            resources=made,
            conditions=asked_own,
        ),
        Statement(
            sid="TagWhileLaunching",
            actions=["ec2:CreateTags"],
            resources=made,
            conditions=_also(asked_own, "StringEquals", at_creation),
        ),
        Statement(
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
            sid="CreateOwnProfiles",
            actions=["iam:CreateInstanceProfile"],
            resources=profiles,
            conditions={"StringEquals": asks, "StringLike": asks_class},
        ),
        Statement(
            sid="TagOwnProfiles",
            actions=["iam:TagInstanceProfile"],
            resources=profiles,
            conditions={"StringEquals": has | asks, "StringLike": has_class | asks_class},
        ),
        Statement(
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
            sid="ReadProfiles",
            actions=["iam:GetInstanceProfile"],
            resources=profiles,
        ),
        Statement(
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
