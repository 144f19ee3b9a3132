"""What requests cost the pods behind each Service: processor seconds of the last moments.

A request is counted when it has been answered. What is counted is forgotten after a window, which is as long as the
one that metrics-server has: a HorizontalPodAutoscaler sees load rise and fall as on a real cluster.
"""

import collections
import threading
from collections.abc import Callable

WINDOW_SECONDS = 15.0
"""Over how long usage is averaged. Source: metrics-server's `--metric-resolution`."""
REQUEST_SECONDS = 0.1
"""Processor time of one request, and how long it takes: about what Kubernetes' own example for the HPA computes."""

Service = tuple[str, str]
"""Namespace and name."""


class Traffic:
    """Counts requests; safe to use from several threads."""

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._lock = threading.Lock()
        self._answered: dict[Service, collections.deque[float]] = {}

    def record(self, service: Service) -> None:
        """Count a request that a pod of `service` has answered now."""
        with self._lock:
            self._answered.setdefault(service, collections.deque()).append(self._clock())

    def millicores(self) -> dict[Service, float]:
        """What each Service's pods use together for its requests; Services without any are not named."""
        since = self._clock() - WINDOW_SECONDS
        with self._lock:
            for service, moments in list(self._answered.items()):
                while moments and moments[0] <= since:
                    moments.popleft()
                if not moments:
                    del self._answered[service]
            counts = {service: len(moments) for service, moments in self._answered.items()}
        return {
            service: 1000 * count * REQUEST_SECONDS / WINDOW_SECONDS
            for service, count in counts.items()
        }
