"""What every Kubernetes object carries, cut down to what is read here."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime

from daiku.model import quick


@quick.made
@dataclass(frozen=True, slots=True, kw_only=True)
class Owner:
    """One entry of `metadata.ownerReferences`."""

    api_version: str
    kind: str
    name: str
    uid: str
    controller: bool = False
    block_owner_deletion: bool = False
    """Foreground deletion of the owner waits until this object is gone."""


@quick.made
@dataclass(frozen=True, slots=True, kw_only=True)
class Meta:
    """`metadata` of an object."""

    name: str
    namespace: str = ""
    """Empty for objects of the whole cluster."""
    uid: str = ""
    resource_version: str = ""
    generation: int = 0
    labels: Mapping[str, str] = field(default_factory=dict[str, str])
    annotations: Mapping[str, str] = field(default_factory=dict[str, str])
    finalizers: tuple[str, ...] = ()
    owners: tuple[Owner, ...] = ()
    created: datetime | None = None
    """None only for an object that does not exist yet."""
    deleted: datetime | None = None
    """When deletion was asked for; None while it is wanted."""

    @property
    def key(self) -> str:
        """`namespace/name`, or the name alone for objects of the whole cluster."""
        return f"{self.namespace}/{self.name}" if self.namespace else self.name

    @property
    def controller_key(self) -> str:
        """Namespace/name of the same owner; empty when there is none."""
        for owner in self.owners:
            if owner.controller:
                return f"{self.namespace}/{owner.name}"
        return ""

    @property
    def controller_uid(self) -> str:
        """The uid of the owner that makes another one when this is gone; empty when nobody does."""
        for owner in self.owners:
            if owner.controller:
                return owner.uid
        return ""
