"""What the stand-in EKS remembers. Descriptions are kept in the form in which the API shows them."""

from dataclasses import dataclass, field
from typing import Any

Description = dict[str, Any]


@dataclass(slots=True, kw_only=True)
class AccessEntry:
    """A principal that may use a cluster."""

    description: Description
    """The entry as DescribeAccessEntry shows it."""
    policies: dict[str, Description] = field(default_factory=dict[str, Description])
    """Associated access policies by ARN."""


@dataclass(slots=True, kw_only=True)
class NodeGroup:
    """A managed node group."""

    description: Description
    """The group as DescribeNodegroup shows it."""
    instance_ids: list[str] = field(default_factory=list[str])
    """Instances launched for it, the living and the dead."""
    profile_name: str = ""
    """Instance profile that EKS made for the group's role."""


@dataclass(slots=True, kw_only=True)
class Cluster:
    """A cluster and everything that belongs to it."""

    description: Description
    """The cluster as DescribeCluster shows it."""
    security_group_id: str
    """The group that EKS made for it."""
    interface_ids: list[str] = field(default_factory=list[str])
    """Network interfaces of its control plane."""
    access_entries: dict[str, AccessEntry] = field(default_factory=dict[str, AccessEntry])
    """Entries by ARN of their principal."""
    node_groups: dict[str, NodeGroup] = field(default_factory=dict[str, NodeGroup])
    """Managed node groups by name."""
    addons: dict[str, Description] = field(default_factory=dict[str, Description])
    """Add-ons by name, as DescribeAddon shows them."""
    associations: dict[str, Description] = field(default_factory=dict[str, Description])
    """Pod Identity associations by id."""
    updates: dict[str, Description] = field(default_factory=dict[str, Description])
    """Updates of the cluster or a part of it, by id."""


@dataclass(slots=True, kw_only=True)
class Clusters:
    """All clusters of the account."""

    by_name: dict[str, Cluster] = field(default_factory=dict[str, Cluster])
    """Clusters by name."""
