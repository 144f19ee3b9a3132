"""ClusterRef: what the rest of the library knows of a cluster.

A plain value, so that a cluster that another stack or another tool made serves as well as ours.
"""

from dataclasses import dataclass, field
from enum import StrEnum

import pulumi


class IpFamily(StrEnum):
    """Addresses of pods and Services. A cluster keeps what it was made with."""

    IPV4 = "ipv4"
    """An address of the VPC for every pod."""
    IPV6 = "ipv6"
    """An IPv6 address for every pod, of which no subnet runs out; nodes have both kinds."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ClusterRef:
    """A cluster, wherever it comes from."""

    name: str
    """Its name. Plain: names, tags and policies follow from it."""
    region: str
    """Its AWS region."""
    account_id: str
    """The AWS account it is in, 12 digits."""
    partition: str = "aws"
    """The AWS partition it is in."""
    ip_family: IpFamily = IpFamily.IPV4
    """Addresses of its pods."""
    tags: dict[str, str] = field(default_factory=dict[str, str])
    """Tags that everything made for it carries."""
    existing_name: pulumi.Input[str]
    """Its name, known once it exists: what AWS keeps inside a cluster is made with this one."""
    endpoint: pulumi.Input[str]
    """URL of its API server."""
    certificate_authority: pulumi.Input[str]
    """Certificate of its API server's authority, PEM in base64."""
    oidc_provider_arn: pulumi.Input[str]
    """IAM's OIDC provider for its ServiceAccounts."""
    oidc_issuer: pulumi.Input[str]
    """Issuer of its ServiceAccounts' tokens, with or without https://."""
    kubeconfig: pulumi.Input[str]
    """How to reach it, as JSON. A secret."""
    vpc_id: pulumi.Input[str]
    """The VPC it is in."""
    private_subnet_ids: list[pulumi.Input[str]]
    """Subnets of its nodes."""
    security_group_id: pulumi.Input[str]
    """The one security group that node classes find by tag."""
    node_security_group_ids: list[pulumi.Input[str]] = field(
        default_factory=list[pulumi.Input[str]]
    )
    """Further security groups that every node is in, by id."""
    system_nodes: pulumi.Input[str]
    """Something of its system nodes, known once pods can run on them: the node group's ARN."""
