"""The one narrow door to a cloud. Calls block, and are made by executor threads only.

Contracts are obligations: whoever implements `CloudProvider` keeps them, whoever calls it relies on them.

Source: Karpenter's cloudprovider.CloudProvider.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Protocol

from daiku.model.instance_type import Catalogue, LaunchOption
from daiku.model.nodeclaim import NodeClaim
from daiku.model.nodeclass import NodeClass
from daiku.model.repair import RepairPolicy


@dataclass(frozen=True, slots=True, kw_only=True)
class LaunchedInstance:
    """What came of a launch."""

    provider_id: str
    instance_type: str
    zone: str
    capacity_type: str
    image_id: str
    labels: Mapping[str, str]
    """Labels that the node will have because of what was launched."""
    annotations: Mapping[str, str]
    """Annotations for the NodeClaim, such as the node class's hash."""
    capacity: Mapping[str, int]
    """cpu in millicores, everything else in base units."""
    allocatable: Mapping[str, int]
    """cpu in millicores, everything else in base units."""
    sold_out: tuple[tuple[str, str, str], ...] = ()
    """(instance type, zone, capacity type) of cheaper pools that said no on the way."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Instance:
    """An instance of this cluster, as the cloud lists it."""

    provider_id: str
    node_claim: str
    """Name of the NodeClaim it was launched for, from its tags; empty when it carries none."""
    nodepool: str
    launched: datetime
    terminating: bool
    """Shutting down, or terminated and still listed."""
    subnet: str = ""
    """Id of its subnet; empty where the cloud has none."""
    security_groups: tuple[str, ...] = ()
    """Ids of the groups of its interfaces, sorted; empty where the cloud has none."""
    reserved: bool = False
    """It runs in the capacity reservation that it was launched for."""


class CloudProvider(Protocol):
    """Where nodes come from."""

    name: str
    """Such as "aws" or "kwok"."""
    node_class_kind: str
    """Kind of the node classes that it understands, such as "EC2NodeClass"."""
    repair_policies: tuple[RepairPolicy, ...]
    """When a Node of it counts as broken."""

    def catalogue(self, node_classes: Sequence[NodeClass], version: int) -> Catalogue:
        """List what can be bought for each node class that is ready. Cached inside; cheap when nothing changed."""
        ...

    def launch(
        self, node_claim: NodeClaim, node_class: NodeClass, options: Sequence[LaunchOption]
    ) -> LaunchedInstance:
        """Launch the instance of `node_claim`, or find the one that an earlier call launched for the same uid.

        Without `options` only the latter: the cloud has listed one.

        Raises:
            CloudError: One of its subclasses; after any of them nothing was launched, except after
                Unreachable, where the same call finds out.
        """
        ...

    def terminate(self, provider_id: str) -> None:
        """Begin to end an instance. Returns when the cloud has accepted it, or it was going already.

        Raises:
            InstanceNotFound: It is gone; only this answer ends the termination. Its kind InstanceUnknown does so
                only for an instance that is not young.
            CloudError: Anything else; the call is repeated later.
        """
        ...

    def list_instances(self) -> Sequence[Instance]:
        """List every instance that carries this cluster's ownership tags, whatever its state."""
        ...
