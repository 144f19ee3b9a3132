"""What the stand-in remembers of launches beyond moto's own model of an instance."""

import itertools
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any


@dataclass(slots=True, kw_only=True)
class Launch:
    """What one instance was launched with."""

    capacity_type: str
    """"on-demand" or "spot"."""
    spot_request_id: str | None = None
    """Id of the spot request that it fulfils."""
    template: dict[str, Any] = field(default_factory=dict[str, Any])
    """Launch template data merged with the request, as RunInstances names its parameters."""
    profile_arn: str | None = None
    """ARN of the instance profile."""
    profile_id: str | None = None
    """Id of the instance profile."""
    client_token: str = ""
    """Token of the request."""
    number: int = 0
    """Number of the launch, counted over the account from 1."""
    at: float = 0.0
    """When it was, in seconds since 1970."""
    written: tuple[dict[str, Any], str] | None = None
    """The instance as it was shown last, and the text that this took on the wire."""


@dataclass(slots=True, kw_only=True)
class Fleet:
    """A fleet that was made, and the answer its maker got."""

    description: dict[str, Any]
    """The fleet as DescribeFleets shows it."""
    answer: dict[str, Any]
    """The result of CreateFleet, given again for the same token."""
    instance_ids: list[str]
    """Instances that it launched."""


@dataclass(slots=True, kw_only=True)
class Fleets:
    """All fleets."""

    by_id: dict[str, Fleet] = field(default_factory=dict[str, Fleet])
    """Fleets by id, in the order of their making."""
    by_token: dict[str, tuple[str, str]] = field(default_factory=dict[str, tuple[str, str]])
    """For each client token: a digest of its request, and the fleet's id."""


@dataclass(slots=True, kw_only=True)
class Launches:
    """All launches."""

    by_instance: dict[str, Launch] = field(default_factory=dict[str, Launch])
    """Launches by instance id."""
    reserved: dict[str, dict[str, Any]] = field(default_factory=dict[str, dict[str, Any]])
    """Capacity reservations by id."""
    block_offerings: dict[str, dict[str, Any]] = field(default_factory=dict[str, dict[str, Any]])
    """Capacity blocks that are for sale, by id."""
    groups: dict[str, dict[str, Any]] = field(default_factory=dict[str, dict[str, Any]])
    """Placement groups by name."""
    impaired: dict[str, tuple[str, float]] = field(default_factory=dict[str, tuple[str, float]])
    """For each instance that was broken on request: which check fails, and since when."""
    numbers: Iterator[int] = field(default_factory=lambda: itertools.count(1))
    """Gives each launch its number."""
    by_token: dict[str, tuple[str, str]] = field(default_factory=dict[str, tuple[str, str]])
    """For each client token of RunInstances: a digest of its request, and the reservation's id."""
