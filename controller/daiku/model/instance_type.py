"""What a cloud sells: instance types, and each of their offerings.

An instance type is hardware (labels, capacity, what the system keeps for itself). An offering is one way
to buy it: a zone, a capacity type, a price. An offering without a price is not for sale.

Source: Karpenter's cloudprovider contract (InstanceType, Offering).
"""

from collections.abc import Mapping
from dataclasses import dataclass

from daiku.model.requirements import Requirements


@dataclass(frozen=True, slots=True, kw_only=True)
class Offering:
    """One way to buy an instance type."""

    requirements: Requirements
    """Zone, capacity type and whatever else this way of buying fixes."""
    zone: str
    capacity_type: str
    """on-demand, spot or reserved."""
    price_usd_per_hour: float
    available: bool = True
    """False while sold out, or not reachable through the node class's subnets."""
    reservation: str = ""
    """Identity of the capacity, paid for already, that it is bought from; empty: none."""
    left: int | None = None
    """How many more nodes can be had of it; None: nobody says, as for whatever is not of a reservation."""


@dataclass(frozen=True, slots=True, kw_only=True)
class InstanceType:
    """A type of machine, as one node class would run it."""

    name: str
    requirements: Requirements
    """Every label that its nodes can have, as sets of values."""
    offerings: tuple[Offering, ...]
    capacity: Mapping[str, int]
    """What the machine has: cpu in millicores, everything else in base units (bytes, counts)."""
    overhead: Mapping[str, int]
    """What kubelet and system keep: kube reserved, system reserved and eviction threshold together."""
    allocatable: Mapping[str, int]
    """What pods can have: capacity less overhead, never below 0."""


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeClassRef:
    """Which node class a NodePool or NodeClaim names."""

    group: str
    kind: str
    name: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Catalogue:
    """Everything that can be bought now. Immutable; a refresh makes another with a higher version."""

    version: int
    instance_types: Mapping[NodeClassRef, tuple[InstanceType, ...]]
    """Per node class, sorted by name; a node class that cannot be resolved is absent."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LaunchOption:
    """One offering that would do, with the price it was chosen at."""

    instance_type: str
    zone: str
    capacity_type: str
    price_usd_per_hour: float
