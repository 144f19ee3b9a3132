"""What of an EC2NodeClass is wrong in itself, before AWS is asked anything: reasons and sentences.

The schema refuses what it can; here is what it cannot: the kubelet's settings, user data, and tags that were let in by
an older schema.

Source: Karpenter's validation of EC2NodeClasses, in its order.
"""

from collections.abc import Iterator
from typing import Final

from daiku import reasons
from daiku.cloud.aws import kubelet, node_class, user_data
from daiku.cloud.aws.answers import part
from daiku.model.nodeclass import NodeClass
from daiku.reason import Reason

OURS: Final = (
    "eks:eks-cluster-name",
    "karpenter.sh/nodepool",
    "karpenter.sh/nodeclaim",
    "karpenter.k8s.aws/ec2nodeclass",
)
"""Tags that say whose a machine is."""
CLUSTER_TAG: Final = "kubernetes.io/cluster"


def problems(found: NodeClass) -> list[tuple[Reason, str]]:
    """Why no machine can be made from it: (reason, sentence) pairs; empty when one can."""
    family = node_class.family(found)
    made = kubelet.problems(node_class.kubelet(found), family)
    made.extend((reasons.TAG_VALIDATION_FAILED, sentence) for sentence in _tags(found))
    users = user_data.problem(family.name, str(found.spec.get("userData") or ""))
    return [*made, users] if users else made


def _tags(found: NodeClass) -> Iterator[str]:
    for key in sorted(part(found.spec, "tags")):
        if key in OURS or key.startswith(CLUSTER_TAG):
            yield f"spec.tags.{key} is Daiku's to set: take it out"
