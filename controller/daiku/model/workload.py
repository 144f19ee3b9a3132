"""Which workload a pod belongs to, told from its owners and labels alone.

A Deployment's pods are owned by its ReplicaSet, which is named after it and the hash of the template; the pods carry
that hash as a label. So the Deployment is known without having seen the ReplicaSet.
"""

from dataclasses import dataclass
from typing import Final

from daiku.model.meta import Meta

HASH_LABEL: Final = "pod-template-hash"
ROLLOUT_HASH_LABEL: Final = "rollouts-pod-template-hash"
"""What Argo Rollouts calls it."""


@dataclass(frozen=True, slots=True, order=True)
class Workload:
    """What makes pods, or a pod that nothing makes."""

    namespace: str
    name: str
    kind: str

    def __str__(self) -> str:
        """Kind and key, for people."""
        return f"{self.kind} {self.namespace}/{self.name}"


def of(meta: Meta) -> Workload:
    """The workload of the pod with this metadata; the pod itself when it has no owner."""
    owner = next((each for each in meta.owners if each.controller), next(iter(meta.owners), None))
    if owner is None:
        return Workload(meta.namespace, meta.name, "Pod")
    above, _, suffix = owner.name.rpartition("-")
    if owner.kind == "ReplicaSet" and above:
        for label, kind in ((HASH_LABEL, "Deployment"), (ROLLOUT_HASH_LABEL, "Rollout")):
            if meta.labels.get(label) == suffix:
                return Workload(meta.namespace, above, kind)
    return Workload(meta.namespace, owner.name, owner.kind)
