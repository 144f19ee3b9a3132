"""Warnings of the cloud, brought to the owner of the state: from the queue, and by asking for broken machines.

A message is deleted only when the core says that nothing is left to be done about it; until then, and after a crash,
the queue gives it again. A message that cannot be read is deleted, or it would come for ever.
"""

import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Final, Protocol

from daiku.cloud import errors
from daiku.cloud.aws import messages
from daiku.cloud.aws.queue import HIDDEN_SECONDS, Received
from daiku.events import Interrupted
from daiku.kube.backoff import Backoff
from daiku.model import interruption
from daiku.runtime import clock
from daiku.runtime.inbox import Inbox
from daiku.telemetry import log, metrics

STATUS_SECONDS: Final = 60.0
"""How often broken machines are asked for."""
SETTLE_SECONDS: Final = HIDDEN_SECONDS - 5.0
"""How long the core may take over the messages of one answer; less than they are hidden."""
FAILED_SECONDS_MAX: Final = 60.0
UNREADABLE: Final = "unreadable"
"""Value of the label message_type for what no parser understands."""

_log = log.get("interruptions")


class Queue(Protocol):
    """Where messages come from."""

    def receive(self) -> Sequence[Received]:
        """Messages, as soon as there are any; nothing after a while."""
        ...

    def delete(self, messages: Sequence[Received]) -> None:
        """Have messages not come again."""
        ...


@dataclass(slots=True)
class Settlements:
    """Where the core says which warnings are done with. The owner thread puts, the thread of the queue waits."""

    _wanted: frozenset[Interrupted] = frozenset()
    _changed: threading.Condition = field(default_factory=threading.Condition)

    def put(self, settled: Iterable[Interrupted]) -> None:
        """These warnings are settled."""
        with self._changed:
            self._wanted -= frozenset(settled)
            self._changed.notify_all()

    def expect(self, wanted: frozenset[Interrupted]) -> None:
        """Begin to note which of these are settled; before they are put into the inbox."""
        with self._changed:
            self._wanted = wanted

    def wait(self, seconds_max: float) -> frozenset[Interrupted]:
        """Wait for all that are expected; those that are still open after `seconds_max`."""
        with self._changed:
            self._changed.wait_for(lambda: not self._wanted, seconds_max)
            return self._wanted


@dataclass(slots=True, kw_only=True)
class QueueReader:
    """Reads the queue. `run` in a thread of its own."""

    queue: Queue
    inbox: Inbox
    settlements: Settlements
    stop: threading.Event
    settle_seconds: float = SETTLE_SECONDS

    def run(self) -> None:
        """Read until the process stops; a failure only means trying again."""
        backoff = Backoff(FAILED_SECONDS_MAX)
        while not self.stop.is_set():
            try:
                self.step()
            except errors.CloudError as error:
                wait = backoff.wait_seconds() * 5
                _log.warning(
                    "cannot read the interruption queue",
                    error=str(error),
                    wait_seconds=round(wait, 1),
                )
                self.stop.wait(wait)
            else:
                backoff.reset()

    def step(self) -> None:
        """Take what the queue has, have the core deal with it, delete what is done with.

        Raises:
            CloudError: The queue was not read, or messages were not deleted.
        """
        received = self.queue.receive()
        if not received:
            return
        warnings = {m.message_id: _read(m) for m in received}
        expected = frozenset(w for each in warnings.values() for w in each)
        self.settlements.expect(expected)
        for each in warnings.values():
            for warning in each:
                self.inbox.put(warning)
        left = self.settlements.wait(self.settle_seconds) if expected else frozenset[Interrupted]()
        done = [m for m in received if not any(w in left for w in warnings[m.message_id])]
        if left:
            _log.warning("warnings are still open, their messages come again", open=len(left))
        if done:
            self.queue.delete(done)
            metrics.INTERRUPTION_DELETED.inc(len(done))


def _read(received: Received) -> tuple[Interrupted, ...]:
    try:
        message = messages.parse(received.body)
    except messages.Unreadable as error:
        _log.error("a message is deleted unread", message=received.message_id, error=str(error))
        metrics.INTERRUPTION_RECEIVED.labels(UNREADABLE).inc()
        return ()
    metrics.INTERRUPTION_RECEIVED.labels(message.kind).inc()
    if message.at is not None:
        late = (clock.now() - message.at).total_seconds()
        metrics.INTERRUPTION_SECONDS.observe(max(0.0, late))
    if message.kind != interruption.NO_OP:
        _log.info("message", kind=message.kind, instances=",".join(message.instance_ids[:10]))
    return tuple(Interrupted(i, message.kind, received.message_id) for i in message.instance_ids)


@dataclass(slots=True)
class StatusCheck:
    """Asks for broken machines and tells the owner; counts each episode of one of ours once."""

    ask: Callable[[datetime], Mapping[str, tuple[str, ...]]]
    is_ours: Callable[[str], bool]
    inbox: Inbox
    _known: frozenset[tuple[str, str]] = frozenset()

    def __call__(self) -> None:
        """Ask once."""
        found = self.ask(clock.now())
        now = frozenset(
            (i, kind) for i, kinds in found.items() for kind in kinds if self.is_ours(i)
        )
        for instance_id, kind in sorted(now - self._known):
            metrics.INSTANCE_UNHEALTHY.labels(kind).inc()
            _log.warning("instance is unhealthy", instance=instance_id, kind=kind)
        for instance_id, kind in sorted(now):
            self.inbox.put(Interrupted(instance_id, kind))
        self._known = now
