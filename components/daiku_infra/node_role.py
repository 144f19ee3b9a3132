"""NodeRole: what launched nodes may do in AWS, and their right to join the cluster.

Three things make a node: a role, an instance profile that hands it to an instance, and an access
entry that lets the instance's kubelet in. The profile's name is handed out only with the entry,
since an instance launched before it would never register.
"""

from dataclasses import dataclass, field

import pulumi

from daiku_infra import naming, outputs, roles
from daiku_infra.cluster_ref import ClusterRef
from daiku_infra.providers import aws


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeRoleArgs:
    """What a NodeRole is made from."""

    cluster: ClusterRef
    """The cluster that its nodes join."""
    policy_arns: list[pulumi.Input[str]] = field(default_factory=list[pulumi.Input[str]])
    """Managed policies beyond those that every node needs."""


class NodeRole(pulumi.ComponentResource):
    """The role of nodes that the autoscaler launches."""

    role_arn: pulumi.Output[str]
    """ARN of the role."""
    role_name: pulumi.Output[str]
    """Name of the role."""
    instance_profile_name: pulumi.Output[str]
    """Instance profile for node classes; known once instances with it can join."""

    def __init__(
        self, name: str, args: NodeRoleArgs, opts: pulumi.ResourceOptions | None = None
    ) -> None:
        """Register the role's resources."""
        super().__init__("daiku:index:NodeRole", name, None, opts)
        cluster = args.cluster
        own = pulumi.ResourceOptions(parent=self)
        role = roles.node_role(
            name,
            role_name=naming.role(cluster.name, cluster.region, "node"),
            partition=cluster.partition,
            ip_family=cluster.ip_family,
            role_tags=cluster.tags,
            parent=self,
            more_policies=args.policy_arns,
        )
        profile = aws.iam.InstanceProfile(
            name,
            name=naming.instance_profile(cluster.name, cluster.region),
            role=role.name,
            tags=cluster.tags,
            opts=own,
        )
        entry = aws.eks.AccessEntry(
            name,
            cluster_name=cluster.existing_name,
            principal_arn=role.arn,
            type="EC2_LINUX",
            tags=cluster.tags,
            opts=own,
        )
        self.role_arn = role.arn
        self.role_name = role.name
        self.instance_profile_name = outputs.once(profile.name, entry.id)
        self.register_outputs(
            {
                "roleArn": self.role_arn,
                "roleName": self.role_name,
                "instanceProfileName": self.instance_profile_name,
            }
        )
