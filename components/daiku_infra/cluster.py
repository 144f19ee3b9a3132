"""Cluster: an EKS control plane, its add-ons, and nodes for system pods.

Autoscaled nodes need a place to be decided from: a small managed node group, tainted so that only
system pods go there. Exactly one security group carries the discovery tag: the one that EKS makes
for the cluster. It joins control plane, system nodes and launched nodes, and EKS keeps its rules;
a second tagged group would be attached to launched nodes too, and load balancer controllers refuse
nodes with two groups of one cluster.
"""

import json
from dataclasses import dataclass, field
from typing import Any

import pulumi

from daiku_infra import manifests, naming, outputs, roles, tags
from daiku_infra.cluster_ref import ClusterRef
from daiku_infra.providers import aws, eks

_NEEDS_NODES = frozenset({"coredns", "metrics-server", "aws-ebs-csi-driver"})


@dataclass(frozen=True, slots=True, kw_only=True)
class AddonArgs:
    """One EKS add-on."""

    name: str
    """Its name, such as vpc-cni."""
    version: str | None = None
    """Its version, such as v1.20.0-eksbuild.1; EKS' default for the cluster's version when absent."""
    configuration: dict[str, Any] | None = None
    """Its settings, by the add-on's own schema."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SystemNodesArgs:
    """The nodes of system pods."""

    instance_types: list[str] = field(default_factory=lambda: ["m6i.large"])
    """Instance types, the first one preferred."""
    size: int = 2
    """Nodes, at least 1. With 2, losing a zone leaves a controller running."""


def default_addons() -> list[AddonArgs]:
    """The add-ons that every cluster needs."""
    names = ("vpc-cni", "kube-proxy", "eks-pod-identity-agent", "coredns")
    return [AddonArgs(name=name) for name in names]


@dataclass(frozen=True, slots=True, kw_only=True)
class ClusterArgs:
    """What a Cluster is made from."""

    cluster_name: str
    """Name of the cluster in EKS. Plain: names, tags and policies follow from it."""
    region: str
    """AWS region it is in."""
    kubernetes_version: str
    """Minor version, such as "1.35"."""
    vpc_id: pulumi.Input[str]
    """The VPC it is in."""
    private_subnet_ids: list[pulumi.Input[str]]
    """Subnets of nodes, in at least two zones."""
    public_subnet_ids: list[pulumi.Input[str]] = field(default_factory=list[pulumi.Input[str]])
    """Subnets of internet-facing load balancers."""
    endpoint_public_access: bool = True
    """The API server can be reached from outside the VPC. It always can from inside."""
    public_access_cidrs: list[str] = field(default_factory=list[str])
    """Ranges it can be reached from, from outside; anywhere when empty."""
    log_types: list[str] = field(default_factory=list[str])
    """Logs of the control plane to keep: api, audit, authenticator, controllerManager, scheduler."""
    addons: list[AddonArgs] = field(default_factory=default_addons)
    """Add-ons. EKS installs none by itself."""
    system_nodes: SystemNodesArgs = field(default_factory=SystemNodesArgs)
    """Nodes for system pods."""
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
        control_plane = self._control_plane()
        live = control_plane.eks_cluster
        self.cluster_name = live.name
        self.kubeconfig = pulumi.Output.secret(control_plane.kubeconfig_json)
        group = control_plane.cluster_security_group_id
        discovery_tag = aws.ec2.Tag(
            f"{name}-discovery",
            resource_id=group,
            key=tags.DISCOVERY,
            value=args.cluster_name,
            opts=self._own,
        )
        self.ref = ClusterRef(
            name=args.cluster_name,
            region=args.region,
            account_id=aws.get_caller_identity(opts=invoke).account_id,
            partition=self._partition,
            tags=args.tags,
            existing_name=self.cluster_name,
            endpoint=live.endpoint,
            certificate_authority=live.certificate_authority.data,
            oidc_provider_arn=control_plane.oidc_provider_arn,
            oidc_issuer=control_plane.oidc_provider_url,
            kubeconfig=self.kubeconfig,
            vpc_id=args.vpc_id,
            private_subnet_ids=args.private_subnet_ids,
            security_group_id=outputs.once(group, discovery_tag.id),
            system_nodes=self._system_nodes(),
        )
        self.register_outputs({"clusterName": self.cluster_name, "kubeconfig": self.kubeconfig})

    def _control_plane(self) -> eks.Cluster:
        """The control plane, without the node group, groups and add-ons it would come with."""
        args = self._args
        return eks.Cluster(
            self._prefix,
            name=args.cluster_name,
            version=args.kubernetes_version,
            vpc_id=args.vpc_id,
            private_subnet_ids=args.private_subnet_ids,
            public_subnet_ids=args.public_subnet_ids,
            authentication_mode=eks.AuthenticationMode.API,
            create_oidc_provider=True,
            endpoint_private_access=True,
            endpoint_public_access=args.endpoint_public_access,
            public_access_cidrs=args.public_access_cidrs or None,
            enabled_cluster_log_types=args.log_types,
            upgrade_policy=aws.eks.ClusterUpgradePolicyArgs(support_type="STANDARD"),
            skip_default_node_group=True,
            skip_default_security_groups=True,
            bootstrap_self_managed_addons=False,
            use_default_vpc_cni=True,
            kube_proxy_addon_options=eks.KubeProxyAddonOptionsArgs(enabled=False),
            coredns_addon_options=eks.CoreDnsAddonOptionsArgs(enabled=False),
            tags=args.tags,
            opts=self._own,
        )

    def _system_nodes(self) -> pulumi.Output[str]:
        """Add-ons and the node group, in the order in which they need each other."""
        needing_nodes = [addon for addon in self._args.addons if addon.name in _NEEDS_NODES]
        early = [
            self._addon(addon, waits_for=[])
            for addon in self._args.addons
            if addon not in needing_nodes
        ]
        group = self._node_group(waits_for=early)
        late = [self._addon(addon, waits_for=[group]) for addon in needing_nodes]
        return outputs.once(group.arn, *(addon.arn for addon in late))

    def _node_group(self, waits_for: list[aws.eks.Addon]) -> aws.eks.NodeGroup:
        """Nodes that only system pods tolerate. Without the CNI add-on they never get ready."""
        args = self._args
        role = roles.node_role(
            f"{self._prefix}-system-node",
            role_name=naming.role(args.cluster_name, args.region, "system-node"),
            partition=self._partition,
            role_tags=args.tags,
            parent=self,
        )
        size = args.system_nodes.size
        name = naming.node_group(args.cluster_name)
        return aws.eks.NodeGroup(
            f"{self._prefix}-system",
            node_group_name=name,
            cluster_name=self.cluster_name,
            node_role_arn=role.arn,
            subnet_ids=args.private_subnet_ids,
            instance_types=args.system_nodes.instance_types,
            ami_type="AL2023_x86_64_STANDARD",
            scaling_config=aws.eks.NodeGroupScalingConfigArgs(
                desired_size=size, min_size=size, max_size=size + 1
            ),
            update_config=aws.eks.NodeGroupUpdateConfigArgs(max_unavailable=1),
            labels={manifests.SYSTEM_TAINT: "true"},
            taints=[
                aws.eks.NodeGroupTaintArgs(
                    key=manifests.SYSTEM_TAINT, value="true", effect="NO_SCHEDULE"
                )
            ],
            tags=tags.named(name, args.tags),
            opts=pulumi.ResourceOptions(parent=self, depends_on=waits_for),
        )

    def _addon(self, addon: AddonArgs, waits_for: list[aws.eks.NodeGroup]) -> aws.eks.Addon:
        """One add-on; what was changed in the cluster by hand is kept on update."""
        settings = addon.configuration
        return aws.eks.Addon(
            f"{self._prefix}-{addon.name}",
            cluster_name=self.cluster_name,
            addon_name=addon.name,
            addon_version=addon.version,
            configuration_values=None if settings is None else json.dumps(settings),
            resolve_conflicts_on_create="OVERWRITE",
            resolve_conflicts_on_update="PRESERVE",
            tags=self._args.tags,
            opts=pulumi.ResourceOptions(parent=self, depends_on=waits_for),
        )
