"""Where everything that happened waits for the one thread that reads it. Bounded: who puts too much, waits."""

import collections
import threading
from typing import Final

from daiku.events import Event
from daiku.runtime import clock
from daiku.telemetry import metrics

EVENTS_MAX: Final = 20_000
"""A list of all pods of a large cluster; watchers wait when it is full."""


class Inbox:
    """Events in the order in which they came. Any thread puts, one takes."""

    def __init__(self, events_max: int = EVENTS_MAX) -> None:
        self._events: collections.deque[Event] = collections.deque()
        self._max = events_max
        self._changed = threading.Condition()
        self._woken = False
        self._taken = clock.monotonic()

    def put(self, event: Event) -> None:
        """Add an event; blocks while the inbox is full."""
        with self._changed:
            while len(self._events) >= self._max:
                self._changed.wait()
            self._events.append(event)
            self._changed.notify_all()

    def wake(self) -> None:
        """Make `take` return, though nothing happened."""
        with self._changed:
            self._woken = True
            self._changed.notify_all()

    def take(self, timeout_seconds: float) -> list[Event]:
        """Everything that waits, oldest first; waits at most `timeout_seconds` for the first."""
        with self._changed:
            if not self._events and not self._woken:
                self._changed.wait(timeout_seconds)
            self._woken = False
            events = list(self._events)
            self._events.clear()
            self._taken = clock.monotonic()
            self._changed.notify_all()
        metrics.INBOX_DEPTH.set(len(events))
        return events

    def silent_seconds(self) -> float:
        """How long nobody has taken anything."""
        with self._changed:
            return clock.monotonic() - self._taken
