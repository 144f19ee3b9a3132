"""Carries out plans: a pool of threads, one command of a key at a time, in the order they were planned.

What came of a command goes into the inbox like everything else that happens: Done or Failed, and before them what the
cloud said of a launch.
"""

import collections
import threading
from dataclasses import dataclass, field
from typing import Final

from daiku import commands, events
from daiku.cloud import errors as cloud_errors
from daiku.kube import errors
from daiku.runtime import clock
from daiku.runtime.carrier import Carrier, NotLeadingError, count
from daiku.runtime.inbox import Inbox
from daiku.runtime.threads import Supervisor
from daiku.telemetry import log, metrics

THREADS: Final = 48
"""Calls under way at once: they only wait for others, and launches that wait together share a call."""
QUIET: Final = (commands.Announce, commands.PatchNodePool)
"""Commands whose success is not worth a line."""

_log = log.get("executor")


@dataclass(slots=True)
class Executor:
    """Threads that carry out commands."""

    carrier: Carrier
    inbox: Inbox
    _queues: dict[str, collections.deque[commands.Command]] = field(
        default_factory=dict[str, collections.deque[commands.Command]]
    )
    """Key -> its commands; a key that is here has a thread or waits for one."""
    _ready: collections.deque[str] = field(default_factory=collections.deque[str])
    _changed: threading.Condition = field(default_factory=threading.Condition)
    _count: int = 0
    _closed: bool = False

    def start(self, supervisor: Supervisor) -> None:
        """Start the threads."""
        for number in range(THREADS):
            supervisor.start(f"executor-{number}", self._run)

    def submit(self, command: commands.Command) -> None:
        """Have a command carried out after those of its key that came before."""
        with self._changed:
            queue = self._queues.get(command.key)
            self._count += 1
            if queue is not None:
                queue.append(command)
                return
            self._queues[command.key] = collections.deque([command])
            self._ready.append(command.key)
            self._changed.notify()

    def close(self, seconds_max: float) -> int:
        """Begin nothing more and wait for what is under way; how many commands were dropped or left."""
        deadline = clock.monotonic() + seconds_max
        with self._changed:
            self._closed = True
            dropped = sum(len(self._queues[key]) for key in self._ready)
            self._ready.clear()
            while self._count > dropped and clock.monotonic() < deadline:
                self._changed.wait(deadline - clock.monotonic())
            return self._count

    def _run(self) -> None:
        while True:
            with self._changed:
                while not self._ready:
                    self._changed.wait()
            self.step()

    def step(self) -> bool:
        """Carry out the next command that may begin; whether there was one."""
        with self._changed:
            if not self._ready:
                return False
            key = self._ready.popleft()
            command = self._queues[key][0]
        self.carry(command)
        with self._changed:
            queue = self._queues[key]
            queue.popleft()
            self._count -= 1
            if not queue:
                del self._queues[key]
            elif not self._closed:
                self._ready.append(key)
            metrics.COMMANDS_WAITING.set(self._count)
            self._changed.notify_all()
        return True

    def carry(self, command: commands.Command) -> None:
        """Carry out a command and put what came of it into the inbox."""
        began = clock.monotonic()
        name = type(command).__name__
        outcome = "failed"
        try:
            for event in self.carrier.carry(command):
                self.inbox.put(event)
        except (errors.KubeError, cloud_errors.CloudError, NotLeadingError) as error:
            self._fail(command, error)
        else:
            outcome = "done"
            self.inbox.put(events.Done(command, clock.now()))
            if not isinstance(command, QUIET):
                took = round(clock.monotonic() - began, 3)
                _log.info("done", command=name, key=command.key, seconds=took, **_details(command))
        count(command, outcome, clock.monotonic() - began)

    def _fail(self, command: commands.Command, error: Exception) -> None:
        is_end = isinstance(error, cloud_errors.InstanceNotFound) and isinstance(
            command, commands.TerminateInstance
        )
        # A conflict is how a decision on old knowledge ends; the next tick decides anew.
        speak = (
            _log.info
            if is_end or isinstance(error, errors.Conflict | errors.NotFound)
            else _log.warning
        )
        speak(
            "instance is gone" if is_end else "refused",
            command=type(command).__name__,
            key=command.key,
            error=str(error),
        )
        if isinstance(command, commands.Launch) and isinstance(error, cloud_errors.CloudError):
            self.inbox.put(events.LaunchFailed(command.node_claim.meta.name, error))
        retry_after = getattr(error, "retry_after_seconds", None)
        unsure = isinstance(error, errors.Unreachable | cloud_errors.Unreachable)
        self.inbox.put(events.Failed(command, error, clock.now(), retry_after, unsure))


def _details(command: commands.Command) -> dict[str, str]:
    match command:
        case commands.Launch():
            first = command.options[0] if command.options else None
            return (
                {}
                if first is None
                else {"cheapest": f"{first.instance_type} {first.zone} {first.capacity_type}"}
            )
        case commands.DeleteNodeClaim():
            return {"reason": command.reason}
        case _:
            return {}
