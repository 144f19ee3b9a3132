"""Cluster: an EKS control plane, its add-ons, and nodes for system pods.

Autoscaled nodes need a place to be decided from: a small managed node group, tainted so that only
system pods go there. Exactly one security group carries the discovery tag: the one that EKS makes
for the cluster, or, where that is asked for, one of the nodes' own. The former joins control plane, system
nodes and launched nodes, and EKS keeps its rules; a second tagged group would be attached to launched nodes
too, and load balancer controllers refuse nodes with two groups of one cluster.
"""

import dataclasses
import json
from dataclasses import dataclass, field

import pulumi

from daiku_infra import addons, manifests, outputs, tags
from daiku_infra.access import AccessArgs, ClusterAccess, ClusterAccessArgs
from daiku_infra.addons import AddonArgs, CniArgs
from daiku_infra.cluster_ref import ClusterRef
from daiku_infra.control_plane import ControlPlaneArgs, ControlPlanePlace, control_plane
from daiku_infra.node_security_group import (
    NodeSecurityArgs,
    NodeSecurityGroup,
    NodeSecurityGroupArgs,
)
from daiku_infra.providers import aws, eks
from daiku_infra.service_account_role import Identity, ServiceAccountRole, ServiceAccountRoleArgs
from daiku_infra.system_nodes import SystemNodeGroup, SystemNodeGroupArgs, SystemNodesArgs

_EBS_ACCOUNT = "ebs-csi-controller-sa"


@dataclass(frozen=True, slots=True, kw_only=True)
class ClusterArgs:
    """What a Cluster is made from."""

    cluster_name: str
    """Name of the cluster in EKS. Plain: names, tags and policies follow from it."""
    region: str
    """AWS region it is in."""
    vpc_id: pulumi.Input[str]
    """The VPC it is in."""
    private_subnet_ids: list[pulumi.Input[str]]
    """Subnets of nodes, in at least two zones."""
    public_subnet_ids: list[pulumi.Input[str]] = field(default_factory=list[pulumi.Input[str]])
    """Subnets of internet-facing load balancers."""
    control_plane_subnet_ids: list[pulumi.Input[str]] = field(
        default_factory=list[pulumi.Input[str]]
    )
    """Subnets of the control plane's interfaces alone; the other ones serve where this is empty."""
    control_plane: ControlPlaneArgs = field(default_factory=ControlPlaneArgs)
    """How the control plane is run."""
    access: list[AccessArgs] = field(default_factory=list[AccessArgs])
    """Who may enter, beside the principal that makes it."""
    addons: list[AddonArgs] = field(default_factory=addons.default_addons)
    """Add-ons. EKS installs none by itself."""
    cni: CniArgs = field(default_factory=CniArgs)
    """How pods get addresses."""
    identity: Identity = Identity.IRSA
    """How add-ons that call AWS get their role."""
    system_nodes: SystemNodesArgs = field(default_factory=SystemNodesArgs)
    """Nodes for system pods."""
    node_security: NodeSecurityArgs = field(default_factory=NodeSecurityArgs)
    """Security groups of nodes."""
    tags: dict[str, str] = field(default_factory=dict[str, str])
    """Tags that every resource carries."""


class Cluster(pulumi.ComponentResource):
    """A cluster that pods of the kube-system namespace can run in."""

    ref: ClusterRef
    """All that the rest of a program needs of it."""
    cluster_name: pulumi.Output[str]
    """Its name, once it exists."""
    kubeconfig: pulumi.Output[str]
    """How to reach it, as JSON. A secret."""

    def __init__(
        self, name: str, args: ClusterArgs, opts: pulumi.ResourceOptions | None = None
    ) -> None:
        """Register the cluster's resources."""
        super().__init__("daiku:index:Cluster", name, None, opts)
        self._prefix = name
        self._args = args
        self._own = pulumi.ResourceOptions(parent=self)
        invoke = pulumi.InvokeOptions(parent=self)
        self._partition = aws.get_partition(opts=invoke).partition
        plane = control_plane(name, args.control_plane, self._place(), self)
        self.cluster_name = plane.eks_cluster.name
        self.kubeconfig = pulumi.Output.secret(plane.kubeconfig_json)
        bare = self._bare_ref(plane, aws.get_caller_identity(opts=invoke).account_id)
        bare = dataclasses.replace(
            bare,
            security_group_id=self._node_group(bare),
            node_security_group_ids=[*args.node_security.group_ids],
        )
        if args.access:
            ClusterAccess(
                name,
                ClusterAccessArgs(
                    cluster_name=self.cluster_name,
                    partition=self._partition,
                    entries=args.access,
                    tags=args.tags,
                ),
                self._own,
            )
        self.ref = dataclasses.replace(bare, system_nodes=self._system_nodes(bare))
        self.register_outputs({"clusterName": self.cluster_name, "kubeconfig": self.kubeconfig})

    def _node_group(self, bare: ClusterRef) -> pulumi.Output[str]:
        """The one group that node classes find: of the nodes' own, or the one that EKS made."""
        args = self._args
        if args.node_security.own:
            return NodeSecurityGroup(
                f"{self._prefix}-nodes",
                NodeSecurityGroupArgs(
                    cluster_name=args.cluster_name,
                    vpc_id=args.vpc_id,
                    cluster_security_group_id=bare.security_group_id,
                    webhook_ports=args.node_security.webhook_ports,
                    tags=args.tags,
                ),
                self._own,
            ).security_group_id
        tag = aws.ec2.Tag(
            f"{self._prefix}-discovery",
            resource_id=bare.security_group_id,
            key=tags.DISCOVERY,
            value=args.cluster_name,
            opts=self._own,
        )
        return outputs.once(bare.security_group_id, tag.id)

    def _place(self) -> ControlPlanePlace:
        args = self._args
        return ControlPlanePlace(
            cluster_name=args.cluster_name,
            region=args.region,
            partition=self._partition,
            vpc_id=args.vpc_id,
            private_subnet_ids=args.private_subnet_ids,
            public_subnet_ids=args.public_subnet_ids,
            own_subnet_ids=args.control_plane_subnet_ids,
            tags=args.tags,
        )

    def _bare_ref(self, plane: "eks.Cluster", account_id: str) -> ClusterRef:
        """What is known of it before it has nodes."""
        args, live = self._args, plane.eks_cluster
        return ClusterRef(
            name=args.cluster_name,
            region=args.region,
            account_id=account_id,
            partition=self._partition,
            ip_family=args.control_plane.ip_family,
            tags=args.tags,
            existing_name=self.cluster_name,
            endpoint=live.endpoint,
            certificate_authority=live.certificate_authority.data,
            oidc_provider_arn=plane.oidc_provider_arn,
            oidc_issuer=plane.oidc_provider_url,
            kubeconfig=self.kubeconfig,
            vpc_id=args.vpc_id,
            private_subnet_ids=args.private_subnet_ids,
            security_group_id=plane.cluster_security_group_id,
            system_nodes="",
        )

    def _system_nodes(self, cluster: ClusterRef) -> pulumi.Output[str]:
        """Add-ons and the node group, in the order in which they need each other."""
        args = self._args
        early = [a for a in args.addons if a.name not in addons.NEEDS_NODES]
        late = [a for a in args.addons if a.name in addons.NEEDS_NODES]
        # Without the CNI nodes never get ready.
        before = [self._addon(addon, cluster).id for addon in early]
        group = SystemNodeGroup(
            f"{self._prefix}-system",
            SystemNodeGroupArgs(
                nodes=args.system_nodes,
                cluster_name=args.cluster_name,
                existing_cluster=outputs.once(self.cluster_name, *before),
                region=args.region,
                partition=self._partition,
                ip_family=args.control_plane.ip_family,
                subnet_ids=args.private_subnet_ids,
                security_group_ids=self._system_groups(cluster),
                tags=args.tags,
            ),
            self._own,
        )
        ready = group.node_group_arn
        after = [self._addon(addon, cluster, outputs.before(ready)).arn for addon in late]
        return outputs.once(ready, *after)

    def _system_groups(self, cluster: ClusterRef) -> list[pulumi.Input[str]]:
        """What to name for system nodes: nothing, where EKS' own choice is the right one."""
        wish = self._args.node_security
        if not (wish.own or wish.group_ids):
            return []
        return [cluster.security_group_id, *wish.group_ids]

    def _addon(
        self, addon: AddonArgs, cluster: ClusterRef, waits_for: list[pulumi.Resource] | None = None
    ) -> "aws.eks.Addon":
        """One add-on; what was changed in the cluster by hand is kept on update."""
        settings = addons.configuration(addon, self._args.cni, manifests.SYSTEM_TAINT)
        role = self._ebs_role(cluster) if addon.name == addons.EBS else None
        associations = [
            aws.eks.AddonPodIdentityAssociationArgs(role_arn=role, service_account=_EBS_ACCOUNT)
            for role in [role]
            if role is not None
        ]
        pods = self._args.identity is Identity.POD_IDENTITY
        return aws.eks.Addon(
            f"{self._prefix}-{addon.name}",
            cluster_name=self.cluster_name,
            addon_name=addon.name,
            addon_version=self._addon_version(addon),
            configuration_values=json.dumps(settings, sort_keys=True) if settings else None,
            service_account_role_arn=None if pods else role,
            pod_identity_associations=associations if pods and associations else None,
            resolve_conflicts_on_create="OVERWRITE",
            resolve_conflicts_on_update="PRESERVE",
            tags=self._args.tags,
            opts=pulumi.ResourceOptions(parent=self, depends_on=waits_for),
        )

    def _addon_version(self, addon: AddonArgs) -> pulumi.Input[str]:
        """The version that was asked for, or the one that EKS has for this version of Kubernetes."""
        if addon.version not in {None, addons.LATEST}:
            return addon.version or ""
        return aws.eks.get_addon_version_output(
            addon_name=addon.name,
            kubernetes_version=self._args.control_plane.kubernetes_version,
            most_recent=addon.version == addons.LATEST,
            opts=pulumi.InvokeOutputOptions(parent=self),
        ).version

    def _ebs_role(self, cluster: ClusterRef) -> pulumi.Output[str]:
        """What the EBS driver may do in AWS. Pod Identity associations of add-ons are EKS' own."""
        made = ServiceAccountRole(
            f"{self._prefix}-ebs-csi",
            ServiceAccountRoleArgs(
                cluster=cluster,
                namespace="kube-system",
                service_account=_EBS_ACCOUNT,
                identity=self._args.identity,
                associate=False,
                policy_arns=[
                    f"arn:{self._partition}:iam::aws:policy/service-role/AmazonEBSCSIDriverPolicy"
                ],
            ),
            self._own,
        )
        return made.role_arn
