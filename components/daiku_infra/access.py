"""ClusterAccess: who else may enter a cluster, by the access entries of EKS.

Authentication is by IAM alone, so this is the whole list beside the stack's own principal and the
nodes. What an entry may do comes from an access policy of EKS, from RBAC through groups, or both.
"""

from dataclasses import dataclass, field

import pulumi

from daiku_infra.providers import aws

POLICIES = (
    "AmazonEKSAdminPolicy",
    "AmazonEKSAdminViewPolicy",
    "AmazonEKSClusterAdminPolicy",
    "AmazonEKSEditPolicy",
    "AmazonEKSViewPolicy",
)
"""Access policies of EKS for people."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AccessArgs:
    """One principal that may enter."""

    name: str
    """What it is called in this program."""
    principal_arn: str
    """ARN of the IAM role or user."""
    policy: str | None = None
    """Access policy, such as AmazonEKSClusterAdminPolicy; none when absent."""
    namespaces: list[str] = field(default_factory=list[str])
    """Namespaces that the policy holds in; the whole cluster when empty."""
    groups: list[str] = field(default_factory=list[str])
    """Kubernetes groups, for RBAC of your own."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ClusterAccessArgs:
    """What a ClusterAccess is made from."""

    cluster_name: pulumi.Input[str]
    """The cluster, once it exists."""
    partition: str = "aws"
    """The AWS partition it is in."""
    entries: list[AccessArgs]
    """Who may enter."""
    tags: dict[str, str] = field(default_factory=dict[str, str])
    """Tags that every entry carries."""


class ClusterAccess(pulumi.ComponentResource):
    """The access entries of people and pipelines."""

    principal_arns: list[pulumi.Output[str]]
    """ARNs of all that may enter."""

    def __init__(
        self, name: str, args: ClusterAccessArgs, opts: pulumi.ResourceOptions | None = None
    ) -> None:
        """Register the entries and what they may do."""
        super().__init__("daiku:index:ClusterAccess", name, None, opts)
        self.principal_arns = [
            self._entry(f"{name}-{entry.name}", entry, args) for entry in args.entries
        ]
        self.register_outputs({"principalArns": self.principal_arns})

    def _entry(self, name: str, entry: AccessArgs, args: ClusterAccessArgs) -> pulumi.Output[str]:
        """One entry, and its policy where it has one."""
        own = pulumi.ResourceOptions(parent=self)
        made = aws.eks.AccessEntry(
            name,
            cluster_name=args.cluster_name,
            principal_arn=entry.principal_arn,
            type="STANDARD",
            kubernetes_groups=entry.groups or None,
            tags=args.tags,
            opts=own,
        )
        if entry.policy:
            scope = aws.eks.AccessPolicyAssociationAccessScopeArgs(
                type="namespace" if entry.namespaces else "cluster",
                namespaces=entry.namespaces or None,
            )
            aws.eks.AccessPolicyAssociation(
                name,
                cluster_name=args.cluster_name,
                principal_arn=made.principal_arn,
                policy_arn=f"arn:{args.partition}:eks::aws:cluster-access-policy/{entry.policy}",
                access_scope=scope,
                opts=own,
            )
        return made.principal_arn
