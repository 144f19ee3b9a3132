"""The weather: what AWS does to its customers, as an experiment sets it.

A forecast is one immutable value, replaced as a whole by `PUT /_weather`; what a forecast leaves
out is fair weather. Not here: interruptions (`interruptions`), eventual consistency, price moves.
"""

import dataclasses
import math
import threading
from dataclasses import dataclass
from typing import Any

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
    """Pools without capacity; "*" stands for every value."""

    instance_type: str = ANY
    """Instance type, such as "m5.large"."""
    zone: str = ANY
    """Availability zone, such as "us-west-2a"."""
    capacity_type: str = ANY
    """"on-demand" or "spot"."""

    def covers(self, instance_type: str, zone: str, capacity_type: str) -> bool:
        """Whether a pool is among these."""
        return (
            self.instance_type in (ANY, instance_type)
            and self.zone in (ANY, zone)
            and self.capacity_type in (ANY, capacity_type)
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Forecast:
    """The weather until the next forecast."""

    sold_out: tuple[SoldOut, ...] = ()
    """Pools that answer InsufficientInstanceCapacity."""
    boot_seconds: float = 2.0
    """Time from a running instance to its Node; the agent reads it."""
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
        raise BadForecastError(f"unknown in a forecast: {unknown}; known are {known}")
    try:
        values["sold_out"] = tuple(SoldOut(**pool) for pool in values.get("sold_out", ()))
        values["throttle"] = {
            str(name): float(rate) for name, rate in dict(values.get("throttle", {})).items()
        }
        for name in known:
            if name.endswith(("_seconds", "_ms")) and name in values:
                values[name] = float(values[name])
        forecast = Forecast(**values)
    except (TypeError, ValueError) as error:
        raise BadForecastError(f"cannot read {content!r}: {error}") from error
    return forecast


class Weather:
    """The forecast in force, and how much of each throttled operation's allowance is left."""

    def __init__(self, now: Now) -> None:
        self._now = now
        self._lock = threading.Lock()
        self._forecast = Forecast()
        self._allowance: dict[str, tuple[float, float]] = {}

    @property
    def forecast(self) -> Forecast:
        """The forecast in force."""
        return self._forecast

    def change(self, forecast: Forecast) -> None:
        """Put another forecast in force."""
        with self._lock:
            self._forecast = forecast
            self._allowance.clear()

    def is_sold_out(self, instance_type: str, zone: str, capacity_type: str) -> bool:
        """Whether a pool has no capacity now."""
        pools = self._forecast.sold_out
        return any(pool.covers(instance_type, zone, capacity_type) for pool in pools)

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
