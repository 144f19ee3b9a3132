"""IAM roles with their policies attached."""

from collections.abc import Mapping, Sequence
from typing import Any

import pulumi

from daiku_infra import outputs, policies
from daiku_infra.cluster_ref import IpFamily
from daiku_infra.providers import aws

_CNI_POLICY = "AmazonEKS_CNI_Policy"
NODE_POLICIES = (
    "AmazonEKSWorkerNodePolicy",
    _CNI_POLICY,
    "AmazonEC2ContainerRegistryPullOnly",
    "AmazonSSMManagedInstanceCore",
)
"""AWS's own policies that every node needs: to join, to give pods addresses, to pull, to be reached."""


class AttachedRole:
    """A role that is handed out only with all its policies."""

    arn: pulumi.Output[str]
    """ARN of the role, once its policies are attached."""
    name: pulumi.Output[str]
    """Name of the role, once its policies are attached."""

    def __init__(
        self,
        name: str,
        *,
        role_name: str,
        trust: pulumi.Input[str],
        policy_arns: Sequence[pulumi.Input[str]],
        role_tags: dict[str, str],
        parent: pulumi.Resource,
        inline: Mapping[str, policies.Document] | None = None,
    ) -> None:
        """Register the role and one attachment per policy.

        Args:
            name: Name of the resources.
            role_name: Name of the role in IAM.
            trust: Who may assume it, as JSON.
            policy_arns: Policies to attach, in an order that stays.
            role_tags: Its tags.
            parent: The component it belongs to.
            inline: Policies of its own, by their names.
        """
        role = aws.iam.Role(
            name,
            name=role_name,
            assume_role_policy=trust,
            tags=role_tags,
            opts=pulumi.ResourceOptions(parent=parent),
        )
        attached: list[Any] = attachments(name, role, policy_arns)
        attached += [
            aws.iam.RolePolicy(
                f"{name}-{own}",
                name=own,
                role=role.name,
                policy=policies.render(document),
                opts=pulumi.ResourceOptions(parent=role),
            ).id
            for own, document in (inline or {}).items()
        ]
        self.arn = outputs.once(role.arn, *attached)
        self.name = outputs.once(role.name, *attached)


def attachments(
    name: str, role: "aws.iam.Role", policy_arns: Sequence[pulumi.Input[str]]
) -> list[pulumi.Output[str]]:
    """Attach policies to a role; give the ids of the attachments."""
    return [
        aws.iam.RolePolicyAttachment(
            f"{name}-{index}",
            role=role.name,
            policy_arn=arn,
            opts=pulumi.ResourceOptions(parent=role),
        ).id
        for index, arn in enumerate(policy_arns)
    ]


def node_role(
    name: str,
    *,
    role_name: str,
    partition: str,
    ip_family: IpFamily,
    role_tags: dict[str, str],
    parent: pulumi.Resource,
    more_policies: Sequence[pulumi.Input[str]] = (),
) -> AttachedRole:
    """Give a role that instances may have in order to be nodes.

    AWS has a managed policy for the CNI of IPv4 clusters only; for IPv6 the role gets one of its own.
    """
    own = {"cni-ipv6": policies.cni_ipv6(partition)} if ip_family is IpFamily.IPV6 else {}
    names = [policy for policy in NODE_POLICIES if not (own and policy == _CNI_POLICY)]
    aws_owned = [f"arn:{partition}:iam::aws:policy/{policy}" for policy in names]
    return AttachedRole(
        name,
        role_name=role_name,
        trust=policies.render(policies.service_trust("ec2.amazonaws.com")),
        policy_arns=[*aws_owned, *more_policies],
        role_tags=role_tags,
        parent=parent,
        inline=own,
    )
