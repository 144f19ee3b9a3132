"""The weather: what AWS does to its customers, as an experiment sets it.

A forecast is one immutable value, replaced as a whole by `PUT /_weather`; what a forecast leaves
out is fair weather. What is counted (instances that a pool has left, calls that are refused) counts from there.
Not here: interruptions (`interruptions`). `daiku local weather` sets it from the command line.
"""

import dataclasses
import math
import threading
from collections import Counter
from dataclasses import dataclass
from typing import Any

from daiku_local.aws import prices
from daiku_local.aws.clock import Now

ANY = "*"
BUCKETS = {
    "read": (20.0, 100.0),
    "write": (5.0, 50.0),
    "launch": (2.0, 5.0),
    "terminate": (5.0, 100.0),
    "tag": (10.0, 100.0),
}
"""EC2's buckets of requests: tokens a second, and how many they hold."""
OWN_BUCKET = {
    "CreateFleet": "launch",
    "RunInstances": "launch",
    "TerminateInstances": "terminate",
    "CreateTags": "tag",
}
"""Operations of EC2 that share no bucket with all others that read or write."""


class BadForecastError(Exception):
    """A forecast that cannot be read; the message says which part and why."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SoldOut:
    """Pools without capacity, or with little; "*" stands for every value."""

    instance_type: str = ANY
    """Instance type, such as "m5.large"."""
    zone: str = ANY
    """Availability zone, such as "us-west-2a"."""
    capacity_type: str = ANY
    """"on-demand" or "spot"."""
    code: str = "InsufficientInstanceCapacity"
    """Error code of the answer."""
    message: str = ""
    """What it says; empty: what EC2 says when it has no capacity."""
    left: int = 0
    """Instances that these pools together still have."""

    def covers(self, instance_type: str, zone: str, capacity_type: str) -> bool:
        """Whether a pool is among these."""
        return (
            self.instance_type in (ANY, instance_type)
            and self.zone in (ANY, zone)
            and self.capacity_type in (ANY, capacity_type)
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Refusal:
    """Calls that are refused before they are looked at."""

    operation: str
    """Operation of any service, such as "CreateFleet"."""
    code: str
    """Error code, such as "UnauthorizedOperation"."""
    message: str = "refused by the weather"
    """What the answer says."""
    status: int = 400
    """HTTP status."""
    times: int | None = None
    """How many calls; None: all of them."""
    retry_after_seconds: float | None = None
    """Value of the header Retry-After; None: none."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SpotMove:
    """Spot prices that are not as usual."""

    factor: float
    """By which they are multiplied."""
    instance_type: str = ANY
    """Instance type, such as "m5.large"."""
    zone: str = ANY
    """Availability zone, such as "us-west-2a"."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Forecast:
    """The weather until the next forecast."""

    sold_out: tuple[SoldOut, ...] = ()
    """Pools that have no instance, or few; the first that covers a pool counts."""
    contested_pools: int = 0
    """How many pools of each fleet, its first choices, answer InsufficientInstanceCapacity; never all of them."""
    refusals: tuple[Refusal, ...] = ()
    """Calls that are refused; of an operation the first that is not used up."""
    boot_seconds: float = 2.0
    """Time from a running instance to its Node; the agent reads it."""
    unseen_seconds: float = 0.0
    """How long a new instance is not described, and its id not known."""
    pending_seconds: float = 1.0
    """Time that an instance is pending."""
    stopping_seconds: float = 1.0
    """Time that an instance is shutting down."""
    notice_seconds: float = 120.0
    """Time from the warning of an interruption to the end of the instance."""
    control_plane_seconds: float = 1.0
    """Time that EKS takes for a change of a cluster, node group or add-on."""
    latency_ms: float = 0.0
    """Time that every request waits before it is looked at."""
    throttle: dict[str, float] = dataclasses.field(default_factory=dict[str, float])
    """Requests per second that an operation admits, by its name; the burst is one second's worth."""
    throttle_retry_after_seconds: float | None = None
    """Value of the header Retry-After of throttled calls; None: none."""
    spot_moves: tuple[SpotMove, ...] = ()
    """Spot prices that are not as usual; the first that covers a pool counts."""
    spot_swing: float = 0.02
    """By which share of the list price a spot price goes up and down."""
    spot_swing_seconds: float = 86_400.0
    """How long that takes, up and down again."""
    shifted_zones: tuple[str, ...] = ()
    """Ids of the zones that a zonal shift of the cluster leads away from, such as "usw2-az1"."""
    request_buckets: bool = False
    """Whether EC2 admits no more calls than its buckets of requests hold."""

    def as_json(self) -> dict[str, Any]:
        """The forecast as `GET /_weather` shows it."""
        return dataclasses.asdict(self)


def read(content: Any) -> Forecast:
    """The forecast that `PUT /_weather` brings.

    Raises:
        BadForecastError: A key is unknown or a value has the wrong form.
    """
    if not isinstance(content, dict):
        raise BadForecastError(f"a forecast is a JSON object, this is {type(content).__name__}")
    values: dict[str, Any] = {str(key): value for key, value in content.items()}  # pyright: ignore[reportUnknownVariableType, reportUnknownArgumentType] JSON
    known = [field.name for field in dataclasses.fields(Forecast)]
    if unknown := sorted(set(values) - set(known)):
        named, others = ", ".join(unknown), ", ".join(known)
        raise BadForecastError(f"unknown in a forecast: {named}; known are {others}")
    try:
        for name, kind in (("sold_out", SoldOut), ("refusals", Refusal), ("spot_moves", SpotMove)):
            values[name] = tuple(kind(**each) for each in values.get(name, ()))
        zones = values.get("shifted_zones", ())
        if isinstance(zones, str):
            raise TypeError(f'shifted_zones is a list: write ["{zones}"]')  # noqa: TRY301
        values["shifted_zones"] = tuple(str(zone) for zone in zones)
        values["throttle"] = {
            str(name): float(rate) for name, rate in dict(values.get("throttle", {})).items()
        }
        for name in known:
            if name.endswith(("_seconds", "_ms", "_swing")) and values.get(name) is not None:
                values[name] = _not_negative(name, float(values[name]))
        forecast = Forecast(**values)
    except (TypeError, ValueError) as error:
        raise BadForecastError(f"cannot read {content!r}: {error}") from error
    return forecast


def _not_negative(name: str, value: float) -> float:
    if not 0 <= value < math.inf:
        raise ValueError(f"{name} is {value}: give 0 or more")
    return value


class Weather:
    """The forecast in force, and what of it is used up."""

    def __init__(self, now: Now) -> None:
        self._now = now
        self._lock = threading.Lock()
        self._forecast = Forecast()
        self._allowance: dict[str, tuple[float, float]] = {}
        self._used: Counter[SoldOut | Refusal] = Counter()

    @property
    def forecast(self) -> Forecast:
        """The forecast in force."""
        return self._forecast

    def change(self, forecast: Forecast) -> None:
        """Put another forecast in force."""
        with self._lock:
            self._forecast = forecast
            self._allowance.clear()
            self._used.clear()

    def shortage(self, instance_type: str, zone: str, capacity_type: str) -> SoldOut | None:
        """What makes a pool scarce; None: it has all one could ask for."""
        pools = self._forecast.sold_out
        return next((p for p in pools if p.covers(instance_type, zone, capacity_type)), None)

    def left(self, scarce: SoldOut) -> int:
        """How many instances scarce pools have now."""
        with self._lock:
            return max(0, scarce.left - self._used[scarce])

    def use(self, scarce: SoldOut | None, count: int) -> None:
        """Instances of a pool were launched."""
        if scarce is not None:
            with self._lock:
                self._used[scarce] += count

    def is_sold_out(self, instance_type: str, zone: str, capacity_type: str) -> bool:
        """Whether a pool has no instance now."""
        scarce = self.shortage(instance_type, zone, capacity_type)
        return scarce is not None and self.left(scarce) == 0

    def refusal(self, operation: str) -> Refusal | None:
        """Why a call of an operation is refused; it counts as refused then."""
        with self._lock:
            for refusal in self._forecast.refusals:
                is_used_up = refusal.times is not None and self._used[refusal] >= refusal.times
                if refusal.operation == operation and not is_used_up:
                    self._used[refusal] += 1
                    return refusal
        return None

    def spot_fraction(self, instance_type: str, zone: str, seconds: float) -> float:
        """Share of the list price that a spot instance costs at an instant."""
        forecast = self._forecast
        usual = prices.spot_fraction(
            instance_type,
            zone,
            seconds,
            swing=forecast.spot_swing,
            swing_seconds=forecast.spot_swing_seconds,
        )
        for move in forecast.spot_moves:
            if move.instance_type in (ANY, instance_type) and move.zone in (ANY, zone):
                return usual * move.factor
        return usual

    def admits(self, operation: str, service: str = "") -> bool:
        """Whether a call of an operation is let in now; a call that is let in uses up one."""
        rate = self._forecast.throttle.get(operation)
        if rate is not None:
            burst = max(1.0, math.ceil(rate)) if rate > 0 else 0.0
            return self._takes(operation, rate, burst)
        if self._forecast.request_buckets and service == "ec2":
            name = _bucket(operation)
            return self._takes(f"bucket {name}", *BUCKETS[name])
        return True

    def _takes(self, name: str, rate: float, burst: float) -> bool:
        """Whether an allowance has one left; takes it."""
        with self._lock:
            now = self._now()
            left, at = self._allowance.get(name, (burst, now))
            left = min(burst, left + rate * (now - at))
            admitted = left >= 1
            self._allowance[name] = (left - 1 if admitted else left, now)
            return admitted


def _bucket(operation: str) -> str:
    reads = operation.startswith(("Describe", "Get"))
    return OWN_BUCKET.get(operation, "read" if reads else "write")
