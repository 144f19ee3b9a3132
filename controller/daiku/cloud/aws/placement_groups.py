"""The placement group of a node class: which one its selector names, and whether machines may go there.

Source: Karpenter's placement group provider; EC2 DescribePlacementGroups.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from daiku.cloud.aws import errors
from daiku.cloud.aws.session import Session

AVAILABLE: Final = "available"


@dataclass(frozen=True, slots=True, kw_only=True)
class Group:
    """A placement group."""

    id: str
    strategy: str
    """cluster, partition or spread."""


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
    return Group(id=usable[0]["GroupId"], strategy=usable[0]["Strategy"]) if usable else None
