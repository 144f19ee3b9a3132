"""Environment: a network, a cluster in it, and an autoscaler that makes the cluster's nodes.

There is no order to keep in this file: whoever takes a value of another component waits for all that
the value stands on, and goes before it on destroy.
"""

import dataclasses
from dataclasses import dataclass, field

import pulumi

from daiku_infra import addons, address_demand, manifests, preflight, subnets
from daiku_infra.access import AccessArgs
from daiku_infra.addons import AddonArgs, CniArgs
from daiku_infra.autoscaler import Autoscaler, AutoscalerArgs
from daiku_infra.cluster import Cluster, ClusterArgs
from daiku_infra.cluster_ref import ClusterRef, IpFamily
from daiku_infra.control_plane import ControlPlaneArgs
from daiku_infra.controller_image import ControllerImage, ControllerImageArgs
from daiku_infra.controller_policy import ControllerPolicy, ControllerPolicyArgs
from daiku_infra.controller_settings import ControllerSettingsArgs
from daiku_infra.drain import Drain, DrainArgs
from daiku_infra.existing_vpc import ExistingVpc, ExistingVpcArgs
from daiku_infra.interruption import InterruptionQueue, InterruptionQueueArgs
from daiku_infra.node_pools import NodeClassArgs, NodePoolArgs, NodePools, NodePoolsArgs
from daiku_infra.node_role import NodeRole, NodeRoleArgs
from daiku_infra.node_security_group import NodeSecurityArgs
from daiku_infra.platform import Platform, PlatformArgs
from daiku_infra.providers import kubernetes
from daiku_infra.service_account_role import Identity, ServiceAccountRole, ServiceAccountRoleArgs
from daiku_infra.system_nodes import SystemNodesArgs
from daiku_infra.vpc import Vpc, VpcArgs


@dataclass(frozen=True, slots=True, kw_only=True)
class EnvironmentArgs:
    """Everything that distinguishes one environment from another."""

    cluster_name: str
    """Name of the cluster, 1 to 100 characters."""
    region: str
    """AWS region."""
    account_id: str | None = None
    """AWS account that this must be, 12 digits; any when absent."""
    vpc: VpcArgs | None = None
    """The network to make; None with existing_vpc."""
    existing_vpc: ExistingVpcArgs | None = None
    """The network to use; None with vpc."""
    control_plane: ControlPlaneArgs = field(default_factory=ControlPlaneArgs)
    """How the control plane is run."""
    access: list[AccessArgs] = field(default_factory=list[AccessArgs])
    """Who may enter the cluster, beside the principal that makes it."""
    addons: list[AddonArgs] = field(default_factory=addons.default_addons)
    """EKS add-ons."""
    cni: CniArgs = field(default_factory=CniArgs)
    """How pods get addresses."""
    identity: Identity = Identity.IRSA
    """How pods that call AWS get their role."""
    system_nodes: SystemNodesArgs = field(default_factory=SystemNodesArgs)
    """Nodes of system pods."""
    node_security: NodeSecurityArgs = field(default_factory=NodeSecurityArgs)
    """Security groups of nodes."""
    controller_image: str | None = None
    """Image of the controller; built into a registry of this environment's own when absent."""
    controller_replicas: int = 2
    """Pods of the controller."""
    controller_settings: ControllerSettingsArgs = field(default_factory=ControllerSettingsArgs)
    """How the controller works."""
    service_monitor: bool = False
    """Have Prometheus' operator scrape the controller."""
    monitoring: bool = False
    """The controller's alerts and dashboards, for Prometheus' operator and Grafana."""
    load_balancers: bool = False
    """AWS Load Balancer Controller."""
    prometheus: bool = False
    """Prometheus with its operator, and Grafana."""
    keda: bool = False
    """KEDA."""
    drain_minutes: int = 15
    """How long a destroy gives pods to leave, before it takes nodes by force."""
    aws_profile: str | None = None
    """Profile of the AWS configuration that the provider uses, for a destroy to use it too."""
    node_classes: list[NodeClassArgs] = field(default_factory=list[NodeClassArgs])
    """EC2NodeClasses."""
    node_pools: list[NodePoolArgs] = field(default_factory=list[NodePoolArgs])
    """NodePools."""
    tags: dict[str, str] = field(default_factory=dict[str, str])
    """Tags that every resource carries."""


class Environment(pulumi.ComponentResource):
    """A cluster that makes its own nodes, and all that it stands on."""

    cluster_name: pulumi.Output[str]
    """Name of the cluster, once it exists."""
    kubeconfig: pulumi.Output[str]
    """How to reach it, as JSON. A secret."""
    vpc_id: pulumi.Output[str]
    """Id of its VPC."""
    private_subnet_ids: list[pulumi.Output[str]]
    """Subnets of its nodes."""
    public_subnet_ids: list[pulumi.Output[str]]
    """Subnets of internet-facing load balancers."""
    node_role_arn: pulumi.Output[str]
    """Role of the nodes that the controller makes."""
    interruption_queue: pulumi.Output[str]
    """Name of the queue that announces interruptions."""
    node_pools: list[pulumi.Output[str]]
    """Names of the NodePools, each known once it is ready."""

    def __init__(
        self, name: str, args: EnvironmentArgs, opts: pulumi.ResourceOptions | None = None
    ) -> None:
        """Ask AWS whether it can be, then register everything."""
        preflight.require_world(args.controller_image)
        preflight.require(_wish(args), preflight.ask())
        _warn_of_short_addresses(args)
        super().__init__("daiku:index:Environment", name, None, opts)
        self._args = args
        self._own = pulumi.ResourceOptions(parent=self)
        network = self._network()
        cluster = self._cluster(network)
        self.cluster_name, self.kubeconfig = cluster.cluster_name, cluster.kubeconfig
        self.vpc_id = network.vpc_id
        self.private_subnet_ids = network.private_subnet_ids
        self.public_subnet_ids = network.public_subnet_ids
        self.node_pools = self._autoscaling(cluster)
        self.register_outputs(
            {
                "clusterName": self.cluster_name,
                "kubeconfig": self.kubeconfig,
                "vpcId": self.vpc_id,
                "privateSubnetIds": self.private_subnet_ids,
                "publicSubnetIds": self.public_subnet_ids,
                "nodeRoleArn": self.node_role_arn,
                "interruptionQueue": self.interruption_queue,
                "nodePools": self.node_pools,
            }
        )

    def _network(self) -> Vpc | ExistingVpc:
        """The network: made, or taken as it is."""
        args = self._args
        if args.existing_vpc is not None:
            return ExistingVpc(args.cluster_name, args.existing_vpc, self._own)
        if args.vpc is None:
            raise ValueError(
                f"the environment {args.cluster_name} has neither vpc nor existing_vpc: give one of them"
            )
        return Vpc(args.cluster_name, args.vpc, self._own)

    def _cluster(self, network: Vpc | ExistingVpc) -> Cluster:
        """The cluster, in that network."""
        args = self._args
        return Cluster(
            args.cluster_name,
            ClusterArgs(
                cluster_name=args.cluster_name,
                region=args.region,
                vpc_id=network.vpc_id,
                private_subnet_ids=[*network.private_subnet_ids],
                public_subnet_ids=[*network.public_subnet_ids],
                control_plane_subnet_ids=[*network.intra_subnet_ids],
                control_plane=args.control_plane,
                access=args.access,
                addons=args.addons,
                cni=args.cni,
                identity=args.identity,
                system_nodes=args.system_nodes,
                node_security=args.node_security,
                tags=args.tags,
            ),
            self._own,
        )

    def _autoscaling(self, cluster: Cluster) -> list[pulumi.Output[str]]:
        """The controller with its rights, and what it is to make."""
        args, ref, name = self._args, cluster.ref, self._args.cluster_name
        nodes = NodeRole(f"{name}-node", NodeRoleArgs(cluster=ref), self._own)
        queue = InterruptionQueue(
            f"{name}-interruption", InterruptionQueueArgs(cluster=ref), self._own
        )
        policy = ControllerPolicy(
            f"{name}-controller",
            ControllerPolicyArgs(
                cluster=ref, node_role_arn=nodes.role_arn, queue_arn=queue.queue_arn
            ),
            self._own,
        )
        identity = ServiceAccountRole(
            f"{name}-controller",
            ServiceAccountRoleArgs(
                cluster=ref,
                namespace="kube-system",
                service_account=manifests.NAME,
                identity=args.identity,
                policy_arns=[*policy.policy_arns],
            ),
            self._own,
        )
        in_cluster = pulumi.ResourceOptions(parent=self, provider=self._kubernetes(cluster))
        platform = self._platform(ref, in_cluster)
        autoscaler = Autoscaler(
            manifests.NAME,
            AutoscalerArgs(
                cluster=ref,
                role_arn=identity.role_arn,
                identity=args.identity,
                queue_name=queue.queue_name,
                image=self._image(),
                replicas=args.controller_replicas,
                settings=_settings(args),
                service_monitor=args.service_monitor,
                monitoring=args.monitoring,
                prometheus=platform.prometheus if platform else "",
            ),
            in_cluster,
        )
        pools = NodePools(
            manifests.NAME,
            NodePoolsArgs(
                cluster=ref,
                controller=autoscaler.controller,
                instance_profile_name=nodes.instance_profile_name,
                node_classes=args.node_classes,
                node_pools=args.node_pools,
            ),
            in_cluster,
        )
        # Made last, and so the first to go.
        Drain(
            name,
            DrainArgs(
                cluster=ref,
                before=[autoscaler.controller, *pools.names],
                deadline_minutes=args.drain_minutes,
                aws_profile=args.aws_profile,
            ),
            self._own,
        )
        self.node_role_arn, self.interruption_queue = nodes.role_arn, queue.queue_name
        return pools.names

    def _platform(self, cluster: ClusterRef, in_cluster: pulumi.ResourceOptions) -> Platform | None:
        """The optional parts that were asked for."""
        args = self._args
        if not (args.load_balancers or args.prometheus or args.keda):
            return None
        return Platform(
            args.cluster_name,
            PlatformArgs(
                cluster=cluster,
                identity=args.identity,
                load_balancers=args.load_balancers,
                prometheus=args.prometheus,
                keda=args.keda,
            ),
            in_cluster,
        )

    def _image(self) -> pulumi.Input[str]:
        """The controller's image: given, or built."""
        if self._args.controller_image:
            return self._args.controller_image
        built = ControllerImage(
            f"{self._args.cluster_name}-controller",
            ControllerImageArgs(cluster_name=self._args.cluster_name, tags=self._args.tags),
            self._own,
        )
        return built.image

    def _kubernetes(self, cluster: Cluster) -> "kubernetes.Provider":
        """The way into the cluster for everything that is made in it."""
        return kubernetes.Provider(
            self._args.cluster_name,
            kubeconfig=cluster.kubeconfig,
            enable_server_side_apply=True,
            # Else a destroy would fail for ever once the cluster no longer answers; what is in it goes
            # with it.
            delete_unreachable=True,
            opts=self._own,
        )


def _wish(args: EnvironmentArgs) -> preflight.Wish:
    """What the environment needs of AWS."""
    return preflight.Wish(
        account_id=args.account_id,
        region=args.region,
        zones=args.vpc.zones if args.vpc else [],
        kubernetes_version=args.control_plane.kubernetes_version,
    )


def _settings(args: EnvironmentArgs) -> ControllerSettingsArgs:
    """How the controller works: without a way out of the VPC nobody answers for prices."""
    if args.vpc is not None and args.vpc.nat_gateways is subnets.NatGateways.NONE:
        return dataclasses.replace(args.controller_settings, isolated_vpc=True)
    return args.controller_settings


def _warn_of_short_addresses(args: EnvironmentArgs) -> None:
    """Say at preview when NodePools may outgrow the subnets that are made here."""
    if args.vpc is None or args.control_plane.ip_family is IpFamily.IPV6:
        return
    plan = subnets.divide(args.vpc.cidr_block, args.vpc.zones, args.vpc.pod_cidr_block)
    specs = {pool.name: pool.spec for pool in args.node_pools}
    available = sum(zone.node_addresses for zone in plan)
    if (problem := address_demand.shortage(specs, available)) is not None:
        pulumi.log.warn(problem)
