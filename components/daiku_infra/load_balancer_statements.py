"""What the AWS Load Balancer Controller may do in AWS, as one table.

It tags what it makes with its cluster, and asks for that tag wherever it changes or removes something.
Source of the calls: the controller's own list of permissions, version 2.17. No Pulumi in here.
"""

from collections.abc import Sequence

from daiku_infra import policies
from daiku_infra.policies import Conditions, Statement

TAG = "elbv2.k8s.aws/cluster"
"""Key of the tag by which it knows what it made."""


def load_balancer_document(*, partition: str, cluster: str) -> policies.Document:
    """The policy of the load balancer controller of one cluster.

    Args:
        partition: Partition of the account.
        cluster: Name of the cluster, which is the value of its tag.
    """
    has = {"StringEquals": {f"aws:ResourceTag/{TAG}": cluster}}
    statements = [
        *_reads(),
        *_group_rows(partition, cluster, has),
        *_balancer_rows(partition, cluster, has),
        _row(
            "MakeServiceLinkedRole",
            ["iam:CreateServiceLinkedRole"],
            ["*"],
            {"StringEquals": {"iam:AWSServiceName": "elasticloadbalancing.amazonaws.com"}},
        ),
    ]
    return policies.document(statement.encode() for statement in statements)


def _group_rows(partition: str, cluster: str, has: Conditions) -> list[Statement]:
    """Security groups: its own, and the cluster's, which it opens to its load balancers."""
    groups = [f"arn:{partition}:ec2:*:*:security-group/*"]
    return [
        _row(
            "CreateOwnGroups",
            _ec2("CreateSecurityGroup"),
            [*groups, f"arn:{partition}:ec2:*:*:vpc/*"],
        ),
        _row(
            "TagNewGroups",
            _ec2("CreateTags"),
            groups,
            {
                "StringEquals": {
                    "ec2:CreateAction": "CreateSecurityGroup",
                    f"aws:RequestTag/{TAG}": cluster,
                }
            },
        ),
        _row("TagOwnGroups", _ec2("CreateTags", "DeleteTags"), groups, has),
        _row(
            "OpenGroups",
            _ec2("AuthorizeSecurityGroupIngress", "RevokeSecurityGroupIngress"),
            groups,
            # Also the cluster's own group, which lets the load balancers in.
            {"Null": {"aws:ResourceTag/karpenter.sh/discovery": "false"}},
        ),
        _row(
            "ChangeOwnGroups",
            _ec2(
                "AuthorizeSecurityGroupIngress", "DeleteSecurityGroup", "RevokeSecurityGroupIngress"
            ),
            groups,
            has,
        ),
    ]


def _balancer_rows(partition: str, cluster: str, has: Conditions) -> list[Statement]:
    """Load balancers and target groups by their tag; listeners and rules have it not always."""
    asks = {"StringEquals": {f"aws:RequestTag/{TAG}": cluster}}
    balancers = [
        f"arn:{partition}:elasticloadbalancing:*:*:{kind}/*"
        for kind in ("targetgroup", "loadbalancer/net", "loadbalancer/app", "loadbalancer/gwy")
    ]
    listeners = [
        f"arn:{partition}:elasticloadbalancing:*:*:{kind}/*"
        for kind in ("listener/net", "listener/app", "listener-rule/net", "listener-rule/app")
    ]
    return [
        _row(
            "CreateOwnBalancers", _elb("CreateLoadBalancer", "CreateTargetGroup"), balancers, asks
        ),
        _row(
            "CreateListeners",
            _elb("CreateListener", "CreateRule", "DeleteListener", "DeleteRule"),
            [*balancers, *listeners],
        ),
        _row(
            "TagNewBalancers",
            _elb("AddTags"),
            balancers,
            {
                "StringEquals": {
                    "elasticloadbalancing:CreateAction": [
                        "CreateTargetGroup",
                        "CreateLoadBalancer",
                    ],
                    f"aws:RequestTag/{TAG}": cluster,
                }
            },
        ),
        _row("TagOwnBalancers", _elb("AddTags", "RemoveTags"), balancers, has),
        _row("TagListeners", _elb("AddTags", "RemoveTags"), listeners),
        _row("ChangeOwnBalancers", _elb(*_CHANGES), balancers, has),
        _row("MoveTargets", _elb("DeregisterTargets", "RegisterTargets"), balancers[:1], has),
        _row(
            "ChangeListeners",
            _elb(
                "AddListenerCertificates",
                "ModifyListener",
                "ModifyListenerAttributes",
                "ModifyRule",
                "RemoveListenerCertificates",
                "SetRulePriorities",
            ),
            listeners,
        ),
    ]


_CHANGES = ("Delete*", "Modify*", "Set*")
"""All that changes a load balancer or a target group; listeners and rules are asked for by their own row."""


def _reads() -> list[Statement]:
    """What it looks at."""
    seen = _ec2("Describe*", "GetCoipPoolUsage", "GetSecurityGroupsForVpc")
    others = [
        "acm:DescribeCertificate",
        "acm:ListCertificates",
        "iam:GetServerCertificate",
        "iam:ListServerCertificates",
    ]
    return [_row("Look", [*seen, *_elb("Describe*"), *others], ["*"])]


def _row(
    sid: str,
    actions: Sequence[str],
    resources: Sequence[str],
    conditions: Conditions | None = None,
) -> Statement:
    return Statement(sid=sid, actions=actions, resources=resources, conditions=conditions or {})


def _ec2(*calls: str) -> list[str]:
    return [f"ec2:{call}" for call in calls]


def _elb(*calls: str) -> list[str]:
    return [f"elasticloadbalancing:{call}" for call in calls]
