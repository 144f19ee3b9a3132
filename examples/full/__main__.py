"""A whole environment from the library, for programs that have more to say than a stack file can.

Try: `pulumi stack init dev && pulumi config set aws:region us-west-2 && pulumi preview`.
"""

import pulumi

import daiku_infra as infra

NAME, REGION = "shop", "us-west-2"
TAGS = {"daiku.dev/cluster": NAME, "team": "shop"}

environment = infra.Environment(
    NAME,
    infra.EnvironmentArgs(
        cluster_name=NAME,
        region=REGION,
        vpc=infra.VpcArgs(
            region=REGION,
            cluster_name=NAME,
            zones=[f"{REGION}a", f"{REGION}b", f"{REGION}c"],
            cidr_block="10.48.0.0/16",
            nat_gateways=infra.NatGateways.SINGLE,
            tags=TAGS,
        ),
        control_plane=infra.ControlPlaneArgs(public_access_cidrs=["203.0.113.0/24"]),
        identity=infra.Identity.POD_IDENTITY,
        controller_image="123456789012.dkr.ecr.us-west-2.amazonaws.com/daiku/controller:0.1.0",
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
                            "requirements": [
                                {
                                    "key": "karpenter.sh/capacity-type",
                                    "operator": "In",
                                    "values": ["spot", "on-demand"],
                                }
                            ],
                        }
                    },
                    "limits": {"cpu": "100"},
                },
            )
        ],
        tags=TAGS,
    ),
)

pulumi.export("kubeconfig", environment.kubeconfig)
