"""A cloud without machines: an instance is a Node object, made here and kept alive by kwok.

Everything the rest of the controller does is the same as on a real cloud. A Node's name follows from its NodeClaim's
uid, so a launch that is repeated finds what it made before. Unlike Karpenter's kwok provider, the Node has the whole
capacity of its instance type, not only what its first pods asked for.
Not here: the catalogue's contents (`catalogue`), Kubernetes itself (`NodeStore`, given by the composition root).
"""

import hashlib
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any, Final, Protocol

from daiku.api import decode_karpenter, encode
from daiku.cloud import errors
from daiku.cloud.provider import Instance, LaunchedInstance
from daiku.model import labels
from daiku.model.instance_type import Catalogue, InstanceType, LaunchOption
from daiku.model.node import Node
from daiku.model.nodeclaim import NodeClaim
from daiku.model.nodeclass import NodeClass
from daiku.model.repair import RepairPolicy

SCHEME: Final = "kwok://"
WORDS: Final = (
    "amber",
    "birch",
    "cedar",
    "ember",
    "flint",
    "hazel",
    "maple",
    "onyx",
    "pine",
    "slate",
    "teak",
    "willow",
)


REPAIR_POLICIES: Final = (
    RepairPolicy(condition="Ready", status="False", toleration=timedelta(minutes=10)),
    RepairPolicy(condition="Ready", status="Unknown", toleration=timedelta(minutes=10)),
)
"""Source: Karpenter's kwok provider."""


class NodeStore(Protocol):
    """The Node objects of the cluster."""

    def create(self, body: Mapping[str, Any]) -> None:
        """Create a Node; nothing happens when one of its name is there."""
        ...

    def get(self, name: str) -> Node | None:
        """The Node of this name."""
        ...

    def delete(self, name: str) -> bool:
        """Ask for a Node's deletion; whether there was one."""
        ...

    def list(self) -> Sequence[Node]:
        """Every Node."""
        ...


@dataclass(slots=True)
class KwokProvider:
    """Makes and removes Node objects. Any thread may use it."""

    nodes: NodeStore
    types: tuple[InstanceType, ...]
    now: Callable[[], datetime]
    name: str = "kwok"
    node_class_kind: str = "KWOKNodeClass"
    repair_policies: tuple[RepairPolicy, ...] = REPAIR_POLICIES
    _coming: dict[str, Instance] = field(default_factory=dict[str, Instance])
    """Nodes whose registration delay is not over."""

    def catalogue(self, node_classes: Sequence[NodeClass], version: int) -> Catalogue:
        """List the same types for every node class that is ready."""
        ready = [each.ref for each in node_classes if each.ready and each.meta.deleted is None]
        return Catalogue(version=version, instance_types=dict.fromkeys(ready, self.types))

    def launch(
        self, node_claim: NodeClaim, node_class: NodeClass, options: Sequence[LaunchOption]
    ) -> LaunchedInstance:
        """Make the Node of `node_claim`, after the node class's registration delay."""
        if not node_class.ready:
            raise errors.NodeClassNotReady(
                f"KWOKNodeClass {node_class.meta.name!r}: {node_class.why_not_ready}"
            )
        node_name = _node_name(node_claim)
        known = self.nodes.get(node_name)
        if known is not None:
            return self._launched(node_name, _option_of(known), node_claim)
        if not options:
            raise errors.InsufficientCapacity(
                f"NodeClaim {node_claim.meta.name!r} has no offering left"
            )
        launched = self._launched(node_name, options[0], node_claim)
        body = _body(node_name, node_claim, launched, options[0])
        delay = decode_karpenter.duration(node_class.spec.get("nodeRegistrationDelay"), None)
        if delay is None or delay.total_seconds() <= 0:
            self.nodes.create(body)
        else:
            self._coming[node_name] = Instance(
                provider_id=launched.provider_id,
                node_claim=node_claim.meta.name,
                nodepool=node_claim.meta.labels.get(labels.NODEPOOL, ""),
                launched=self.now(),
                terminating=False,
            )
            timer = threading.Timer(delay.total_seconds(), self._arrive, (node_name, body))
            timer.daemon = True
            timer.start()
        return launched

    def terminate(self, provider_id: str) -> None:
        """Delete the Node. An instance of this cloud is gone as soon as its Node is on its way out.

        Raises:
            InstanceNotFound: Always, because nothing is left to wait for.
        """
        node_name = provider_id.removeprefix(SCHEME)
        self._coming.pop(node_name, None)
        self.nodes.delete(node_name)
        raise errors.InstanceNotFound(f"instance {provider_id} is gone")

    def list_instances(self) -> Sequence[Instance]:
        """Every Node of this cloud, and those still to come."""
        coming = list(self._coming.values())
        there = [
            Instance(
                provider_id=node.provider_id,
                node_claim=node.meta.labels.get(labels.HOSTNAME, ""),
                nodepool=node.meta.labels.get(labels.NODEPOOL, ""),
                launched=node.meta.created or self.now(),
                terminating=node.meta.deleted is not None,
            )
            for node in self.nodes.list()
            if node.provider_id.startswith(SCHEME)
        ]
        known = {instance.provider_id for instance in there}
        return [*there, *(each for each in coming if each.provider_id not in known)]

    def _arrive(self, node_name: str, body: Mapping[str, Any]) -> None:
        if node_name not in self._coming:
            return
        # If this fails, the claim is found without an instance and replaced, as when a machine never boots.
        try:
            self.nodes.create(body)
        finally:
            self._coming.pop(node_name, None)

    def _launched(
        self, node_name: str, option: LaunchOption, node_claim: NodeClaim
    ) -> LaunchedInstance:
        chosen = next((t for t in self.types if t.name == option.instance_type), None)
        if chosen is None:
            raise errors.LaunchRefused(
                f"instance type {option.instance_type!r} is not in the catalogue of {len(self.types)} types"
            )
        fixed = {
            labels.ZONE: option.zone,
            labels.CAPACITY_TYPE: option.capacity_type,
            labels.NODEPOOL: node_claim.meta.labels.get(labels.NODEPOOL, ""),
        }
        wanted = node_claim.requirements.single_values()
        own = {k: v for k, v in wanted.items() if k not in {labels.HOSTNAME, labels.INSTANCE_TYPE}}
        return LaunchedInstance(
            provider_id=f"{SCHEME}{node_name}",
            instance_type=chosen.name,
            zone=option.zone,
            capacity_type=option.capacity_type,
            image_id="",
            labels={
                **own,
                **chosen.requirements.single_values(),
                **{k: v for k, v in fixed.items() if v},
            },
            annotations={},
            capacity=chosen.capacity,
            allocatable=chosen.allocatable,
        )


def _node_name(node_claim: NodeClaim) -> str:
    """Such as kwok-default-x7k2p-maple-1234567890; the same for the same claim."""
    digest = hashlib.sha256(node_claim.meta.uid.encode()).digest()
    word, number = WORDS[digest[0] % len(WORDS)], int.from_bytes(digest[1:5])
    return f"kwok-{node_claim.meta.name}-{word}-{number}"


def _option_of(node: Node) -> LaunchOption:
    known = node.meta.labels
    return LaunchOption(
        instance_type=known.get(labels.INSTANCE_TYPE, ""),
        zone=known.get(labels.ZONE, ""),
        capacity_type=known.get(labels.CAPACITY_TYPE, ""),
        price_usd_per_hour=0.0,
    )


def _body(
    node_name: str, node_claim: NodeClaim, launched: LaunchedInstance, option: LaunchOption
) -> dict[str, Any]:
    node_labels = {
        **node_claim.meta.labels,
        **launched.labels,
        labels.HOSTNAME: node_claim.meta.name,
        "eks-node-viewer/instance-price": f"{option.price_usd_per_hour:.6f}",
        "kwok-partition": "a",
        "kwok.x-k8s.io/node": "fake",
    }
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {
            "name": node_name,
            "labels": node_labels,
            "annotations": {"kwok.x-k8s.io/node": "fake"},
        },
        "spec": {
            "providerID": launched.provider_id,
            "taints": [{"key": labels.UNREGISTERED_TAINT, "effect": "NoExecute"}],
        },
        "status": {
            "phase": "Pending",
            "capacity": encode.quantities(launched.capacity),
            "allocatable": encode.quantities(launched.allocatable),
        },
    }
