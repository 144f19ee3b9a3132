"""The one thread that owns the state: takes events in, decides when something changed or is due, hands out commands.

Events wake it, they never call it. A standby applies everything and decides nothing, so that it can take over at once.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Final

from daiku import events, tick
from daiku.model.nodeclaim import NodeClaim
from daiku.model.nodeclass import NodeClass
from daiku.report import Report
from daiku.runtime import clock
from daiku.runtime.carrier import NodeClassIndex
from daiku.runtime.decided import Tick
from daiku.runtime.executor import Executor
from daiku.runtime.gauges import Gauges
from daiku.runtime.inbox import Inbox
from daiku.settings import Settings
from daiku.state import ownership
from daiku.state.cluster import Cluster
from daiku.state.snapshot import Snapshot
from daiku.telemetry import log, metrics
from daiku.tick import Plan

IDLE_SECONDS: Final = 1.0
"""How long it sleeps at most; health looks at this."""
PACE_SECONDS: Final = 0.05
"""Least time between two ticks: what comes in a burst is decided on together."""
PAUSE_MOST_SECONDS: Final = 1.0
"""Longest pause after a tick that took long. Thousands of nodes take half a second, and with events all the time one
tick would follow the other: watchers and the Lease need the interpreter too."""
PROVISIONING_SHARE: Final = 0.15
"""Share of a tick's time box in which nodes for waiting pods are chosen: what a longer search saves is consolidated
later, and until then pods wait."""
LOOK_EVERY: Final = timedelta(minutes=1)
"""How often it decides at least: a change that nobody announced is acted upon all the same."""
OBSERVED_SECONDS: Final = 5.0
"""How old metrics of the cluster may be: less than any scraper's interval, and they need not cost in every tick."""
_log = log.get("loop")
_seconds = metrics.SCHEDULING_SECONDS.labels("provisioner")


@dataclass(slots=True, kw_only=True)
class Loop:
    """The owner of the state. `run` in a thread of its own."""

    cluster: Cluster
    settings: Settings
    inbox: Inbox
    executor: Executor
    node_classes: NodeClassIndex
    may_act: Callable[[], bool]
    """Whether this process leads."""
    stopping: Callable[[], bool]
    node_classes_changed: Callable[[], None]
    """Called when a node class came, changed or went."""
    settled: Callable[[tuple[events.Interrupted, ...]], None] = lambda _settled: None
    """Told after each tick which warnings are done with."""
    decided: Callable[[Tick], None] = lambda _tick: None
    """Given each tick, for those who ask what was decided."""
    gauges: Gauges = field(default_factory=Gauges)
    observed_seconds: float = OBSERVED_SECONDS
    """Least time between two times that metrics of the cluster are set."""
    is_synced: bool = False
    """Whether every kind has been listed, and none has to be listed again; others may read it."""
    _foreign: dict[str, bool] = field(default_factory=dict[str, bool])
    """Names of objects of other controllers that were told of."""
    _dirty: bool = True
    _wake_at: datetime | None = None
    _next: float = 0.0
    """When the next tick may be, by the clock that never jumps."""
    _decided: tuple[Snapshot, Report] | None = None
    """What was decided last, if the metrics do not show it yet."""
    _observe_at: float = 0.0
    """When metrics may be set again, by the clock that never jumps."""

    def run(self) -> None:
        """Apply and decide until the process stops."""
        while not self.stopping():
            self.step(self.wait_seconds())

    def step(self, wait_seconds: float) -> None:
        """Apply what has come within `wait_seconds`, and decide if that is due."""
        for event in self.inbox.take(wait_seconds):
            self._apply(event)
        if self.is_synced is not self.cluster.synced:
            self.is_synced = self.cluster.synced
            metrics.CLUSTER_STATE_SYNCED.set(self.is_synced)
        now = clock.now()
        if (
            self.is_synced
            and clock.monotonic() >= self._next
            and self._is_due(now)
            and self.may_act()
        ):
            self._decide(now)
        self._observe()

    def wait_seconds(self) -> float:
        """How long nothing is to be done unless something happens."""
        if not (self.is_synced and self.may_act()):
            # Nothing can be decided, however much has come; events wake it all the same.
            return IDLE_SECONDS
        if self._dirty:
            return min(IDLE_SECONDS, max(0.0, self._next - clock.monotonic()))
        due = self.due_at()
        if due is None:
            return IDLE_SECONDS
        return min(IDLE_SECONDS, max(0.0, (due - clock.now()).total_seconds()))

    def due_at(self) -> datetime | None:
        """When to decide again even if nothing happens; None: only when something does."""
        again_at = self.cluster.again_at
        if self._wake_at is None or again_at is None:
            return self._wake_at or again_at
        return min(self._wake_at, again_at)

    def _apply(self, event: events.Event) -> None:
        self._dirty |= self.cluster.apply(event)
        match event:
            case events.Seen() if not ownership.is_ours(event.object, self.settings):
                self._leave_alone(event.object.meta.key)
            case events.Seen() if isinstance(event.object, NodeClass):
                self._remember(event.object)
            case events.Gone() if event.kind is NodeClass:
                self._keep_only(lambda name: name != event.key)
            case events.Listed() if event.kind is NodeClass:
                self._keep_only(lambda name: name in event.keys)
            case events.Gone() if event.kind is NodeClaim:
                # A node class that is being deleted may have waited for this claim.
                if any(c.meta.deleted is not None for c in self.node_classes.by_ref.values()):
                    self.node_classes_changed()
            case events.Done():
                self.gauges.carried(event.command)
            case _:
                pass

    def _leave_alone(self, name: str) -> None:
        if name not in self._foreign:
            self._foreign[name] = True
            _log.info("left alone: its node class is of another controller", name=name)

    def _remember(self, node_class: NodeClass) -> None:
        known = self.node_classes.by_ref.get(node_class.ref)
        self.node_classes.by_ref = {**self.node_classes.by_ref, node_class.ref: node_class}
        if known is None or known.meta.resource_version != node_class.meta.resource_version:
            self.node_classes_changed()

    def _keep_only(self, is_there: Callable[[str], bool]) -> None:
        kept = {ref: c for ref, c in self.node_classes.by_ref.items() if is_there(ref.name)}
        if len(kept) != len(self.node_classes.by_ref):
            self.node_classes.by_ref = kept
            self.node_classes_changed()

    def _is_due(self, now: datetime) -> bool:
        due = self.due_at()
        return self._dirty or (due is not None and due <= now)

    def _decide(self, now: datetime) -> None:
        began = clock.monotonic()
        snapshot = self.cluster.snapshot(now)
        stop = clock.ends_after(self.settings.solve_max)
        hurry = clock.ends_after(self.settings.solve_max * PROVISIONING_SHARE)
        plan = tick.tick(snapshot, self.cluster.catalogue, self.settings, now, stop, hurry=hurry)
        elapsed = clock.monotonic() - began
        self._dirty = False
        self._wake_at = min(plan.wake_at or now + LOOK_EVERY, now + LOOK_EVERY)
        self._next = began + max(PACE_SECONDS, elapsed + min(elapsed, PAUSE_MOST_SECONDS))
        metrics.TICKS.inc()
        _seconds.observe(elapsed)
        self._decided = snapshot, plan.report
        self.decided(Tick(snapshot=snapshot, plan=plan, at=now, next_at=self._wake_at))
        self._report(plan, elapsed)
        for command in plan.commands:
            self.cluster.begin(command, now)
        self.cluster.planned(plan.report, now)
        for command in plan.commands:
            self.executor.submit(command)
        self.settled(plan.report.settled)

    def _observe(self) -> None:
        """Set metrics of the cluster, the first time at once."""
        now = clock.monotonic()
        if self._decided is None or now < self._observe_at:
            return
        self.gauges.observe(*self._decided, self.cluster.catalogue)
        self._decided, self._observe_at = None, now + self.observed_seconds

    def _report(self, plan: Plan, elapsed: float) -> None:
        if plan.commands:
            counts: dict[str, int] = {}
            for command in plan.commands:
                counts[type(command).__name__] = counts.get(type(command).__name__, 0) + 1
            _log.info(
                "planned",
                seconds=round(elapsed, 3),
                usd_per_hour=round(plan.report.usd_per_hour, 4),
                **counts,
            )
