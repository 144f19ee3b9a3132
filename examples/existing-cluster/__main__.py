"""The autoscaler on a cluster that eksctl, Terraform or another stack made.

What is known of the cluster is looked up by its name. Its nodes' subnets and the one security group that
joins them get the discovery tag; everything else of it is left alone.
Try: `pulumi config set aws:region us-west-2 && pulumi config set cluster shop && pulumi config set --secret
kubeconfig "$(kubectl config view --raw --minify -o json)" && pulumi preview`.
"""

import pulumi
import pulumi_aws as aws
import pulumi_kubernetes as kubernetes

import daiku_infra as infra
from daiku_infra import manifests, tags

config = pulumi.Config()
name = config.require("cluster")
kubeconfig = config.require_secret("kubeconfig")
found = aws.eks.get_cluster(name=name)
account = aws.get_caller_identity().account_id
issuer = found.identities[0].oidcs[0].issuer
group = found.vpc_config.cluster_security_group_id

for number, subnet in enumerate(sorted(found.vpc_config.subnet_ids)):
    aws.ec2.Tag(f"subnet-{number}", resource_id=subnet, key=tags.DISCOVERY, value=name)
tagged = aws.ec2.Tag("group", resource_id=group, key=tags.DISCOVERY, value=name)

cluster = infra.ClusterRef(
    name=name,
    region=aws.get_region().region,
    account_id=account,
    tags={tags.CLUSTER: name},
    existing_name=name,
    endpoint=found.endpoint,
    certificate_authority=found.certificate_authorities[0].data,
    oidc_provider_arn=f"arn:aws:iam::{account}:oidc-provider/{issuer.removeprefix('https://')}",
    oidc_issuer=issuer,
    kubeconfig=kubeconfig,
    vpc_id=found.vpc_config.vpc_id,
    private_subnet_ids=[*found.vpc_config.subnet_ids],
    security_group_id=tagged.resource_id,
    system_nodes=name,
)
nodes = infra.NodeRole("node", infra.NodeRoleArgs(cluster=cluster))
queue = infra.InterruptionQueue("interruption", infra.InterruptionQueueArgs(cluster=cluster))
policy = infra.ControllerPolicy(
    "controller",
    infra.ControllerPolicyArgs(
        cluster=cluster, node_role_arn=nodes.role_arn, queue_arn=queue.queue_arn
    ),
)
identity = infra.ServiceAccountRole(
    "controller",
    infra.ServiceAccountRoleArgs(
        cluster=cluster,
        namespace="kube-system",
        service_account=manifests.NAME,
        policy_arns=[*policy.policy_arns],
    ),
)
inside = pulumi.ResourceOptions(
    provider=kubernetes.Provider("cluster", kubeconfig=kubeconfig, delete_unreachable=True)
)
autoscaler = infra.Autoscaler(
    "daiku",
    infra.AutoscalerArgs(
        cluster=cluster,
        role_arn=identity.role_arn,
        queue_name=queue.queue_name,
        image="123456789012.dkr.ecr.us-west-2.amazonaws.com/daiku/controller:0.1.0",
    ),
    inside,
)
pools = infra.NodePools(
    "daiku",
    infra.NodePoolsArgs(
        cluster=cluster,
        controller=autoscaler.controller,
        instance_profile_name=nodes.instance_profile_name,
        node_classes=[
            infra.NodeClassArgs(
                name="default", spec={"amiSelectorTerms": [{"alias": "al2023@latest"}]}
            )
        ],
        node_pools=[
            infra.NodePoolArgs(
                name="default",
                spec={
                    "template": {
                        "spec": {
                            "nodeClassRef": {
                                "group": "karpenter.k8s.aws",
                                "kind": "EC2NodeClass",
                                "name": "default",
                            },
                            "requirements": [],
                        }
                    },
                    "limits": {"cpu": "100"},
                },
            )
        ],
    ),
    inside,
)
infra.Drain("drain", infra.DrainArgs(cluster=cluster, before=[autoscaler.controller, *pools.names]))
