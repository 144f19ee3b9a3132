"""Daiku's components: a network, an EKS cluster, and the autoscaler that makes its nodes.

| component | makes | hands out |
|---|---|---|
| Environment | all of the below, wired | kubeconfig, node_pools |
| Vpc | subnets over zones, gateways, routes, endpoints, flow logs | vpc_id, private_subnet_ids, … |
| ExistingVpc | discovery tags on subnets of a VPC that is there | as Vpc |
| Cluster | control plane, OIDC provider, add-ons, access, system nodes | ref |
| NodeSecurityGroup | a security group for nodes alone, with its rules | security_group_id |
| NodeRole | role, instance profile and access entry of launched nodes | instance_profile_name |
| InterruptionQueue | queue and the rules that feed it | queue_name, queue_arn |
| ControllerPolicy | what the controller may do in AWS | policy_arns |
| ServiceAccountRole | a role for exactly one ServiceAccount | role_arn |
| Autoscaler | CRDs, RBAC, Deployment | controller |
| ControllerImage | a registry, and the controller's image in it | image |
| Platform | load balancer controller, Prometheus, KEDA: each by wish | |
| Drain | nothing; takes the nodes away when it is deleted | |
| NodePools | NodePool and EC2NodeClass objects | names |

What a component hands out is known only when all it stands on is there, so order on create and on
destroy follows from passing values along.
"""

from daiku_infra.access import AccessArgs, ClusterAccess, ClusterAccessArgs
from daiku_infra.addons import AddonArgs, CniArgs
from daiku_infra.api_types import NodeClassSpec, NodePoolSpec
from daiku_infra.autoscaler import Autoscaler, AutoscalerArgs
from daiku_infra.cluster import Cluster, ClusterArgs
from daiku_infra.cluster_ref import ClusterRef, IpFamily
from daiku_infra.config import ConfigError
from daiku_infra.config import load as load_config
from daiku_infra.control_plane import ControlPlaneArgs
from daiku_infra.controller_image import ControllerImage, ControllerImageArgs
from daiku_infra.controller_policy import ControllerPolicy, ControllerPolicyArgs
from daiku_infra.controller_settings import ControllerSettingsArgs
from daiku_infra.drain import Drain, DrainArgs
from daiku_infra.environment import Environment, EnvironmentArgs
from daiku_infra.existing_vpc import ExistingVpc, ExistingVpcArgs
from daiku_infra.flow_logs import FlowLogs, FlowLogsArgs
from daiku_infra.interruption import InterruptionQueue, InterruptionQueueArgs
from daiku_infra.node_pools import (
    NodeClassArgs,
    NodePoolArgs,
    NodePools,
    NodePoolsArgs,
    NodePoolsError,
)
from daiku_infra.node_role import NodeRole, NodeRoleArgs
from daiku_infra.node_security_group import (
    NodeSecurityArgs,
    NodeSecurityGroup,
    NodeSecurityGroupArgs,
)
from daiku_infra.platform import Platform, PlatformArgs
from daiku_infra.preflight import PreflightError
from daiku_infra.service_account_role import Identity, ServiceAccountRole, ServiceAccountRoleArgs
from daiku_infra.subnets import NatGateways
from daiku_infra.system_nodes import SystemNodeGroup, SystemNodeGroupArgs, SystemNodesArgs
from daiku_infra.vpc import Vpc, VpcArgs
from daiku_infra.vpc_endpoints import Endpoints, VpcEndpoints, VpcEndpointsArgs

__all__ = [
    "AccessArgs",
    "AddonArgs",
    "Autoscaler",
    "AutoscalerArgs",
    "Cluster",
    "ClusterAccess",
    "ClusterAccessArgs",
    "ClusterArgs",
    "ClusterRef",
    "CniArgs",
    "ConfigError",
    "ControlPlaneArgs",
    "ControllerImage",
    "ControllerImageArgs",
    "ControllerPolicy",
    "ControllerPolicyArgs",
    "ControllerSettingsArgs",
    "Drain",
    "DrainArgs",
    "Endpoints",
    "Environment",
    "EnvironmentArgs",
    "ExistingVpc",
    "ExistingVpcArgs",
    "FlowLogs",
    "FlowLogsArgs",
    "Identity",
    "InterruptionQueue",
    "InterruptionQueueArgs",
    "IpFamily",
    "NatGateways",
    "NodeClassArgs",
    "NodeClassSpec",
    "NodePoolArgs",
    "NodePoolSpec",
    "NodePools",
    "NodePoolsArgs",
    "NodePoolsError",
    "NodeRole",
    "NodeRoleArgs",
    "NodeSecurityArgs",
    "NodeSecurityGroup",
    "NodeSecurityGroupArgs",
    "Platform",
    "PlatformArgs",
    "PreflightError",
    "ServiceAccountRole",
    "ServiceAccountRoleArgs",
    "SystemNodeGroup",
    "SystemNodeGroupArgs",
    "SystemNodesArgs",
    "Vpc",
    "VpcArgs",
    "VpcEndpoints",
    "VpcEndpointsArgs",
    "load_config",
]
