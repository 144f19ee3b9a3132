"""What to do: a plan is a list of these, and nothing is left for the executor to choose.

Each command is idempotent or carries its own token, so that carrying it out twice, or after a crash,
does no harm. `key` names what it acts on: the executor never runs two commands of one key at a time, and the
core never plans a second one while the first is under way (`state.inflight`).
"""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Final, Self

from daiku import reasons
from daiku.model import labels, quick
from daiku.model.condition import Condition
from daiku.model.instance_type import LaunchOption
from daiku.model.meta import Meta
from daiku.model.node import Node
from daiku.model.nodeclaim import NodeClaim
from daiku.model.taints import Taint
from daiku.reason import Reason

MESSAGE_MOST: Final = 1000
"""Characters of an Event's message; the API server takes 1024."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CreateNodeClaim:
    """Write down the wish for a node. Its name is its idempotency token."""

    node_claim: NodeClaim
    pods: tuple[str, ...] = ()
    """namespace/name of the pods that it is made for: an expectation, not an order."""
    reason: Reason = reasons.PROVISIONED
    """Why it is made, for metrics: provisioned, or why it replaces another node (of kind DISRUPTED)."""

    @property
    def key(self) -> str:
        """What it acts on."""
        return f"NodeClaim/{self.node_claim.meta.name}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Launch:
    """Ask the cloud for the instance of a NodeClaim; the claim's uid is the client token."""

    node_claim: NodeClaim
    options: tuple[LaunchOption, ...]
    """Cheapest first; all of one capacity type."""

    @property
    def key(self) -> str:
        """What it acts on."""
        return f"Launch/{self.node_claim.meta.name}"


@quick.made
@dataclass(frozen=True, slots=True, kw_only=True)
class PatchNodeClaim:
    """Change a NodeClaim's metadata, then its status. None leaves a part as it is.

    Conditions are merged by type. `last_transition` is set by the encoder only where the status changes.
    """

    name: str
    resource_version: str
    """Version that the decision was made on; a conflict fails the command and the next tick decides anew."""
    add_finalizer: bool = False
    remove_finalizer: bool = False
    labels: Mapping[str, str | None] | None = None
    """Labels to set; None as value removes."""
    annotations: Mapping[str, str | None] | None = None
    """Annotations to set; None as value removes."""
    provider_id: str | None = None
    node_name: str | None = None
    image_id: str | None = None
    capacity: Mapping[str, int] | None = None
    allocatable: Mapping[str, int] | None = None
    conditions: tuple[Condition, ...] = ()
    """Conditions to set, whole (with their transition times already decided by the core)."""
    last_pod_event: datetime | None = None

    @property
    def key(self) -> str:
        """What it acts on."""
        return f"NodeClaim/{self.name}"


@dataclass(frozen=True, slots=True, kw_only=True)
class DeleteNodeClaim:
    """Ask for a NodeClaim's deletion; its finalizer then drains and terminates."""

    name: str
    uid: str
    """Only this very object is deleted, not a later one of the same name."""
    reason: Reason
    """Of kind DISRUPTED or ENDED: for logs and metrics."""

    @property
    def key(self) -> str:
        """What it acts on."""
        return f"NodeClaim/{self.name}"


@dataclass(frozen=True, slots=True, kw_only=True)
class PodRef:
    """One pod, and no later one of its name."""

    namespace: str
    name: str
    uid: str


@dataclass(frozen=True, slots=True, kw_only=True)
class PatchNode:
    """Change a Node's metadata and taints. None leaves a part as it is."""

    name: str
    resource_version: str
    add_finalizer: bool = False
    remove_finalizer: bool = False
    owner: NodeClaim | None = None
    """NodeClaim to set as owner."""
    labels: Mapping[str, str | None] | None = None
    """Labels to set; None as value removes."""
    annotations: Mapping[str, str | None] | None = None
    taints: tuple[Taint, ...] | None = None
    """The whole list of taints after the change."""
    before: Node | None = None
    """The Node that was decided on: a newer version of it will do too, as long as the taints that change are where they
    were. None: only the version above will."""
    nominates: tuple[PodRef, ...] = ()
    """Pods for which kube-scheduler is to try this node first: it is told so before the change is made. A hint: a pod
    that cannot be told is placed like any other."""

    @property
    def only_nominates(self) -> bool:
        """Whether the Node stays as closed or open as it is, and only pods are told of it."""
        return bool(self.nominates) and self.taints is None

    @property
    def key(self) -> str:
        """What it acts on."""
        return f"Node/{self.name}"


@dataclass(frozen=True, slots=True, kw_only=True)
class DeleteNode:
    """Ask for a Node's deletion."""

    name: str
    uid: str

    @property
    def key(self) -> str:
        """What it acts on."""
        return f"Node/{self.name}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Evict:
    """Ask for a pod's eviction, which PodDisruptionBudgets may refuse."""

    namespace: str
    name: str
    uid: str
    reason: str = ""
    """Why its node goes: for people and metrics."""

    @property
    def key(self) -> str:
        """What it acts on."""
        return f"Pod/{self.namespace}/{self.name}"


@dataclass(frozen=True, slots=True, kw_only=True)
class DeletePod:
    """Delete a pod past its PodDisruptionBudgets, because its node must be gone by a deadline."""

    namespace: str
    name: str
    uid: str
    grace_seconds: int

    @property
    def key(self) -> str:
        """What it acts on."""
        return f"Pod/{self.namespace}/{self.name}"


@dataclass(frozen=True, slots=True, kw_only=True)
class PatchPod:
    """Change a pod's annotations."""

    namespace: str
    name: str
    uid: str
    annotations: Mapping[str, str | None]
    """Annotations to set; None as value removes."""

    @classmethod
    def with_deletion_cost(cls, meta: Meta, cost: str | None) -> Self:
        """Have a ReplicaSet give up the pod of this metadata by `cost`; None: by none."""
        wanted = {labels.POD_DELETION_COST: cost}
        return cls(namespace=meta.namespace, name=meta.name, uid=meta.uid, annotations=wanted)

    @property
    def key(self) -> str:
        """What it acts on."""
        return f"Pod/{self.namespace}/{self.name}"


@dataclass(frozen=True, slots=True, kw_only=True)
class InspectDeployment:
    """Read a Deployment, and whether an autoscaler says how many replicas it has."""

    namespace: str
    name: str

    @property
    def key(self) -> str:
        """What it acts on."""
        return f"Inspection/{self.namespace}/{self.name}"


@dataclass(frozen=True, slots=True, kw_only=True)
class PatchDeployment:
    """Change a Deployment's labels and annotations, or its number of replicas. None leaves a part as it is."""

    namespace: str
    name: str
    resource_version: str
    """Version that the decision was made on; a conflict fails the command and the next tick decides anew."""
    labels: Mapping[str, str | None] | None = None
    annotations: Mapping[str, str | None] | None = None
    replicas: int | None = None

    @property
    def key(self) -> str:
        """What it acts on."""
        return f"Deployment/{self.namespace}/{self.name}"


@dataclass(frozen=True, slots=True, kw_only=True)
class TerminateInstance:
    """Ask the cloud to end an instance. Done when the cloud says that it is gone or going."""

    provider_id: str
    node_claim: str
    """Name of its NodeClaim; empty for an orphan."""

    @property
    def key(self) -> str:
        """What it acts on."""
        return f"Instance/{self.provider_id}"


@quick.made
@dataclass(frozen=True, slots=True, kw_only=True)
class PatchNodePool:
    """Change a NodePool's annotations and status. None leaves a part as it is."""

    name: str
    resource_version: str
    annotations: Mapping[str, str | None] | None = None
    """Annotations to set; None as value removes."""
    conditions: tuple[Condition, ...] = ()
    nodes: int | None = None
    resources: Mapping[str, int] | None = None
    class_generation: int | None = None
    """Generation of its node class that its conditions speak of."""

    @property
    def key(self) -> str:
        """What it acts on."""
        return f"NodePool/{self.name}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Announce:
    """Write a Kubernetes Event on an object, for the people who look at it."""

    kind: str
    """Pod, Node, NodeClaim, NodePool or EC2NodeClass."""
    namespace: str
    name: str
    uid: str
    type: str
    """Normal or Warning."""
    reason: Reason
    """Of kind EVENT."""
    message: str

    @classmethod
    def on(cls, kind: str, meta: Meta, *, type_: str, reason: Reason, message: str) -> Self:
        """An Event on the object of this metadata; a message that the API server would refuse is cut."""
        return cls(
            kind=kind,
            namespace=meta.namespace,
            name=meta.name,
            uid=meta.uid,
            type=type_,
            reason=reason,
            message=message[:MESSAGE_MOST],
        )

    @property
    def key(self) -> str:
        """What it acts on; events on one object with one reason follow each other."""
        return f"Event/{self.kind}/{self.namespace}/{self.name}/{self.reason}"


Command = (
    CreateNodeClaim
    | Launch
    | PatchNodeClaim
    | DeleteNodeClaim
    | PatchNode
    | DeleteNode
    | Evict
    | DeletePod
    | PatchPod
    | InspectDeployment
    | PatchDeployment
    | TerminateInstance
    | PatchNodePool
    | Announce
)
WRITES = (PatchNodeClaim, PatchNode, PatchNodePool, Announce)
"""Commands that say something and move nothing: when one fails, nothing is known but that it is to be said again."""
