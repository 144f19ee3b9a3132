"""The network alone, with room for a cluster: three zones, pods in a range of their own, one NAT gateway.

Try: `pulumi stack init dev && pulumi config set aws:region us-west-2 && pulumi preview`.
"""

import pulumi

import daiku_infra as infra

REGION = "us-west-2"

vpc = infra.Vpc(
    "shop",
    infra.VpcArgs(
        region=REGION,
        cluster_name="shop",
        zones=[f"{REGION}a", f"{REGION}b", f"{REGION}c"],
        cidr_block="10.48.0.0/16",
        pod_cidr_block="100.64.0.0/16",
        intra_subnets=True,
        tags={"daiku.dev/cluster": "shop"},
    ),
)

pulumi.export("vpcId", vpc.vpc_id)
pulumi.export("privateSubnetIds", vpc.private_subnet_ids)
pulumi.export("publicSubnetIds", vpc.public_subnet_ids)
