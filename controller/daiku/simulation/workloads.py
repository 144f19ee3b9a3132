"""The pods of a simulated cluster and the controllers that make them: ReplicaSets, Jobs and DaemonSets.

A ReplicaSet or a Job says how many pods it wants before it makes them, so the controller sees scale-outs as it does in
a cluster. A pod of a service that goes is replaced at once; one that came to do a piece of work begins it again.
"""

import heapq
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime

from daiku import events
from daiku.model import labels
from daiku.model.meta import Meta, Owner
from daiku.model.node import Node
from daiku.model.pdb import PodDisruptionBudget
from daiku.model.pod import Pod
from daiku.model.pod_owner import Job, ReplicaSet
from daiku.model.requirements import Requirements
from daiku.simulation import scheduler as schedulers
from daiku.simulation import store
from daiku.simulation.ledger import Ledger
from daiku.simulation.scenario import Arrival, Service
from daiku.simulation.scheduler import Scheduler

Tell = Callable[[events.Event], None]
ENDS_SECONDS: float = 5.0
"""How long a pod that is asked to leave takes at most; its own grace period if that is shorter."""


@dataclass(slots=True)
class Running:
    """A pod that exists, and what the simulation knows of it."""

    pod: Pod
    template: Pod
    made: float
    """Second of its creation."""
    service: str = ""
    """Empty: it does a piece of work."""
    arrival: Arrival | None = None
    job: str = ""
    """The Job whose piece of work that is."""
    bound: float | None = None


@dataclass(slots=True)
class Crew:
    """A service's pods."""

    service: Service
    target: int = 0
    pods: dict[str, None] = field(default_factory=dict[str, None])
    """Keys of those that are not leaving."""
    ready: int = 0
    allowed: int = -1
    """What its PodDisruptionBudget said last."""


class Workloads:
    """Every pod that is not yet gone."""

    def __init__(
        self, tell: Tell, ledger: Ledger, scheduler: Scheduler, services: Sequence[Service]
    ) -> None:
        self.running: dict[str, Running] = {}
        self.waiting: dict[str, Running] = {}
        """Pods without a node."""
        self.on: dict[str, dict[str, None]] = {}
        """Node -> keys of its pods."""
        self.crews = {service.name: Crew(service) for service in services}
        self.fresh = False
        """Whether a pod or room has come since the scheduler looked last."""
        self._tell, self._ledger, self._scheduler = tell, ledger, scheduler
        self._count = 0
        self._jobs: dict[str, int] = {}
        """Jobs -> how many of their pods are not done."""

    def scale(self, name: str, target: int, at: float, now: datetime) -> list[str]:
        """A service shall have so many pods; keys of those that are to leave."""
        crew = self.crews[name]
        if crew.target != target:
            crew.target = target
            self._announce(ReplicaSet, name, crew.service.template, target)
        while len(crew.pods) < target:
            self._make(crew.service.template, at, now, service=name)
        surplus = len(crew.pods) - target
        beside = Counter(self.running[key].pod.node_name for key in crew.pods)

        def rank(key: str) -> tuple[bool, int, int, float, str]:
            each = self.running[key]
            pod = each.pod
            late = key in self.waiting
            return (late, -pod.deletion_cost, beside[pod.node_name], each.made, key)

        # A ReplicaSet takes those first that do not run, then those of the least deletion cost, then those of the most
        # on one node, then the youngest.
        ranked = heapq.nlargest(max(0, surplus), crew.pods, key=rank)
        self._budget(crew)
        return ranked

    def arrive(self, arrivals: Sequence[Arrival], at: float, now: datetime) -> None:
        """Pieces of work of one workload come at one time; those of one template are one Job's."""
        jobs: dict[int, list[Arrival]] = {}
        for each in arrivals:
            jobs.setdefault(id(each.template), []).append(each)
        for alike in jobs.values():
            self._count += 1
            job = f"{alike[0].workload}-job-{self._count:06d}"
            self._jobs[job] = len(alike)
            self._announce(Job, job, _owned(alike[0].template, job), len(alike))
            for each in alike:
                self._make(each.template, at, now, arrival=each, job=job)

    def bind(self, key: str, node: str, at: float, now: datetime) -> Running:
        """A waiting pod gets its node."""
        each = self.waiting.pop(key)
        each.bound = at
        each.pod = replace(
            each.pod,
            node_name=node,
            phase="Running",
            ready=True,
            unschedulable=False,
            scheduled=now,
        )
        self.on.setdefault(node, {})[key] = None
        self._scheduler.take(node, each.pod)
        self._ledger.bound(each.pod)
        self._ledger.waits.append(at - each.made)
        self._tell(events.Seen(each.pod))
        if each.service:
            crew = self.crews[each.service]
            crew.ready += 1
            self._budget(crew)
        return each

    def nominate(self, key: str, node: str) -> None:
        """The scheduler is told to try a node first."""
        each = self.waiting.get(key)
        if each is not None:
            each.pod = replace(each.pod, nominated_node_name=node)
            self._tell(events.Seen(each.pod))

    def annotate(self, key: str, annotations: Mapping[str, str | None]) -> None:
        """A pod's annotations are set; None as value removes."""
        each = self.running.get(key)
        if each is not None:
            kept = store.merged(each.pod.meta.annotations, annotations)
            each.pod = replace(each.pod, meta=replace(each.pod.meta, annotations=kept))
            self._tell(events.Seen(each.pod))

    def refuse(self, key: str) -> None:
        """The scheduler found no node for a pod, the one that it was nominated to included."""
        each = self.waiting[key]
        if not each.pod.unschedulable or each.pod.nominated_node_name:
            each.pod = replace(each.pod, unschedulable=True, nominated_node_name="")
            self._tell(events.Seen(each.pod))

    def may_evict(self, key: str) -> bool:
        """Whether its PodDisruptionBudget lets a pod go now."""
        each = self.running.get(key)
        if each is None or not each.service:
            return True
        crew = self.crews[each.service]
        return crew.service.max_unavailable is None or crew.allowed > 0

    def leave(self, key: str, at: float, now: datetime) -> float | None:
        """A pod is asked to leave; seconds until it is gone, None when it is gone or leaving already."""
        each = self.running.get(key)
        if each is None or each.pod.meta.deleted is not None:
            return None
        if key in self.waiting:
            self.remove(key, at, now)
            return None
        each.pod = replace(each.pod, meta=replace(each.pod.meta, deleted=now))
        self._tell(events.Seen(each.pod))
        self._part(each, at, now, again=True)
        return min(ENDS_SECONDS, float(each.pod.termination_grace_seconds))

    def remove(self, key: str, at: float, now: datetime, *, again: bool = True) -> None:
        """A pod is gone.

        Args:
            key: The pod.
            at: The second.
            now: The time.
            again: Whether it has to come again; False when its work is done.
        """
        each = self.running.pop(key, None)
        if each is None:
            return
        self.waiting.pop(key, None)
        node = each.pod.node_name
        if node:
            self.on.get(node, {}).pop(key, None)
            self._scheduler.take(node, each.pod, 1)
            self._ledger.bound(each.pod, -1)
            self.fresh = True
        self._tell(events.Gone(Pod, key))
        if each.pod.meta.deleted is None:
            self._part(each, at, now, again=again)

    def finish(self, key: str, at: float, now: datetime) -> None:
        """A piece of work is done, unless its pod had to leave before."""
        each = self.running.get(key)
        if each is not None and each.pod.meta.deleted is None:
            self.remove(key, at, now, again=False)

    def dress(self, node: Node, daemons: Mapping[str, Pod], now: datetime) -> None:
        """Give a new node the pods of its DaemonSets."""
        known = Requirements.from_labels(node.meta.labels)
        # They tolerate what a node carries while it comes up.
        bare = replace(
            node, taints=tuple(t for t in node.taints if t.key != labels.UNREGISTERED_TAINT)
        )
        for name, template in daemons.items():
            if not schedulers.admits(bare, known, template):
                continue
            key = f"{template.meta.namespace}/{name}-{node.meta.name}"
            meta = replace(
                template.meta,
                name=f"{name}-{node.meta.name}",
                uid=f"pod-{key}",
                created=now,
                owners=(
                    Owner(
                        api_version="apps/v1",
                        kind="DaemonSet",
                        name=name,
                        uid=name,
                        controller=True,
                    ),
                ),
            )
            pod = replace(
                template,
                meta=meta,
                node_name=node.meta.name,
                phase="Running",
                ready=True,
                scheduled=now,
            )
            self.running[key] = Running(pod, template, 0.0)
            self.on.setdefault(node.meta.name, {})[key] = None
            self._scheduler.take(node.meta.name, pod)
            self._ledger.bound(pod)
            self._tell(events.Seen(pod))

    def _make(
        self,
        template: Pod,
        at: float,
        now: datetime,
        *,
        service: str = "",
        arrival: Arrival | None = None,
        job: str = "",
    ) -> None:
        self._count += 1
        name = f"{service or (arrival.workload if arrival else '')}-{self._count:06d}"
        own = _owned(template, job) if job else template
        meta = replace(own.meta, name=name, uid=f"pod-{self._count}", created=now)
        each = Running(replace(own, meta=meta), template, at, service, arrival, job)
        self.running[meta.key] = self.waiting[meta.key] = each
        if service:
            self.crews[service].pods[meta.key] = None
        self.fresh = True

    def _part(self, each: Running, at: float, now: datetime, *, again: bool) -> None:
        """A pod counts no more; its controller sees to it that another one comes."""
        if each.service:
            crew = self.crews[each.service]
            crew.pods.pop(each.pod.meta.key, None)
            crew.ready -= each.bound is not None
            if again:
                self.scale(each.service, crew.target, at, now)
            self._budget(crew)
        elif each.arrival is not None and again:
            self._ledger.lost_seconds += at - each.bound if each.bound is not None else 0.0
            self._make(each.template, at, now, arrival=each.arrival, job=each.job)
        elif each.job:
            self._done(each)

    def _announce(
        self, kind: type[ReplicaSet] | type[Job], name: str, template: Pod, wanted: int
    ) -> None:
        """The owner of pods says how many it wants, before it makes them."""
        uid = template.meta.controller_uid
        if uid:
            meta = Meta(name=name, namespace=template.meta.namespace, uid=uid)
            self._tell(events.Seen(kind(meta=meta, wanted=wanted, template=template)))

    def _done(self, each: Running) -> None:
        """A Job has one piece of work less to do, and ends with its last."""
        left = self._jobs[each.job] = self._jobs[each.job] - 1
        if left:
            self._announce(Job, each.job, _owned(each.template, each.job), left)
        else:
            del self._jobs[each.job]
            self._tell(events.Gone(Job, f"{each.template.meta.namespace}/{each.job}"))

    def _budget(self, crew: Crew) -> None:
        most = crew.service.max_unavailable
        if most is None:
            return
        allowed = max(0, crew.ready - (crew.target - most))
        if allowed != crew.allowed:
            crew.allowed = allowed
            meta = replace(crew.service.template.meta, name=crew.service.name, labels={})
            selector = {"matchLabels": dict(crew.service.template.meta.labels)}
            self._tell(
                events.Seen(
                    PodDisruptionBudget(meta=meta, selector=selector, disruptions_allowed=allowed)
                )
            )


def _owned(template: Pod, job: str) -> Pod:
    """The template of a Job's pods."""
    owners = tuple(replace(owner, name=job, uid=job) for owner in template.meta.owners)
    return replace(template, meta=replace(template.meta, owners=owners))
