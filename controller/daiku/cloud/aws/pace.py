"""How fast AWS may be asked: token buckets of our own, so that EC2's are never empty, and pauses after a throttle.

EC2 refills one bucket per kind of call. Calls of a kind wait here for their turn; a call that AWS throttles all the
same (others use the account too) pauses itself, longer each time in a row or as long as AWS asks, and no other call.

Source: EC2 API request throttling; the figures are those with which Karpenter's scale tests model it.
"""

import random
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Final

PAUSE_FIRST_SECONDS: Final = 0.5
PAUSE_MOST_SECONDS: Final = 20.0
ASKED_MOST_SECONDS: Final = 300.0
"""A longer Retry-After is a mistake of somebody in between."""

RATES: Final = {
    "read": (20.0, 100.0),
    "write": (5.0, 50.0),
    "launch": (2.0, 5.0),
    "terminate": (5.0, 100.0),
    "tag": (10.0, 100.0),
}
"""Bucket -> tokens a second, and how many it holds."""
_OWN: Final = {
    "create_fleet": "launch",
    "run_instances": "launch",
    "terminate_instances": "terminate",
    "create_tags": "tag",
}


def bucket_of(operation: str) -> str:
    """The bucket that a call of EC2 takes its token from."""
    reads = operation.startswith(("describe_", "get_"))
    return _OWN.get(operation, "read" if reads else "write")


@dataclass(slots=True)
class _Bucket:
    tokens: float
    at: float
    """When `tokens` was right."""


@dataclass(slots=True)
class Pace:
    """When the next call of AWS may be made. Any thread may use it.

    Operations are EC2's by their name, such as describe_instances; those of other services are sqs:receive_message.
    They have pauses, but no buckets.
    """

    monotonic: Callable[[], float] = time.monotonic
    sleep: Callable[[float], None] = time.sleep
    _buckets: dict[str, _Bucket] = field(default_factory=dict[str, _Bucket])
    _pauses: dict[str, tuple[float, float]] = field(default_factory=dict[str, tuple[float, float]])
    """Operation -> until when it pauses, and how long that pause is, in seconds."""
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def reserve(self, operation: str) -> float:
        """Take the next token for a call, and give the seconds after which it may be made."""
        with self._lock:
            now = self.monotonic()
            paused = self._pauses.get(operation, (now, 0.0))[0] - now
            if ":" in operation:
                return max(0.0, paused)
            name = bucket_of(operation)
            rate, most = RATES[name]
            bucket = self._buckets.setdefault(name, _Bucket(most, now))
            bucket.tokens = min(most, bucket.tokens + rate * (now - bucket.at)) - 1
            bucket.at = now
            return max(0.0, -bucket.tokens / rate, paused)

    def wait(self, operation: str) -> None:
        """Wait for the turn of a call."""
        seconds = self.reserve(operation)
        if seconds > 0:
            self.sleep(seconds)

    def wait_out(self, operation: str) -> None:
        """Wait until a call is not paused (any more); it takes no token."""
        with self._lock:
            now = self.monotonic()
            seconds = self._pauses.get(operation, (now, 0.0))[0] - now
        if seconds > 0:
            self.sleep(seconds)

    def throttled(self, operation: str, retry_after_seconds: float | None = None) -> None:
        """AWS refused a call because there were too many; it may have said when to come again."""
        with self._lock:
            before = self._pauses.get(operation, (0.0, PAUSE_FIRST_SECONDS / 2))[1]
            length = min(2 * before, PAUSE_MOST_SECONDS)
            # Spread, not secrecy: other clients of the account must not come back together with us.
            jittered = length * random.uniform(0.5, 1)  # noqa: S311
            asked = min(retry_after_seconds or 0.0, ASKED_MOST_SECONDS)
            self._pauses[operation] = (self.monotonic() + max(jittered, asked), length)

    def answered(self, operation: str) -> None:
        """AWS answered a call: the next throttle is the first again."""
        if operation in self._pauses:
            with self._lock:
                self._pauses.pop(operation, None)
