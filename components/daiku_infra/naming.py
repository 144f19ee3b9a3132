"""Names within AWS's length limits.

A name that is too long is cut and ends in eight digits of its own hash, so that two long names that
begin alike stay two names. Names of IAM hold the region, because IAM has none: clusters of the same
name in two regions would otherwise share their roles. No Pulumi in here.
"""

import hashlib
import re

CLUSTER_LIMIT = 100
"""Characters of an EKS cluster's name."""
ROLE_LIMIT = 64
"""Characters of an IAM role's name."""
INSTANCE_PROFILE_LIMIT = 128
"""Characters of an IAM instance profile's name."""
POLICY_LIMIT = 128
"""Characters of an IAM managed policy's name."""
QUEUE_LIMIT = 80
"""Characters of an SQS queue's name."""
RULE_LIMIT = 64
"""Characters of an EventBridge rule's name."""
NODE_GROUP_LIMIT = 63
"""Characters of an EKS managed node group's name."""

_HASH_DIGITS = 8
_CLUSTER = re.compile(r"[0-9A-Za-z][0-9A-Za-z_-]*")


def fit(name: str, limit: int) -> str:
    """Shorten `name` to `limit` characters where it is longer, keeping it unlike its neighbours."""
    if len(name) <= limit:
        return name
    digest = hashlib.sha256(name.encode()).hexdigest()[:_HASH_DIGITS]
    return f"{name[: limit - _HASH_DIGITS - 1].rstrip('-')}-{digest}"


def is_cluster_name(name: str) -> bool:
    """Tell whether EKS takes `name` for a cluster."""
    return len(name) <= CLUSTER_LIMIT and _CLUSTER.fullmatch(name) is not None


def role(cluster: str, region: str, purpose: str) -> str:
    """Name of the IAM role that `purpose` has in a cluster."""
    return fit(f"{cluster}-{region}-{purpose}", ROLE_LIMIT)


def instance_profile(cluster: str, region: str) -> str:
    """Name of the instance profile of a cluster's nodes."""
    return fit(f"{cluster}-{region}-node", INSTANCE_PROFILE_LIMIT)


def policy(cluster: str, region: str, purpose: str) -> str:
    """Name of one of a controller's managed policies."""
    return fit(f"{cluster}-{region}-{purpose}", POLICY_LIMIT)


def queue(cluster: str) -> str:
    """Name of the interruption queue: the cluster's own, as the field's guides have it."""
    return fit(cluster, QUEUE_LIMIT)


def node_security_group(cluster: str) -> str:
    """Name of the security group of a cluster's nodes, which 255 characters always hold."""
    return f"{cluster}-nodes"


def rule(cluster: str, purpose: str) -> str:
    """Name of one of the EventBridge rules that feed the interruption queue."""
    return fit(f"{cluster}-{purpose}", RULE_LIMIT)


def node_group(cluster: str) -> str:
    """Name of the system node group."""
    return fit(f"{cluster}-system", NODE_GROUP_LIMIT)
