"""The whole deployment: a network, a cluster in it, and an autoscaler that makes the cluster's nodes.

Values come from stacks/Pulumi.<stack>.yaml; components/daiku_infra/environment.py wires the components.
"""

import pulumi

import daiku_infra as infra

config = infra.load_config()
environment = infra.Environment(config.cluster_name, config)

pulumi.export("clusterName", environment.cluster_name)
pulumi.export("kubeconfig", environment.kubeconfig)
pulumi.export("vpcId", environment.vpc_id)
pulumi.export("privateSubnetIds", environment.private_subnet_ids)
pulumi.export("publicSubnetIds", environment.public_subnet_ids)
pulumi.export("nodeRole", environment.node_role_arn)
pulumi.export("interruptionQueue", environment.interruption_queue)
pulumi.export("nodePools", environment.node_pools)
