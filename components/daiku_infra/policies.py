"""IAM policy documents as plain values: statements, trust policies, the queue's policy.

What the controller itself may do is a table of its own, in controller_statements.py. No Pulumi in
here; ARNs that are known late are put in by the components.
"""

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

POLICY_SIZE_MAX = 6144
"""Characters of one managed policy, white space not counted."""

Conditions = Mapping[str, Mapping[str, str | Sequence[str]]]
Document = dict[str, Any]


class PolicySizeError(ValueError):
    """A policy is longer than IAM takes."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Statement:
    """One permission: these calls, on these resources, under these conditions."""

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


def document(statements: Iterable[Document]) -> Document:
    """Put statements into one policy document."""
    return {"Version": "2012-10-17", "Statement": list(statements)}


def render(policy: Document) -> str:
    """Write a document as IAM counts its size: without white space."""
    return json.dumps(policy, separators=(",", ":"))


def managed(policy: Document) -> str:
    """Write a document that is to be a managed policy.

    Raises:
        PolicySizeError: IAM would not take it.
    """
    text = render(policy)
    if len(text) > POLICY_SIZE_MAX:
        raise PolicySizeError(
            f"a managed policy has at most {POLICY_SIZE_MAX:,} characters, and this one has {len(text):,}: give the "
            f"cluster a shorter name (it begins {text[:80]})"
        )
    return text


def service_trust(service: str, *actions: str) -> Document:
    """Who may assume a role: a service of AWS, such as ec2.amazonaws.com, by sts:AssumeRole or `actions`."""
    action = _one_or_many(actions or ("sts:AssumeRole",))
    return document([{"Effect": "Allow", "Principal": {"Service": service}, "Action": action}])


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


def pod_identity_trust(*, cluster: str, namespace: str, service_account: str) -> Document:
    """Who may assume a role: pods of one ServiceAccount of one cluster, through EKS Pod Identity.

    The agent puts these tags on the session itself; a pod cannot choose them.
    """
    session = {
        "eks-cluster-name": cluster,
        "kubernetes-namespace": namespace,
        "kubernetes-service-account": service_account,
    }
    return document(
        [
            {
                "Effect": "Allow",
                "Principal": {"Service": "pods.eks.amazonaws.com"},
                "Action": ["sts:AssumeRole", "sts:TagSession"],
                "Condition": {
                    "StringEquals": {
                        f"aws:RequestTag/{key}": value for key, value in session.items()
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


def log_writer(group_arn: str) -> Document:
    """What a service may do that writes streams of one log group."""
    actions = ["logs:CreateLogStream", "logs:DescribeLogStreams", "logs:PutLogEvents"]
    statement = Statement(sid="WriteLog", actions=actions, resources=[f"{group_arn}:*"])
    return document([statement.encode()])


def cni_ipv6(partition: str) -> Document:
    """What a node's VPC CNI may do in an IPv6 cluster: give its own interfaces prefixes, and tag them.

    Source: the EKS user guide, "IPv6 policy of the CNI plugin"; ours names the interfaces.
    """
    interfaces = f"arn:{partition}:ec2:*:*:network-interface/*"
    reads = [
        "ec2:DescribeInstances",
        "ec2:DescribeTags",
        "ec2:DescribeNetworkInterfaces",
        "ec2:DescribeInstanceTypes",
    ]
    statements = [
        Statement(sid="Read", actions=reads, resources=["*"]),
        Statement(sid="Assign", actions=["ec2:AssignIpv6Addresses"], resources=[interfaces]),
        Statement(sid="Tag", actions=["ec2:CreateTags"], resources=[interfaces]),
    ]
    return document([statement.encode() for statement in statements])


def _one_or_many(values: Sequence[str]) -> str | list[str]:
    """IAM takes one value bare, and counts every character."""
    return values[0] if len(values) == 1 else list(values)
