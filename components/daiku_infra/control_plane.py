"""ControlPlane: the EKS control plane, the key of its Secrets, and the group of its logs.

EKS makes the log group by itself, for ever, where nobody made it before; so it is made here, with an
end. The role is handed over with its policies attached, and stays until the control plane is gone.
"""

from dataclasses import dataclass, field

import pulumi

from daiku_infra import naming, outputs, policies, roles, tags
from daiku_infra.cluster_ref import IpFamily
from daiku_infra.providers import aws, eks

_ROLE_POLICIES = ("AmazonEKSClusterPolicy", "AmazonEKSVPCResourceController")


@dataclass(frozen=True, slots=True, kw_only=True)
class ControlPlaneArgs:
    """How a control plane is run."""

    kubernetes_version: str = "1.36"
    """Minor version."""
    ip_family: IpFamily = IpFamily.IPV4
    """Addresses of pods and Services. IPV6 needs subnets that have IPv6 ranges."""
    extended_support: bool = False
    """Keep a version for its extended support, at six times the price, instead of being upgraded."""
    endpoint_public_access: bool = True
    """The API server can be reached from outside the VPC. It always can from inside."""
    public_access_cidrs: list[str] = field(default_factory=list[str])
    """Ranges it can be reached from, from outside; anywhere when empty."""
    log_types: list[str] = field(default_factory=list[str])
    """Logs to keep: api, audit, authenticator, controllerManager, scheduler."""
    log_retention_days: int = 30
    """Days that logs are kept, one of those that CloudWatch takes."""
    encrypt_secrets: bool = True
    """Encrypt Secrets with a key of this cluster's own. It cannot be undone in place."""
    deletion_protection: bool = False
    """Neither EKS nor Pulumi deletes the cluster while this is on."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ControlPlanePlace:
    """Whose control plane, and where."""

    cluster_name: str
    """Name of the cluster."""
    region: str
    """AWS region it is in."""
    partition: str
    """AWS partition it is in."""
    vpc_id: pulumi.Input[str]
    """The VPC it is in."""
    private_subnet_ids: list[pulumi.Input[str]]
    """Subnets of nodes."""
    public_subnet_ids: list[pulumi.Input[str]]
    """Subnets of load balancers."""
    own_subnet_ids: list[pulumi.Input[str]]
    """Subnets of the control plane's interfaces alone; the two above when empty."""
    tags: dict[str, str]
    """Tags that every resource carries."""


def control_plane(
    name: str, args: ControlPlaneArgs, place: ControlPlanePlace, parent: pulumi.Resource
) -> "eks.Cluster":
    """Register a control plane, without the nodes, groups and add-ons it would come with.

    Args:
        name: Name of the resources.
        args: How it is run.
        place: Whose it is, and where.
        parent: The component it belongs to.
    """
    own = pulumi.ResourceOptions(parent=parent)
    role, attached = _service_role(name, place, parent)
    waits_for = [*attached, *_log_group(name, args, place, own)]
    # Order by values: what is deleted before the cluster's own subnets are let go is deleted too early.
    private, public, alone = (
        [outputs.once(subnet, *waits_for) for subnet in subnet_ids]
        for subnet_ids in (place.private_subnet_ids, place.public_subnet_ids, place.own_subnet_ids)
    )
    support = "EXTENDED" if args.extended_support else "STANDARD"
    return eks.Cluster(
        name,
        name=place.cluster_name,
        version=args.kubernetes_version,
        vpc_id=place.vpc_id,
        private_subnet_ids=None if alone else private,
        public_subnet_ids=None if alone else public,
        subnet_ids=alone or None,
        ip_family="ipv6" if args.ip_family is IpFamily.IPV6 else None,
        service_role=role,
        authentication_mode=eks.AuthenticationMode.API,
        create_oidc_provider=True,
        endpoint_private_access=True,
        endpoint_public_access=args.endpoint_public_access,
        public_access_cidrs=args.public_access_cidrs or None,
        enabled_cluster_log_types=args.log_types,
        encryption_config_key_arn=_key(name, place, own) if args.encrypt_secrets else None,
        upgrade_policy=aws.eks.ClusterUpgradePolicyArgs(support_type=support),
        deletion_protection=args.deletion_protection or None,
        skip_default_node_group=True,
        skip_default_security_groups=True,
        bootstrap_self_managed_addons=False,
        use_default_vpc_cni=True,
        kube_proxy_addon_options=eks.KubeProxyAddonOptionsArgs(enabled=False),
        coredns_addon_options=eks.CoreDnsAddonOptionsArgs(enabled=False),
        tags=place.tags,
        opts=pulumi.ResourceOptions(parent=parent, protect=args.deletion_protection or None),
    )


def _service_role(
    name: str, place: ControlPlanePlace, parent: pulumi.Resource
) -> tuple["aws.iam.Role", list[pulumi.Output[str]]]:
    """The role that EKS acts under, and what attaches its policies."""
    role = aws.iam.Role(
        f"{name}-control-plane",
        name=naming.role(place.cluster_name, place.region, "control-plane"),
        assume_role_policy=policies.render(
            policies.service_trust("eks.amazonaws.com", "sts:AssumeRole", "sts:TagSession")
        ),
        tags=place.tags,
        opts=pulumi.ResourceOptions(parent=parent),
    )
    arns = [f"arn:{place.partition}:iam::aws:policy/{policy}" for policy in _ROLE_POLICIES]
    return role, roles.attachments(f"{name}-control-plane", role, arns)


def _log_group(
    name: str, args: ControlPlaneArgs, place: ControlPlanePlace, own: pulumi.ResourceOptions
) -> list[pulumi.Output[str]]:
    """The group that EKS writes logs to, where it is to write any."""
    if not args.log_types:
        return []
    group = aws.cloudwatch.LogGroup(
        f"{name}-control-plane",
        name=f"/aws/eks/{place.cluster_name}/cluster",
        retention_in_days=args.log_retention_days,
        tags=place.tags,
        opts=own,
    )
    return [group.id]


def _key(name: str, place: ControlPlanePlace, own: pulumi.ResourceOptions) -> pulumi.Output[str]:
    """A key for Secrets, which AWS keeps for 30 days after its deletion."""
    key = aws.kms.Key(
        f"{name}-secrets",
        description=f"Secrets of the cluster {place.cluster_name}",
        enable_key_rotation=True,
        deletion_window_in_days=30,
        tags=tags.named(f"{name}-secrets", place.tags),
        opts=own,
    )
    aws.kms.Alias(
        f"{name}-secrets",
        name=f"alias/eks/{place.cluster_name}",
        target_key_id=key.key_id,
        opts=own,
    )
    return key.arn
