"""What the operations of the stand-in AWS share: one account in one region.

Everything mutable in it, moto's models included, is used by one thread at a time: the one that
holds `lock`. Only the weather and the usage counts may be used without.
"""

import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from daiku_local.aws import clock
from daiku_local.aws.ec2.records import Fleets, Launches
from daiku_local.aws.eks.records import Clusters
from daiku_local.aws.usage import Usage
from daiku_local.aws.weather import Weather
from daiku_local.world import World


@dataclass(frozen=True, slots=True, kw_only=True)
class Cloud:
    """The state behind the endpoint."""

    world: World
    """The laptop world this account serves."""
    now: clock.Now
    """Gives the time in seconds since 1970."""
    timeline: clock.Timeline
    """Changes of state that are still to come."""
    weather: Weather
    """Sold-out pools, throttling, delays."""
    usage: Usage = field(default_factory=Usage)
    """Calls so far."""
    lock: threading.RLock = field(default_factory=threading.RLock)
    """Held by whoever uses anything below, or moto."""
    ec2: Any
    """moto's model of EC2 in the world's region."""
    iam: Any
    """moto's model of IAM."""
    sts: Any
    """moto's model of STS."""
    clusters: Clusters = field(default_factory=Clusters)
    """EKS clusters and what belongs to them."""
    fleets: Fleets = field(default_factory=Fleets)
    """Fleets by id."""
    launches: Launches = field(default_factory=Launches)
    """What was launched, beyond what moto remembers of an instance."""


class Asked(dict[str, Any]):
    """The parameters of a call under the API's names, and who asks."""

    region: str
    """Region that the call is signed for."""
    access_key: str
    """Access key id of the caller."""

    def __init__(
        self, parameters: Mapping[str, Any], *, region: str = "", access_key: str = ""
    ) -> None:
        super().__init__(parameters)
        self.region = region
        self.access_key = access_key


Handler = Callable[[Cloud, Asked], Mapping[str, Any]]
"""One operation: gives its result, or raises AwsError."""
