"""The whole deployment: a network, a cluster in it, and an autoscaler that makes the cluster's nodes.

Values come from stacks/Pulumi.<stack>.yaml. There is no order to keep in this file: whoever takes a
value of another component waits for all that the value stands on, and goes before it on destroy.
"""

import pulumi

import daiku_infra as infra
from daiku_infra import manifests, tags
from daiku_infra.providers import kubernetes

config = infra.StackConfig.load()
name = config.cluster_name
common_tags = tags.base(name, config.tags)

vpc = infra.Vpc(
    name,
    infra.VpcArgs(
        cidr_block=config.vpc_cidr,
        zones=config.zones,
        nat_gateways=config.nat_gateways,
        cluster_name=name,
        tags=common_tags,
    ),
)
cluster = infra.Cluster(
    name,
    infra.ClusterArgs(
        cluster_name=name,
        region=config.region,
        kubernetes_version=config.kubernetes_version,
        vpc_id=vpc.vpc_id,
        private_subnet_ids=[*vpc.private_subnet_ids],
        public_subnet_ids=[*vpc.public_subnet_ids],
        endpoint_public_access=config.endpoint_public_access,
        public_access_cidrs=config.public_access_cidrs,
        log_types=config.log_types,
        addons=config.addons,
        system_nodes=config.system_nodes,
        tags=common_tags,
    ),
)
nodes = infra.NodeRole(f"{name}-node", infra.NodeRoleArgs(cluster=cluster.ref))
interruptions = infra.InterruptionQueue(
    f"{name}-interruption", infra.InterruptionQueueArgs(cluster=cluster.ref)
)
policy = infra.ControllerPolicy(
    f"{name}-controller",
    infra.ControllerPolicyArgs(
        cluster=cluster.ref, node_role_arn=nodes.role_arn, queue_arn=interruptions.queue_arn
    ),
)
identity = infra.ServiceAccountRole(
    f"{name}-controller",
    infra.ServiceAccountRoleArgs(
        cluster=cluster.ref,
        namespace="kube-system",
        service_account=manifests.NAME,
        policy_arns=[*policy.policy_arns],
    ),
)

in_cluster = pulumi.ResourceOptions(
    provider=kubernetes.Provider(name, kubeconfig=cluster.kubeconfig, enable_server_side_apply=True)
)
autoscaler = infra.Autoscaler(
    "daiku",
    infra.AutoscalerArgs(
        cluster=cluster.ref,
        role_arn=identity.role_arn,
        queue_name=interruptions.queue_name,
        image=config.controller_image,
        replicas=config.controller_replicas,
    ),
    in_cluster,
)
pools = infra.NodePools(
    "daiku",
    infra.NodePoolsArgs(
        cluster=cluster.ref,
        controller=autoscaler.controller,
        instance_profile_name=nodes.instance_profile_name,
        node_classes=config.node_classes,
        node_pools=config.node_pools,
    ),
    in_cluster,
)

pulumi.export("clusterName", cluster.cluster_name)
pulumi.export("kubeconfig", cluster.kubeconfig)
pulumi.export("vpcId", vpc.vpc_id)
pulumi.export("privateSubnetIds", vpc.private_subnet_ids)
pulumi.export("publicSubnetIds", vpc.public_subnet_ids)
pulumi.export("nodeRole", nodes.role_arn)
pulumi.export("interruptionQueue", interruptions.queue_name)
pulumi.export("nodePools", pools.names)
