"""Who asks for a surge, and who can have one.

Asked is by the annotation `daiku.dev/surge: "true"` on the pod (so on the template), on its namespace or on its node's
NodePool. It can be had by pods of Deployments: two pods of a StatefulSet cannot have one name, and a volume that
one node mounts cannot be mounted by the replacement before the pod has gone.
"""

from dataclasses import dataclass

from daiku.model import labels, workload
from daiku.model.pod import Pod
from daiku.state.asking import Asking
from daiku.state.snapshot import Snapshot
from daiku.state.statenode import StateNode


@dataclass(frozen=True, slots=True)
class Asks:
    """Who asks, in one snapshot."""

    snapshot: Snapshot
    asking: Asking

    @classmethod
    def of(cls, snapshot: Snapshot) -> "Asks":
        """Who asks in `snapshot`."""
        return cls(snapshot, Asking.of(snapshot, labels.SURGE))

    def asks(self, pod: Pod, state_node: StateNode) -> bool:
        """Whether a surge is wanted for `pod`; what a node takes away with it has no replacement."""
        wanted = self.asking.asks(pod, state_node.nodepool)
        return wanted and pod.is_active and not pod.is_daemon and not pod.is_mirror

    def refusal(self, pod: Pod) -> str:
        """Why `pod` cannot have one, whatever happens; empty when it can."""
        kind = workload.of(pod.meta).kind
        if kind != "Deployment":
            return f"it belongs to a {kind}, and only Deployments can have a pod more for a while"
        for name in pod.volume_claims:
            claim = self.snapshot.volumes.claims.get(f"{pod.meta.namespace}/{name}")
            if claim is None or not claim.is_shared:
                return f"its volume {name} can be mounted on one node only"
        return ""

    def can_have(self, pod: Pod, state_node: StateNode) -> bool:
        """Whether one is wanted, and nothing that is known stands against it."""
        if not self.asks(pod, state_node) or self.refusal(pod):
            return False
        known = self.snapshot.inspections.get(key(pod))
        return known is None or (known.deployment is not None and not known.autoscaler)


def key(pod: Pod) -> str:
    """Namespace and name of the Deployment of `pod`."""
    of = workload.of(pod.meta)
    return f"{of.namespace}/{of.name}"
