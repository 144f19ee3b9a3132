"""How often each operation was asked for since the start: what a least-privilege policy must cover."""

import threading
from collections import Counter


class Usage:
    """Counts of calls by "service:Operation"; any thread may use it."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._counts: Counter[str] = Counter()

    def count(self, service: str, operation: str) -> None:
        """Note one call."""
        with self._lock:
            self._counts[f"{service}:{operation}"] += 1

    def counts(self) -> dict[str, int]:
        """Calls so far, by name."""
        with self._lock:
            return dict(sorted(self._counts.items()))
