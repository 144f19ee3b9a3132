"""Calls that can be one call are made as one: the first caller waits a moment, those who come meanwhile join it.

The first caller of a group makes the call in its own thread, the others wait for their part of the answer. Each caller
gets its own result or its own error.
"""

import copy
import threading
import time
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass, field
from typing import Final, Generic, TypeVar

from daiku.cloud import errors
from daiku.telemetry import metrics

IDLE_SECONDS: Final = 0.1
"""A group that waits is closed when nobody has joined it for so long."""
LONGEST_SECONDS: Final = 1.0
"""How much longer than its turn asks a group may stay open."""

K = TypeVar("K", bound=Hashable)
T = TypeVar("T")
R = TypeVar("R")


@dataclass(slots=True)
class _Group(Generic[T, R]):
    items: list[T] = field(default_factory=list[T])
    results: Sequence[R | errors.CloudError] = ()
    closed: bool = False
    done: threading.Event = field(default_factory=threading.Event)


@dataclass(slots=True, kw_only=True)
class Batcher(Generic[K, T, R]):
    """Merges calls of equal key. Any thread may call it."""

    name: str
    """For metrics, such as create_fleet."""
    execute: Callable[[K, Sequence[T]], Sequence[R | errors.CloudError]]
    """Makes the call for some items of a key; a result or an error for each, in their order."""
    open_seconds: Callable[[], float]
    """Asked once for each group: how long others may join it."""
    items_max: int
    _open: dict[K, _Group[T, R]] = field(default_factory=dict[K, "_Group[T, R]"])
    _changed: threading.Condition = field(default_factory=threading.Condition)

    def call(self, key: K, item: T) -> R:
        """Have `item` be part of the next call of `key`.

        Raises:
            CloudError: What came of it for this item.
        """
        with self._changed:
            group = self._open.get(key)
            is_first = group is None
            if group is None:
                group = self._open[key] = _Group[T, R]()
            index = len(group.items)
            group.items.append(item)
            self._changed.notify_all()
            if len(group.items) >= self.items_max:
                self._close(key, group)
        if is_first:
            self._lead(key, group)
        group.done.wait()
        result = group.results[index]
        if isinstance(result, errors.CloudError):
            # Each caller raises its own, for a traceback belongs to one thread.
            raise copy.copy(result)
        return result

    def _lead(self, key: K, group: _Group[T, R]) -> None:
        began = time.monotonic()
        seconds = self.open_seconds()
        with self._changed:
            if seconds > 0:
                self._changed.wait_for(lambda: group.closed, seconds)
                self._wait_for_stragglers(group, began + seconds + LONGEST_SECONDS)
            self._close(key, group)
        # A group that was full early goes no sooner than its turn.
        time.sleep(max(0.0, seconds - (time.monotonic() - began)))
        nothing = errors.Unreachable(f"{self.name}: the call that this was part of came to no end")
        group.results = [nothing] * len(group.items)
        try:
            metrics.BATCH_SECONDS.labels(self.name).observe(time.monotonic() - began)
            metrics.BATCH_SIZE.labels(self.name).observe(len(group.items))
            group.results = self.execute(key, group.items)
        finally:
            group.done.set()

    def _wait_for_stragglers(self, group: _Group[T, R], end: float) -> None:
        """As long as one after the other joins, the group stays open: they come from a call that just ended."""
        while not group.closed and time.monotonic() < end:
            count = len(group.items)
            if not self._changed.wait_for(
                lambda count=count: group.closed or len(group.items) > count, IDLE_SECONDS
            ):
                return

    def _close(self, key: K, group: _Group[T, R]) -> None:
        group.closed = True
        if self._open.get(key) is group:
            del self._open[key]
        self._changed.notify_all()
