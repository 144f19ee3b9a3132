"""Daiku's components: a network, an EKS cluster, and the autoscaler that makes its nodes.

| component | makes | hands out |
|---|---|---|
| Vpc | subnets over zones, gateways, routes | vpc_id, private_subnet_ids, public_subnet_ids |
| Cluster | control plane, OIDC provider, add-ons, system nodes | ref |
| NodeRole | role, instance profile and access entry of launched nodes | instance_profile_name |
| InterruptionQueue | queue and the rules that feed it | queue_name, queue_arn |
| ControllerPolicy | what the controller may do in AWS | policy_arns |
| ServiceAccountRole | a role for exactly one ServiceAccount | role_arn |
| Autoscaler | CRDs, RBAC, Deployment | controller |
| NodePools | NodePool and EC2NodeClass objects | names |

What a component hands out is known only when all it stands on is there, so order on create and on
destroy follows from passing values along.
"""

from daiku_infra.autoscaler import Autoscaler, AutoscalerArgs
from daiku_infra.cluster import AddonArgs, Cluster, ClusterArgs, SystemNodesArgs
from daiku_infra.cluster_ref import ClusterRef
from daiku_infra.config import ConfigError, StackConfig
from daiku_infra.controller_policy import ControllerPolicy, ControllerPolicyArgs
from daiku_infra.interruption import InterruptionQueue, InterruptionQueueArgs
from daiku_infra.node_pools import NodeClassArgs, NodePoolArgs, NodePools, NodePoolsArgs
from daiku_infra.node_role import NodeRole, NodeRoleArgs
from daiku_infra.service_account_role import ServiceAccountRole, ServiceAccountRoleArgs
from daiku_infra.subnets import NatGateways
from daiku_infra.vpc import Vpc, VpcArgs

__all__ = [
    "AddonArgs",
    "Autoscaler",
    "AutoscalerArgs",
    "Cluster",
    "ClusterArgs",
    "ClusterRef",
    "ConfigError",
    "ControllerPolicy",
    "ControllerPolicyArgs",
    "InterruptionQueue",
    "InterruptionQueueArgs",
    "NatGateways",
    "NodeClassArgs",
    "NodePoolArgs",
    "NodePools",
    "NodePoolsArgs",
    "NodeRole",
    "NodeRoleArgs",
    "ServiceAccountRole",
    "ServiceAccountRoleArgs",
    "StackConfig",
    "SystemNodesArgs",
    "Vpc",
    "VpcArgs",
]
