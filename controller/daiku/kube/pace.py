"""How fast the API server is asked: a bucket that fills at a steady rate and allows a burst.

Who finds it empty waits for its turn, in the order of coming. The Lease has a client without a bucket: renewing it must
never wait behind other work; and a watch that is open costs nothing.

Source: KUBE_CLIENT_QPS and KUBE_CLIENT_BURST, as client-go's rate limiter understands them.
"""

import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field


@dataclass(slots=True)
class Pace:
    """A bucket of requests. Any thread may use it."""

    per_second: float
    burst: int
    monotonic: Callable[[], float] = time.monotonic
    """Seconds that only ever grow."""
    sleep: Callable[[float], None] = time.sleep
    _due: float = float("-inf")
    """When the next request would go if none had ever come early."""
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def wait(self) -> float:
        """Wait for one's turn; how many seconds that took."""
        with self._lock:
            now = self.monotonic()
            earliest = now - (self.burst - 1) / self.per_second
            self._due = max(self._due + 1 / self.per_second, earliest)
            seconds = max(0.0, self._due - now)
        if seconds:
            self.sleep(seconds)
        return seconds
