"""Which kinds are watched, where the API server keeps them, and who decodes them."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from daiku import events
from daiku.api import decode, decode_deployment, decode_karpenter, decode_volumes
from daiku.model import labels
from daiku.model.daemonset import DaemonSet
from daiku.model.deployment import Deployment
from daiku.model.namespace import Namespace
from daiku.model.node import Node
from daiku.model.nodeclaim import NodeClaim
from daiku.model.nodeclass import NodeClass
from daiku.model.nodepool import NodePool
from daiku.model.pdb import PodDisruptionBudget
from daiku.model.pod import Pod
from daiku.model.pod_owner import Job, ReplicaSet, StatefulSet
from daiku.model.volume import (
    CsiNode,
    PersistentVolume,
    PersistentVolumeClaim,
    StorageClass,
    VolumeAttachment,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Kind:
    """A kind of object that is watched."""

    name: str
    """As in `kind:` of a manifest."""
    api_version: str
    model: type[events.Object]
    path: str
    """Collection of all objects, such as /api/v1/pods."""
    decode: Callable[[bytes], events.Object]
    selector: str = ""
    """Label selector of those that are watched; empty: all."""

    @property
    def plural(self) -> str:
        """What people call several of them."""
        return f"{self.name}es" if self.name.endswith("s") else f"{self.name}s"

    def object_path(self, name: str, namespace: str = "") -> str:
        """Path of one object."""
        root, _, plural = self.path.rpartition("/")
        return (
            f"{root}/namespaces/{namespace}/{plural}/{name}" if namespace else f"{self.path}/{name}"
        )


PODS: Final = Kind(name="Pod", api_version="v1", model=Pod, path="/api/v1/pods", decode=decode.pod)
NODES: Final = Kind(
    name="Node", api_version="v1", model=Node, path="/api/v1/nodes", decode=decode.node
)
DAEMON_SETS: Final = Kind(
    name="DaemonSet",
    api_version="apps/v1",
    model=DaemonSet,
    path="/apis/apps/v1/daemonsets",
    decode=decode.daemon_set,
)
REPLICA_SETS: Final = Kind(
    name="ReplicaSet",
    api_version="apps/v1",
    model=ReplicaSet,
    path="/apis/apps/v1/replicasets",
    decode=decode.replica_set,
)
STATEFUL_SETS: Final = Kind(
    name="StatefulSet",
    api_version="apps/v1",
    model=StatefulSet,
    path="/apis/apps/v1/statefulsets",
    decode=decode.stateful_set,
)
JOBS: Final = Kind(
    name="Job",
    api_version="batch/v1",
    model=Job,
    path="/apis/batch/v1/jobs",
    decode=decode.job,
)
DEPLOYMENTS: Final = Kind(
    name="Deployment",
    api_version="apps/v1",
    model=Deployment,
    path="/apis/apps/v1/deployments",
    decode=decode_deployment.deployment,
    selector=labels.SURGING,
)
AUTOSCALERS_PATH: Final = "/apis/autoscaling/v2/namespaces/{}/horizontalpodautoscalers"
"""Collection of the autoscalers of one namespace, which are read when they are needed."""
POD_DISRUPTION_BUDGETS: Final = Kind(
    name="PodDisruptionBudget",
    api_version="policy/v1",
    model=PodDisruptionBudget,
    path="/apis/policy/v1/poddisruptionbudgets",
    decode=decode.pod_disruption_budget,
)
NAMESPACES: Final = Kind(
    name="Namespace",
    api_version="v1",
    model=Namespace,
    path="/api/v1/namespaces",
    decode=decode.namespace,
)
PERSISTENT_VOLUMES: Final = Kind(
    name="PersistentVolume",
    api_version="v1",
    model=PersistentVolume,
    path="/api/v1/persistentvolumes",
    decode=decode_volumes.persistent_volume,
)
PERSISTENT_VOLUME_CLAIMS: Final = Kind(
    name="PersistentVolumeClaim",
    api_version="v1",
    model=PersistentVolumeClaim,
    path="/api/v1/persistentvolumeclaims",
    decode=decode_volumes.persistent_volume_claim,
)
STORAGE_CLASSES: Final = Kind(
    name="StorageClass",
    api_version="storage.k8s.io/v1",
    model=StorageClass,
    path="/apis/storage.k8s.io/v1/storageclasses",
    decode=decode_volumes.storage_class,
)
CSI_NODES: Final = Kind(
    name="CSINode",
    api_version="storage.k8s.io/v1",
    model=CsiNode,
    path="/apis/storage.k8s.io/v1/csinodes",
    decode=decode_volumes.csi_node,
)
VOLUME_ATTACHMENTS: Final = Kind(
    name="VolumeAttachment",
    api_version="storage.k8s.io/v1",
    model=VolumeAttachment,
    path="/apis/storage.k8s.io/v1/volumeattachments",
    decode=decode_volumes.volume_attachment,
)
NODE_POOLS: Final = Kind(
    name="NodePool",
    api_version="karpenter.sh/v1",
    model=NodePool,
    path="/apis/karpenter.sh/v1/nodepools",
    decode=decode_karpenter.node_pool,
)
NODE_CLAIMS: Final = Kind(
    name="NodeClaim",
    api_version="karpenter.sh/v1",
    model=NodeClaim,
    path="/apis/karpenter.sh/v1/nodeclaims",
    decode=decode_karpenter.node_claim,
)
EC2_NODE_CLASSES: Final = Kind(
    name="EC2NodeClass",
    api_version="karpenter.k8s.aws/v1",
    model=NodeClass,
    path="/apis/karpenter.k8s.aws/v1/ec2nodeclasses",
    decode=decode_karpenter.node_class_decoder("karpenter.k8s.aws", "EC2NodeClass"),
)
KWOK_NODE_CLASSES: Final = Kind(
    name="KWOKNodeClass",
    api_version="karpenter.kwok.sh/v1alpha1",
    model=NodeClass,
    path="/apis/karpenter.kwok.sh/v1alpha1/kwoknodeclasses",
    decode=decode_karpenter.node_class_decoder("karpenter.kwok.sh", "KWOKNodeClass"),
)

NODE_CLASSES: Final = {kind.name: kind for kind in (EC2_NODE_CLASSES, KWOK_NODE_CLASSES)}
"""Kinds of node classes, by name."""
EVERYWHERE: Final = (
    PODS,
    NODES,
    DAEMON_SETS,
    POD_DISRUPTION_BUDGETS,
    NODE_POOLS,
    NODE_CLAIMS,
    NAMESPACES,
    PERSISTENT_VOLUMES,
    PERSISTENT_VOLUME_CLAIMS,
    STORAGE_CLASSES,
    CSI_NODES,
    VOLUME_ATTACHMENTS,
)
"""Kinds that are read whole, whatever the cloud."""
WORKLOADS: Final = (REPLICA_SETS, STATEFUL_SETS, JOBS)
"""Kinds that say how many pods are still to come."""
WATCHED: Final = (*EVERYWHERE, DEPLOYMENTS, *WORKLOADS)
"""Kinds that are watched whatever the cloud."""
BY_NAME: Final = {kind.name: kind for kind in (*EVERYWHERE, *NODE_CLASSES.values())}
