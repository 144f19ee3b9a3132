"""The placement group of a node class: which one its selector names, and whether machines may go there.

Source: Karpenter's placement group provider; EC2 DescribePlacementGroups.
"""

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final, Self

from daiku.cloud.aws import errors
from daiku.cloud.aws.session import Session
from daiku.model.requirements import Requirement

AVAILABLE: Final = "available"
PARTITION: Final = "partition"
PARTITION_LABEL: Final = "karpenter.k8s.aws/placement-group-partition"
"""Label of a node: the number of its partition, as text."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Group:
    """A placement group."""

    id: str
    strategy: str
    """cluster, partition or spread."""
    partitions: int = 0
    """How many it has; 0 unless its strategy is partition."""

    @classmethod
    def read(cls, text: str) -> Self | None:
        """What `text` wrote down; None: nothing."""
        group_id, *rest = text.split("/")
        if not rest:
            return None
        return cls(id=group_id, strategy=rest[0], partitions=int(rest[1]) if rest[1:] else 0)

    @property
    def text(self) -> str:
        """As it is kept where there is no place for its parts: pg-1/cluster, pg-1/partition/7."""
        parts = [self.id, self.strategy, *([str(self.partitions)] if self.partitions else [])]
        return "/".join(parts)

    def partition_for(self, uid: str, asked: Requirement) -> int:
        """The partition of a machine: one of those that are asked for, which the claim's uid decides; 0: none.

        EC2 would choose one by itself, but only tells it later; pods that are kept apart by partition need to know it
        when they are planned.
        """
        free = [n for n in range(1, self.partitions + 1) if asked.has(str(n))]
        if not free:
            return 0
        return free[int.from_bytes(hashlib.sha256(uid.encode()).digest()[:8]) % len(free)]


def find(session: Session, selector: Mapping[str, Any]) -> Group | None:
    """The group that a selector names; None when there is none, or it is not available.

    Raises:
        CloudError: EC2 refused to say.
    """
    query: dict[str, Any] = (
        {"GroupIds": [selector["id"]]} if selector.get("id") else {"GroupNames": [selector["name"]]}
    )
    try:
        listed = session.call("ec2", "describe_placement_groups", **query)["PlacementGroups"]
    except errors.ResourceNotFound:
        return None
    usable = [each for each in listed if each.get("State") == AVAILABLE]
    if not usable:
        return None
    found = usable[0]
    partitions = int(found.get("PartitionCount") or 0) if found["Strategy"] == PARTITION else 0
    return Group(id=found["GroupId"], strategy=found["Strategy"], partitions=partitions)
