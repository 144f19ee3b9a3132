"""Tags: who owns a resource, and who looks for it.

| tag | on | read by |
|---|---|---|
| daiku.dev/cluster | everything that a stack makes | a person, and the sweep after a destroy |
| karpenter.sh/discovery | private subnets, one security group | EC2NodeClass selector terms |
| kubernetes.io/role/elb, …/internal-elb | public, private subnets | load balancer controllers |
| kubernetes.io/role/cni | subnets of pods | VPC CNI, which then takes pods' addresses there |

What the controller itself launches carries tags of its own. No Pulumi in here.
"""

from collections.abc import Mapping

CLUSTER = "daiku.dev/cluster"
"""Key of the tag that names the cluster a resource was made for."""
DISCOVERY = "karpenter.sh/discovery"
"""Key of the tag by which a node class finds subnets and its security group."""
PUBLIC_LOAD_BALANCERS = "kubernetes.io/role/elb"
"""Key of the tag of subnets that internet-facing load balancers use."""
INTERNAL_LOAD_BALANCERS = "kubernetes.io/role/internal-elb"
"""Key of the tag of subnets that internal load balancers use."""
POD_ADDRESSES = "kubernetes.io/role/cni"
"""Key of the tag of subnets that the VPC CNI may take pods' addresses from."""

_RESERVED_PREFIXES = ("aws:", "eks:", "karpenter.sh/", "karpenter.k8s.aws/", "kubernetes.io/")


def base(cluster: str, extra: Mapping[str, str]) -> dict[str, str]:
    """Tags that everything of a cluster carries."""
    return {**extra, CLUSTER: cluster}


def named(name: str, common: Mapping[str, str]) -> dict[str, str]:
    """Tags of a resource that the console lists by its Name."""
    return {**common, "Name": name}


def discovery(cluster: str) -> dict[str, str]:
    """Tag by which the cluster's node classes find a subnet or a security group."""
    return {DISCOVERY: cluster}


def public_subnet(name: str, common: Mapping[str, str]) -> dict[str, str]:
    """Tags of a subnet for internet-facing load balancers."""
    return {**named(name, common), PUBLIC_LOAD_BALANCERS: "1"}


def private_subnet(name: str, cluster: str, common: Mapping[str, str]) -> dict[str, str]:
    """Tags of a subnet for nodes, pods and internal load balancers."""
    return {**named(name, common), INTERNAL_LOAD_BALANCERS: "1", **discovery(cluster)}


def pod_subnet(name: str, common: Mapping[str, str]) -> dict[str, str]:
    """Tags of a subnet that only pods have addresses in. No node class finds it."""
    return {**named(name, common), POD_ADDRESSES: "1"}


def is_reserved(key: str) -> bool:
    """Tell whether a key means something to AWS, to Kubernetes or to the controller."""
    return key == CLUSTER or key.startswith(_RESERVED_PREFIXES)
