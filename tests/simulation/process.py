"""One controller process, made of the real parts, in one thread.

Every "thread" of it is a callback of the simulated clock.

Real: Loop, Cluster, tick, Executor, Carrier, Recorder, Watchers, pollers, Lease, decode and encode. Simulated: the
network, the cloud, time, and when a thread gets to run.
"""

import functools
import threading
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final

from tests.simulation.network import Client
from tests.simulation.provider import Cloud

from daiku import events
from daiku.api import kinds
from daiku.cloud.errors import CloudError
from daiku.commands import Command
from daiku.kube import lease
from daiku.kube.backoff import Backoff
from daiku.kube.record import Recorder
from daiku.kube.watch import Watcher
from daiku.runtime import interruptions, pollers
from daiku.runtime.carrier import Carrier, NodeClassIndex
from daiku.runtime.executor import Executor
from daiku.runtime.inbox import Inbox
from daiku.runtime.loop import Loop
from daiku.state.cluster import Cluster

if TYPE_CHECKING:
    from tests.simulation.world import World

WATCHED: Final = {
    kind.path.rpartition("/")[2]: kind
    for kind in (*kinds.WATCHED, kinds.NODE_CLASSES["KWOKNodeClass"])
}
"""Kinds by the last part of their path."""
GRID: Final = 0.5
"""What watches bring within this many seconds comes together, as bursts do; it saves ticks."""
GRID_IN_PEACE: Final = 1.0
"""The same when nothing goes wrong any more, and little depends on what comes first."""
OBSERVED = 60.0
"""Seconds between two times that metrics are set, which nobody here scrapes."""


class Crashed(BaseException):
    """The process died while one of its threads was in a call."""


class _Inbox(Inbox):
    """An inbox that wakes the owner."""

    def __init__(self, process: "Process") -> None:
        super().__init__()
        self._process = process

    def put(self, event: events.Event) -> None:
        super().put(event)
        if self._process.world.faults.strike("event repeated"):
            super().put(event)
        self._process.wake(self._process.pause())


class _Executor(Executor):
    """An executor whose threads are callbacks."""

    def __init__(self, process: "Process", carrier: Carrier, inbox: Inbox) -> None:
        super().__init__(carrier, inbox)
        self.process = process

    def submit(self, command: Command) -> None:
        super().submit(command)
        if self.process.freezes_with_work:
            # The worst moment: commands are queued, and somebody else will lead when their turn comes.
            self.process.freeze(self.process.freezes_with_work)
            self.process.freezes_with_work = 0.0
        self.process.thread(self.process.world.random.uniform(0.001, 0.02), self.step)

    def carry(self, command: Command) -> None:
        process, before = self.process, self.process.command
        process.command = command
        process.world.invariants.check_command(process, command)
        super().carry(command)
        process.command = before


class Process:
    """A controller that runs, or ran."""

    def __init__(self, world: "World", name: str) -> None:
        self.world, self.name = world, name
        self.alive = True
        self.offset = 0.0
        """Seconds by which the clock of its machine is wrong."""
        self.freezes_with_work = 0.0
        """Seconds for which it freezes as soon as it has something to do."""
        self.command: Command | None = None
        self.ticks = 0
        self._frozen_until = 0.0
        self._open: dict[str, frozenset[events.Interrupted]] = {}
        """Message of the queue -> its warnings that are not settled yet."""
        self._loop_due: float | None = None
        self._backoffs: dict[Any, Backoff] = {}
        self._busy: dict[str, bool] = {}
        stop = threading.Event()
        self.client: Any = Client(self)
        self.cloud: Any = Cloud(self)
        self.inbox = _Inbox(self)
        self.lease = lease.Lease(
            client=self.client,
            namespace="kube-system",
            name="karpenter-leader-election",
            identity=f"{lease.IDENTITY_PREFIX}{name}",
            stop=stop,
            now=self.now,
            monotonic=self.monotonic,
        )
        index = NodeClassIndex()
        recorder = Recorder(self.client, self.now, self.monotonic, self.lease.is_held)
        carrier = Carrier(
            client=self.client,
            cloud=self.cloud,
            recorder=recorder,
            node_classes=index,
            may_write=self.lease.is_held,
        )
        refresh = pollers.CatalogueRefresh(self.cloud, index, self.inbox)
        instances = pollers.InstanceList(self.cloud, self.inbox)
        self._catalogue = pollers.Poller("catalogue", pollers.CATALOGUE_SECONDS, refresh, stop)
        self._instances = pollers.Poller("instances", pollers.INSTANCES_SECONDS, instances, stop)
        self._executor = _Executor(self, carrier, self.inbox)
        self.cluster = Cluster(world.settings)
        self.loop = Loop(
            cluster=self.cluster,
            settings=world.settings,
            inbox=self.inbox,
            executor=self._executor,
            node_classes=index,
            may_act=self.lease.is_held,
            stopping=stop.is_set,
            node_classes_changed=lambda: self.thread(0.01, self._refresh_once),
            settled=self._settle,
            observed_seconds=OBSERVED,
        )
        self._watchers = {
            plural: Watcher(self.client, kind, self.inbox.put, stop)
            for plural, kind in WATCHED.items()
        }

    def start(self) -> None:
        self.world.story.tell(self.name, "starts")
        for plural in self._watchers:
            self.look(plural)
        self.thread(0.0, self._renew)
        self.thread(0.01, lambda: self._poll(self._catalogue))
        self.thread(0.01, lambda: self._poll(self._instances))
        self.thread(1.0, self._read_queue)

    def now(self) -> Any:
        return self.world.clock.now(self.offset)

    def monotonic(self) -> float:
        return self.world.clock.seconds

    def leads(self) -> bool:
        return self.alive and self.lease.is_held()

    def crash(self, why: str) -> None:
        """Die at once; another process starts in its place."""
        if not self.alive:
            return
        self.alive = False
        self.world.story.tell(self.name, "dies: %s", why)
        self.world.replace_process(self)

    def freeze(self, seconds: float) -> None:
        """Do nothing for a while, as under a paused virtual machine whose clock runs on."""
        self._frozen_until = max(self._frozen_until, self.world.clock.seconds + seconds)
        self.world.story.tell(self.name, "freezes for %.1f s", seconds)

    def thaws_in(self) -> float:
        return max(0.0, self._frozen_until - self.world.clock.seconds)

    def check(self) -> None:
        """Go on only if the process lives.

        Raises:
            Crashed: It does not.
        """
        if not self.alive:
            raise Crashed

    def wait(self, seconds: float) -> None:
        """A thread of the process waits in a call; everybody else goes on."""
        self.world.let_pass(seconds)
        self.world.let_pass(self.thaws_in())

    def thread(self, seconds: float, do: Callable[[], Any]) -> None:
        """Have a thread of this process do something, unless it has died by then."""
        self.world.clock.after(seconds, lambda: self._run(do))

    def look(self, plural: str) -> None:
        """Something changed that a watch will bring."""
        watcher = self._watchers.get(plural)
        if watcher is None or self._busy.get(plural) or not self.alive:
            return
        self._busy[plural] = True
        world = self.world
        grid = GRID if world.faults.on else GRID_IN_PEACE
        delay = world.random.uniform(0.0, grid)
        if world.faults.strike("watch late"):
            delay = world.faults.seconds(0.5, 10 if plural != "pods" else 4)
        now = world.clock.seconds
        self.thread(-(-(now + delay) // grid) * grid - now, lambda: self._follow(plural, watcher))

    def pause(self) -> float:
        """How long the owner will not decide anyway; what comes meanwhile is applied then, which nobody sees."""
        return max(0.0, self.loop._next - self.world.clock.seconds)

    def wake(self, seconds: float) -> None:
        """Have the owner look at its inbox in so many seconds."""
        at = self.world.clock.seconds + seconds
        if self._loop_due is None or at < self._loop_due:
            self._loop_due = at
            self.thread(seconds, lambda: self._own(at))

    def _run(self, do: Callable[[], Any]) -> None:
        if not self.alive:
            return
        wait = self.thaws_in()
        if wait > 0:
            self.thread(wait, do)
            return
        before = self.world.current
        self.world.current = self
        try:
            do()
        except Crashed:
            pass
        except (lease.LeaseLostError, lease.ForeignHolderError) as lost:
            self.crash(str(lost))
        finally:
            self.world.current = before

    def _own(self, at: float) -> None:
        """One step of the owner."""
        if self._loop_due != at:
            return
        self._loop_due = None
        self.loop.step(0.0)
        if self._loop_due is None:
            if not (self.loop.is_synced and self.leads()):
                # Whatever changes that wakes it: an event, or the Lease.
                return
            wait = self.loop.wait_seconds()
            due = self.loop.due_at()
            if not self.loop._dirty:
                if due is None:
                    return
                wait = max(0.0, (due - self.now()).total_seconds())
            self.wake(max(wait, 0.001))

    def _follow(self, plural: str, watcher: Watcher) -> None:
        backoff = self._backoffs.setdefault(plural, Backoff(10.0))
        before = watcher._version
        wait = watcher.step(backoff)
        self._busy[plural] = False
        api = self.world.api
        log = api.log[plural]
        behind = (
            bool(log)
            and str(log[-1][0]) != watcher._version
            and int(log[-1][0]) > int(watcher._version or 0)
        )
        if wait or not watcher._version or behind or (not before and not watcher.listed.is_set()):
            self._busy[plural] = True
            self.thread(max(wait, 0.05), lambda: self._follow(plural, watcher))

    def _refresh_once(self) -> None:
        self._catalogue.step(self._backoffs.setdefault("woken", Backoff(10.0)))

    def _poll(self, poller: pollers.Poller) -> None:
        wait = poller.step(
            self._backoffs.setdefault(poller.name, Backoff(pollers.FAILED_SECONDS_MAX))
        )
        self.thread(wait, lambda: self._poll(poller))

    def _read_queue(self) -> None:
        """The reader of the queue, without the wait in which it would hold up everybody here."""
        if self.leads():
            try:
                received = self.cloud.receive()
            except CloudError:
                received = ()
            for message in received:
                warnings = interruptions._read(message)
                self._open[message.message_id] = frozenset(warnings)
                for warning in warnings:
                    self.inbox.put(warning)
        self.thread(5.0 if self.world.faults.on else 15.0, self._read_queue)

    def _settle(self, settled: tuple[events.Interrupted, ...]) -> None:
        for message, warnings in list(self._open.items()):
            left = warnings - frozenset(settled)
            self._open[message] = left
            if not left:
                del self._open[message]
                self.thread(0.01, functools.partial(self.cloud.settle, message))

    def _renew(self) -> None:
        led = self.leads()
        self.lease.step()
        if self.leads() and not led:
            # A standby that has become the leader looks at once what it has to do.
            self.wake(0.0)
        # In peace a Lease is safe with fewer renewals, and histories are cheaper.
        self.thread(lease.RETRY_SECONDS * (1 if self.world.faults.on else 4), self._renew)
