"""One scenario against one configuration: simulated time in which the controller's own `tick` decides.

Time jumps from one thing that happens to the next. What the controller believes is the real `Cluster`, what it decides
the real `tick`, with real settings; simulated are the API server, the cloud, kube-scheduler, kubelets and the
controllers that make pods, all of which answer at once and without mistakes, except where the scenario says otherwise.
Everything follows from the scenario and its seed.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from itertools import groupby
from typing import Final

from daiku import commands, events, tick
from daiku.cloud import errors
from daiku.commands import Command
from daiku.events import Event, Object
from daiku.model.daemonset import DaemonSet
from daiku.model.instance_type import Catalogue
from daiku.model.node import Node
from daiku.model.nodeclaim import NodeClaim
from daiku.model.pdb import PodDisruptionBudget
from daiku.model.pod import Pod
from daiku.settings import Settings
from daiku.simulation import ledger as ledgers
from daiku.simulation.agenda import Agenda
from daiku.simulation.cloud import Cloud
from daiku.simulation.fleet import Fleet
from daiku.simulation.ledger import Ledger
from daiku.simulation.scenario import Arrival, Scenario, Service
from daiku.simulation.scheduler import Scheduler
from daiku.simulation.store import Store
from daiku.simulation.workloads import Running, Workloads
from daiku.state.cluster import KINDS, Cluster

URGENT_SECONDS: Final = 1.0
"""Least time between two ticks. The live controller decides at once; what comes of it is the same."""
OPENING_SECONDS: Final = 0.2
"""The same while nodes are opened one after the other to the pods that were made for them."""
MOVING_SECONDS: Final = 5.0
"""The same when nothing new is to be decided, but pods wait or a node goes."""
CALM_SECONDS: Final = 30.0
"""The same while pods only come to nodes and leave them: consolidation may be so much later than live."""
SAMPLES: Final = 288
"""Points of every plot: one each five minutes of a day."""
RETRY_SECONDS: Final = 5.0
"""When an eviction that a PodDisruptionBudget refused is asked for again."""
_MADE_HERE: Final = (Pod, Node, NodeClaim, PodDisruptionBudget)
"""Kinds of which nothing is there at the beginning."""


class BudgetRefusedError(Exception):
    """A PodDisruptionBudget allows no eviction now."""


class World:
    """Everything there is. `run` it once."""

    def __init__(
        self,
        scenario: Scenario,
        objects: Sequence[Object],
        catalogue: Catalogue,
        settings: Settings,
    ) -> None:
        self.scenario, self.settings = scenario, settings
        self.ledger = Ledger()
        self.cloud = Cloud(scenario, catalogue)
        self.why_not: Mapping[str, int] = {}
        """Why pods have no place, as of the last tick -> how many."""
        self.ticks = 0
        templates = {id(each.template): each.template for each in scenario.services}
        templates |= {id(each.template): each.template for each in scenario.arrivals}
        self._cluster = Cluster(settings)
        self._agenda = Agenda(scenario.start)
        self._scheduler = Scheduler(templates.values())
        self._store = Store(self._tell)
        self.workloads = Workloads(self._tell, self.ledger, self._scheduler, scenario.services)
        daemons = {o.meta.name: o.template for o in objects if isinstance(o, DaemonSet)}
        self._fleet = Fleet(
            scenario=scenario,
            agenda=self._agenda,
            cloud=self.cloud,
            store=self._store,
            workloads=self.workloads,
            ledger=self.ledger,
            tell=self._tell,
            daemons=daemons,
        )
        self._told = self._urgent = self._opening = False
        self._moving = False
        self._last_tick = -URGENT_SECONDS
        self._wake_at: float | None = None
        self._set_up(objects)

    def run(self, step: Callable[[float], None] = lambda _share: None) -> None:
        """Live through the scenario; `step` is told now and then which share of it is over."""
        agenda, end = self._agenda, self.scenario.lasts
        self._write_down(end)
        while min(self._tick_due(), agenda.next) < end:
            due = self._tick_due()
            self._go_to(min(due, agenda.next))
            if agenda.next <= agenda.at:
                agenda.run()
            else:
                self._decide()
            self._schedule()
            step(agenda.at / end)
        self._go_to(end)
        self._sample()

    def _set_up(self, objects: Sequence[Object]) -> None:
        """What is there at the beginning: the configuration, listed once."""
        kept = [each for each in objects if not isinstance(each, _MADE_HERE)]
        for each in kept:
            meta = replace(
                each.meta,
                uid=each.meta.uid or f"uid-{each.meta.key}",
                generation=each.meta.generation or 1,
                created=self.scenario.start,
            )
            self._store.put(replace(each, meta=meta))
        for kind in KINDS:
            keys = frozenset(each.meta.key for each in kept if type(each) is kind)
            self._tell(events.Listed(kind, keys))
        self._tell(events.CatalogueRefreshed(self.cloud.catalogue))

    def _write_down(self, end: float) -> None:
        """Everything that comes from outside."""
        for service in self.scenario.services:
            for at, target in service.targets:
                self._agenda.put(at, self._scaling(service, target))
        for (at, _), alike in groupby(self.scenario.arrivals, key=lambda a: (a.at, a.workload)):
            self._agenda.put(at, self._coming([*alike]))
        for number in range(SAMPLES):
            self._agenda.put(end * number / SAMPLES, self._sample)

    def _scaling(self, service: Service, target: int) -> Callable[[], None]:
        def scale() -> None:
            agenda = self._agenda
            for key in self.workloads.scale(service.name, target, agenda.at, agenda.now):
                self._leave(key)

        return scale

    def _coming(self, arrivals: Sequence[Arrival]) -> Callable[[], None]:
        return lambda: self.workloads.arrive(arrivals, self._agenda.at, self._agenda.now)

    def _tell(self, event: Event) -> None:
        """Something has happened that the controller learns of."""
        self._cluster.apply(event)
        self._told = True
        match event:
            case events.Seen(Pod() as pod):
                self._urgent |= pod.unschedulable
            case events.Seen(NodeClaim() as claim):
                self._urgent |= claim.meta.deleted is None and not claim.is_true("Initialized")
            case events.Seen(Node() as node):
                self._scheduler.see(node)
                self.workloads.fresh = True
                self._urgent |= not node.is_initialized
            case events.Gone(kind, key) if kind is Node:
                self._scheduler.lose(key)
            case events.Interrupted() | events.LaunchFailed() | events.Launched():
                self._urgent = True
            case _:
                pass

    def _go_to(self, at: float) -> None:
        self._agenda.at = max(self._agenda.at, at)
        self.cloud.bill(self._agenda.at)
        self.ledger.advance(self._agenda.at)

    def _sample(self) -> None:
        waiting = len(self.workloads.waiting)
        self.ledger.sample(self._agenda.at, waiting, self.cloud.usd_per_hour)

    def _tick_due(self) -> float:
        """The second of the next tick."""
        waiting = bool(self.workloads.waiting)
        calm = MOVING_SECONDS if self._moving or waiting else CALM_SECONDS
        soon = OPENING_SECONDS if self._opening else URGENT_SECONDS
        earliest = self._last_tick + (soon if self._urgent or self._opening else calm)
        due = earliest if self._told else float("inf")
        if self._wake_at is not None:
            # When a batch closes matters to the second; what nobody waits for is looked at with the rest.
            pace = URGENT_SECONDS if waiting else calm
            due = min(due, max(self._wake_at, self._last_tick + pace))
        return max(self._agenda.at, due)

    def _decide(self) -> None:
        """One tick of the controller, and what comes of it."""
        now = self._agenda.now
        self._told = self._urgent = self._opening = False
        self._last_tick = self._agenda.at
        self.ticks += 1
        snapshot = self._cluster.snapshot(now)
        plan = tick.tick(snapshot, self._cluster.catalogue, self.settings, now)
        times = (plan.wake_at, self._cluster.again_at)
        wake = min((at for at in times if at is not None), default=None)
        self._wake_at = (wake - self.scenario.start).total_seconds() if wake is not None else None
        for command in plan.commands:
            self._cluster.begin(command, now)
        self._cluster.planned(plan.report, now)
        why_not: dict[str, int] = {}
        for each in plan.report.unschedulable:
            for blocker in each.blockers[:1]:
                why_not[str(blocker)] = why_not.get(str(blocker), 0) + len(each.pods)
        self.why_not = why_not
        for command in plan.commands:
            self._carry(command)
        self._moving = any(c.meta.deleted is not None for c in self._store.claims.values())
        self._opening |= self._moving and bool(snapshot.places)

    def _carry(self, command: Command) -> None:
        try:
            is_done = self._do(command)
        except (KeyError, BudgetRefusedError, errors.CloudError) as error:
            retry = RETRY_SECONDS if isinstance(error, BudgetRefusedError) else None
            self._tell(events.Failed(command, error, self._agenda.now, retry))
        else:
            if is_done:
                self._tell(events.Done(command, self._agenda.now))

    def _do(self, command: Command) -> bool:
        """Carry a command out; False when its answer comes later."""
        now = self._agenda.now
        match command:
            case commands.CreateNodeClaim():
                self._store.create_claim(command, now)
            case commands.Launch():
                self._fleet.launch(command)
                return False
            case commands.PatchNodeClaim():
                self._store.patch_claim(command, now)
            case commands.DeleteNodeClaim():
                ledgers.count(self.ledger.ended, command.reason)
                self._store.delete_claim(command.name, now)
            case commands.PatchNode():
                node = self._store.nodes[command.name]
                self._opening |= bool(command.nominates)
                for pod in command.nominates:
                    self.workloads.nominate(f"{pod.namespace}/{pod.name}", command.name)
                if self._store.patch_node(command):
                    self._fleet.bury(command.name, node)
            case commands.DeleteNode():
                node = self._store.nodes[command.name]
                if self._store.delete_node(command.name, now):
                    self._fleet.bury(command.name, node)
            case commands.Evict():
                key = f"{command.namespace}/{command.name}"
                if not self.workloads.may_evict(key):
                    raise BudgetRefusedError(f"the PodDisruptionBudget of {key} allows none now")
                ledgers.count(self.ledger.evicted, command.reason or "other")
                self._leave(key)
            case commands.DeletePod():
                self._leave(f"{command.namespace}/{command.name}")
            case commands.PatchPod():
                self.workloads.annotate(f"{command.namespace}/{command.name}", command.annotations)
            case commands.TerminateInstance():
                self._fleet.terminate(command.provider_id)
            case commands.PatchNodePool():
                self._store.patch_pool(command, now)
            case _:
                pass
        return True

    def _leave(self, key: str) -> None:
        """A pod is asked to end."""
        work, agenda = self.workloads, self._agenda
        seconds = work.leave(key, agenda.at, agenda.now)
        if seconds is not None:
            agenda.after(seconds, lambda: work.remove(key, agenda.at, agenda.now))

    def _schedule(self) -> None:
        """Let kube-scheduler look at the pods that wait, if anything has changed for them."""
        work = self.workloads
        if not (work.waiting and work.fresh):
            return
        work.fresh = False
        # Those of one moment in the order in which they were made.
        order = sorted(work.waiting.values(), key=lambda w: (-w.pod.priority, w.made))
        refused: dict[int, bool] = {}
        together: list[Running] = []
        self._scheduler.nominate(each.pod for each in order)
        for each in order:
            key = id(each.template)
            nominated = self._scheduler.nominated(each.pod, each.template)
            if nominated is not None:
                self._bind(each, nominated)
            elif not self._scheduler.is_plain(each.template):
                together.append(each)
            elif key in refused:
                # What one pod of a template finds no node for, none does.
                work.refuse(each.pod.meta.key)
            elif (node := self._scheduler.best(each.pod, each.template)) is not None:
                self._bind(each, node)
            else:
                refused[key] = True
                work.refuse(each.pod.meta.key)
        if together:
            self._schedule_together(together)

    def _schedule_together(self, pods: Sequence[Running]) -> None:
        """Place pods that constraints between pods concern."""
        asked = [replace(each.pod, unschedulable=True) for each in pods]
        snapshot = self._cluster.snapshot(self._agenda.now)
        placed = self._scheduler.together(asked, snapshot)
        for each in pods:
            node = placed.get(each.pod.meta.key)
            if node is not None:
                self._bind(each, node)
            else:
                self.workloads.refuse(each.pod.meta.key)

    def _bind(self, each: Running, node: str) -> None:
        work, agenda, key = self.workloads, self._agenda, each.pod.meta.key
        work.bind(key, node, agenda.at, agenda.now)
        if each.arrival is not None:
            lasts = each.arrival.lasts
            agenda.after(lasts, lambda: work.finish(key, agenda.at, agenda.now))
