"""The names that Kubernetes, Karpenter and AWS agreed on: labels, annotations, taints, finalizers.

Only names that someone else reads or writes are here. What Daiku adds is under `daiku.dev/`.

Source: karpenter.sh/v1 and karpenter.k8s.aws/v1 well-known names;
kubernetes.io/docs/reference/labels-annotations-taints.
"""

from collections.abc import Mapping
from typing import Final

ARCH: Final = "kubernetes.io/arch"
OS: Final = "kubernetes.io/os"
HOSTNAME: Final = "kubernetes.io/hostname"
NODE_NAME: Final = "metadata.name"
"""No label, but the field that `matchFields` of node affinity asks for; read like a label of that name."""
ZONE: Final = "topology.kubernetes.io/zone"
REGION: Final = "topology.kubernetes.io/region"
INSTANCE_TYPE: Final = "node.kubernetes.io/instance-type"
WINDOWS_BUILD: Final = "node.kubernetes.io/windows-build"

NODEPOOL: Final = "karpenter.sh/nodepool"
CAPACITY_TYPE: Final = "karpenter.sh/capacity-type"
REGISTERED: Final = "karpenter.sh/registered"
INITIALIZED: Final = "karpenter.sh/initialized"
DO_NOT_SYNC_TAINTS: Final = "karpenter.sh/do-not-sync-taints"

DO_NOT_DISRUPT: Final = "karpenter.sh/do-not-disrupt"
NODEPOOL_HASH: Final = "karpenter.sh/nodepool-hash"
NODEPOOL_HASH_VERSION: Final = "karpenter.sh/nodepool-hash-version"
MIN_VALUES_RELAXED: Final = "karpenter.sh/nodeclaim-min-values-relaxed"
"""Annotation of a claim that got fewer kinds of instances than it asked for."""
POD_DELETION_COST: Final = "controller.kubernetes.io/pod-deletion-cost"
"""Annotation on pods: whom a ReplicaSet deletes first."""
TERMINATION_TIMESTAMP: Final = "karpenter.sh/nodeclaim-termination-timestamp"

DISRUPTION_COMMAND: Final = "daiku.dev/disruption-command"
"""Annotation on NodeClaims that are about to be disrupted, and on their replacements: the whole decision, as JSON."""
AWAITING_PODS: Final = "daiku.dev/awaiting-pods"
"""Annotation on NodeClaims that are made for pods which move, and the key of the NoSchedule taint that their Nodes have
until these pods wait for them."""
DISRUPTION_MODE: Final = "daiku.dev/disruption"
"""Annotation on NodePools: `dry-run` decides and tells without acting, `paused` does not even decide."""
PRICE_GUARD: Final = "daiku.dev/price-guard"
"""Annotation on NodePools: how many times the on-demand list price of a type that would do a new node may cost."""
CIRCLING: Final = "daiku.dev/circling"
"""Annotation on NodePools: nodes that consolidation took away and that were made again, as JSON."""

REBALANCE: Final = "daiku.dev/rebalance-recommended"
"""Annotation of a NodeClaim: EC2 expects to take its spot instance back, so it is replaced as if it had drifted."""
SCALE_IN_BY_NODE: Final = "daiku.dev/scale-in-by-node"
"""Annotation on pod templates, namespaces and NodePools: with `true`, a scale-in of ReplicaSets empties one node
after the other."""
SURGE: Final = "daiku.dev/surge"
"""Annotation on pod templates, namespaces and NodePools: with `true`, a pod's replacement is ready before it goes."""
SURGING: Final = "daiku.dev/surging"
"""Label of a Deployment that has one replica more for a while, by which it is found again."""
SURGE_STATE: Final = "daiku.dev/surge-state"
"""Annotation of such a Deployment: what is being done, as JSON."""
SURGE_STOPPED: Final = "daiku.dev/surge-stopped"
"""Annotation of a Deployment whose last surge did not work: when, and why."""
ROLL: Final = "daiku.dev/roll"
"""Annotation on NodeClaims that a person wants replaced (`daiku roll`): they count as drifted."""
ROLL_PAUSED: Final = "paused"
"""How that annotation begins while nothing is to be done about it."""

EXCLUDE_FROM_LOAD_BALANCERS: Final = "node.kubernetes.io/exclude-from-external-load-balancers"

TERMINATION_FINALIZER: Final = "karpenter.sh/termination"
"""Finalizer on NodeClaims and on their Nodes."""

DISRUPTED_TAINT: Final = "karpenter.sh/disrupted"
"""Key of the NoSchedule taint on a node that is being drained."""
UNREGISTERED_TAINT: Final = "karpenter.sh/unregistered"
"""Key of the NoExecute taint that a node is born with, removed when it is registered."""

ON_DEMAND: Final = "on-demand"
SPOT: Final = "spot"
RESERVED: Final = "reserved"

ALIASES: Final = {
    "failure-domain.beta.kubernetes.io/zone": ZONE,
    "failure-domain.beta.kubernetes.io/region": REGION,
    "beta.kubernetes.io/arch": ARCH,
    "beta.kubernetes.io/os": OS,
    "beta.kubernetes.io/instance-type": INSTANCE_TYPE,
    "topology.ebs.csi.aws.com/zone": ZONE,
}
"""Old key -> the key that means the same today."""

WELL_KNOWN: Final = frozenset(
    {NODEPOOL, ZONE, REGION, INSTANCE_TYPE, ARCH, OS, CAPACITY_TYPE, WINDOWS_BUILD}
)
"""Labels that a node gets by itself. A cloud adds its own: every key that its instance types describe."""

ON_MANY: Final = (SCALE_IN_BY_NODE, SURGE)
"""What is asked for by `true` on a pod, or for all pods of a namespace or on the nodes of a NodePool."""

_RESTRICTED_DOMAIN: Final = "karpenter.sh"


def capacity_type(known: Mapping[str, str]) -> str:
    """Of a node by its labels; one that Karpenter did not make says nothing, or names EKS's capacity type."""
    return known.get(CAPACITY_TYPE) or (
        SPOT if known.get("eks.amazonaws.com/capacityType") == "SPOT" else ON_DEMAND
    )


def is_restricted(key: str) -> bool:
    """Whether nobody but the controller may set the label, unless it is well known."""
    domain = key.rpartition("/")[0]
    owned = domain == _RESTRICTED_DOMAIN or domain.endswith("." + _RESTRICTED_DOMAIN)
    return owned or key == HOSTNAME


def node_class_label(group: str, kind: str) -> str:
    """The label by which NodeClaims and Nodes name their node class."""
    return f"{group}/{kind.lower()}"
