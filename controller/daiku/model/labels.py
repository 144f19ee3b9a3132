"""The names that Kubernetes, Karpenter and AWS agreed on: labels, annotations, taints, finalizers.

Only names that someone else reads or writes are here. What Daiku adds is under `daiku.dev/`.

Source: karpenter.sh/v1 and karpenter.k8s.aws/v1 well-known names; kubernetes.io/docs/reference/labels-annotations-taints.
"""

from typing import Final

ARCH: Final = "kubernetes.io/arch"
OS: Final = "kubernetes.io/os"
HOSTNAME: Final = "kubernetes.io/hostname"
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
TERMINATION_TIMESTAMP: Final = "karpenter.sh/nodeclaim-termination-timestamp"

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
