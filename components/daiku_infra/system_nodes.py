"""SystemNodes: a small managed node group that only system pods tolerate.

The controller must not run on nodes of its own making: it could drain itself. So there are a few
nodes that it does not manage, behind a taint, of which an instance reaches no metadata without a
session token and no disk is in the clear.
"""

from dataclasses import dataclass, field

import pulumi

from daiku_infra import manifests, naming, roles, tags
from daiku_infra.cluster_ref import IpFamily
from daiku_infra.providers import aws

_ROOT_DEVICE = "/dev/xvda"


@dataclass(frozen=True, slots=True, kw_only=True)
class SystemNodesArgs:
    """The nodes of system pods."""

    instance_types: list[str] = field(default_factory=lambda: ["m6i.large"])
    """Instance types, the first one preferred."""
    size: int = 2
    """Nodes, at least 1. With 2, losing a zone leaves a controller running."""
    disk_gib: int = 50
    """Size of their encrypted disk in GiB."""
    ami_type: str = "AL2023_x86_64_STANDARD"
    """EKS' name of the system on them, such as BOTTLEROCKET_ARM_64."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SystemNodeGroupArgs:
    """What a SystemNodeGroup is made from."""

    nodes: SystemNodesArgs = field(default_factory=SystemNodesArgs)
    """How many of which."""
    cluster_name: str
    """The cluster. Plain: names follow from it."""
    existing_cluster: pulumi.Input[str]
    """Its name, once nodes may join it."""
    region: str
    """Its AWS region."""
    partition: str = "aws"
    """The AWS partition it is in."""
    ip_family: IpFamily = IpFamily.IPV4
    """Addresses of its pods."""
    subnet_ids: list[pulumi.Input[str]]
    """Subnets of the nodes."""
    security_group_ids: list[pulumi.Input[str]] = field(default_factory=list[pulumi.Input[str]])
    """Their security groups; the one that EKS made for the cluster when empty."""
    tags: dict[str, str] = field(default_factory=dict[str, str])
    """Tags that every resource carries, instances and disks included."""


class SystemNodeGroup(pulumi.ComponentResource):
    """The system nodes of one cluster."""

    node_group_arn: pulumi.Output[str]
    """ARN of the node group, once its nodes are there."""

    def __init__(
        self, name: str, args: SystemNodeGroupArgs, opts: pulumi.ResourceOptions | None = None
    ) -> None:
        """Register the role, the launch template and the group."""
        super().__init__("daiku:index:SystemNodeGroup", name, None, opts)
        role = roles.node_role(
            f"{name}-node",
            role_name=naming.role(args.cluster_name, args.region, "system-node"),
            partition=args.partition,
            ip_family=args.ip_family,
            role_tags=args.tags,
            parent=self,
        )
        group_name = naming.node_group(args.cluster_name)
        template = self._template(name, group_name, args)
        size = args.nodes.size
        group = aws.eks.NodeGroup(
            name,
            node_group_name=group_name,
            cluster_name=args.existing_cluster,
            node_role_arn=role.arn,
            subnet_ids=args.subnet_ids,
            instance_types=args.nodes.instance_types,
            ami_type=args.nodes.ami_type,
            launch_template=aws.eks.NodeGroupLaunchTemplateArgs(
                id=template.id,
                version=template.latest_version.apply(str),
            ),
            scaling_config=aws.eks.NodeGroupScalingConfigArgs(
                desired_size=size, min_size=size, max_size=size + 1
            ),
            update_config=aws.eks.NodeGroupUpdateConfigArgs(max_unavailable=1),
            node_repair_config=aws.eks.NodeGroupNodeRepairConfigArgs(enabled=True),
            labels={manifests.SYSTEM_TAINT: "true"},
            taints=[
                aws.eks.NodeGroupTaintArgs(
                    key=manifests.SYSTEM_TAINT, value="true", effect="NO_SCHEDULE"
                )
            ],
            tags=tags.named(group_name, args.tags),
            opts=pulumi.ResourceOptions(parent=self),
        )
        self.node_group_arn = group.arn
        self.register_outputs({"nodeGroupArn": self.node_group_arn})

    def _template(
        self, name: str, group_name: str, args: SystemNodeGroupArgs
    ) -> "aws.ec2.LaunchTemplate":
        """How the group's instances are made; EKS adds image, user data and, for none, its group."""
        disk = aws.ec2.LaunchTemplateBlockDeviceMappingEbsArgs(
            encrypted="true",
            volume_type="gp3",
            volume_size=args.nodes.disk_gib,
            delete_on_termination="true",
        )
        named = tags.named(group_name, args.tags)
        return aws.ec2.LaunchTemplate(
            name,
            name=group_name,
            update_default_version=True,
            vpc_security_group_ids=args.security_group_ids or None,
            metadata_options=aws.ec2.LaunchTemplateMetadataOptionsArgs(
                http_endpoint="enabled", http_tokens="required", http_put_response_hop_limit=1
            ),
            block_device_mappings=[
                aws.ec2.LaunchTemplateBlockDeviceMappingArgs(device_name=_ROOT_DEVICE, ebs=disk)
            ],
            tag_specifications=[
                aws.ec2.LaunchTemplateTagSpecificationArgs(resource_type=kind, tags=named)
                for kind in ("instance", "volume", "network-interface")
            ],
            tags=named,
            opts=pulumi.ResourceOptions(parent=self),
        )
