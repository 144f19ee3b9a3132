"""The controllers of Kubernetes that matter here: ReplicaSets, DaemonSets, collectors, PodDisruptionBudgets."""

import functools
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from tests.simulation import surges
from tests.simulation.apiserver import (
    BUDGETS,
    CLAIMS,
    DAEMON_SETS,
    DEPLOYMENTS,
    JOBS,
    NODES,
    PODS,
    POOLS,
    REPLICA_SETS,
    Change,
    Json,
    Refused,
    app_of,
    is_finished,
    is_leaving,
    is_ready,
    selects,
)
from tests.simulation.clock import seconds_of

from daiku.disruption import scale_in
from daiku.model import labels

if TYPE_CHECKING:
    from tests.simulation.world import World

QUARANTINE = 40.0
"""How long a pod without its Node is left before it is collected."""


@dataclass(slots=True)
class App:
    """A workload, and what each of its pods looks like."""

    name: str
    cpu: int
    """Millicores."""
    memory: int
    """Bytes."""
    replicas: int = 0
    daemon: bool = False
    node_selector: dict[str, str] = field(default_factory=dict)
    tolerations: list[Json] = field(default_factory=list)
    annotations: dict[str, str] = field(default_factory=dict)
    grace: int = 30
    priority_class: str = ""
    min_available: int | None = None
    """Of its PodDisruptionBudget; None: it has none."""
    budgets: int = 1
    """How many PodDisruptionBudgets say so; a pod of two cannot be evicted."""
    volume: bool = False
    """Its pods share a volume that is attached to their nodes."""
    job: bool = False
    """Its pods end by themselves, and are then done."""
    surge: bool = False
    """It is a Deployment whose pods ask for a surge."""
    refused_until: float = 0.0
    """Seconds until when a quota refuses its pods."""
    done: int = 0
    """How many pods of a job have ended well since it was last scaled."""

    @property
    def uid(self) -> str:
        return f"uid-app-{self.name}"


def _plural(app: App) -> str:
    return JOBS if app.job else REPLICA_SETS


def _owner_name(app: App) -> str:
    return f"{app.name}-{surges.HASH}" if app.surge else app.name


def _labels(app: App) -> Json:
    return {"app": app.name, **({"pod-template-hash": surges.HASH} if app.surge else {})}


def _wanted(app: App, replicas: int) -> Json:
    """What its owner's spec says of the number of pods."""
    if app.job:
        return {"parallelism": replicas, "completions": replicas}
    return {"replicas": replicas}


class Workloads:
    """What keeps the pods in number, and the dead ones away."""

    def __init__(self, world: "World") -> None:
        self._world = world
        self._api, self._clock, self._random = world.api, world.clock, world.random
        self.apps: dict[str, App] = {}
        self._due: dict[str, bool] = {}
        self._made = 0

    def add(self, app: App) -> None:
        """A new workload."""
        self.apps[app.name] = app
        self._api.uids[app.uid] = True
        if app.volume:
            self._world.volumes.add(app)
        for number in range(app.budgets if app.min_available is not None else 0):
            body = {
                "apiVersion": "policy/v1",
                "kind": "PodDisruptionBudget",
                "metadata": {"name": f"{app.name}{number or ''}"},
                "spec": {
                    "minAvailable": app.min_available,
                    "selector": {"matchLabels": {"app": app.name}},
                },
                "status": {"disruptionsAllowed": 0, "currentHealthy": 0, "desiredHealthy": 0},
            }
            self._api.create(BUDGETS, body, "people", "default")
        if app.daemon:
            template = {"metadata": {"labels": {"app": app.name}}, "spec": self._spec(app)}
            body = {
                "apiVersion": "apps/v1",
                "kind": "DaemonSet",
                "metadata": {"name": app.name},
                "spec": {"template": template},
            }
            self._api.create(DAEMON_SETS, body, "people", "kube-system")
            return
        if app.surge:
            app.annotations = {**app.annotations, labels.SURGE: "true"}
            self._api.create(DEPLOYMENTS, surges.body(app), "people", "default")
        self._api.create(_plural(app), self._owner(app), "people", "default")
        self.scale(app, app.replicas)

    def scale(self, app: App, replicas: int) -> None:
        """Change how many there are to be."""
        app.replicas, app.done = replicas, 0
        if app.surge:
            wanted = {"spec": {"replicas": replicas}}
            self._api.patch(DEPLOYMENTS, f"default/{app.name}", wanted, "people")
        self._announce(app)
        self._soon(f"app {app.name}", lambda: self._count(app))

    def watch(self, change: Change) -> None:
        """An object changed: who cares, looks soon."""
        if change.plural == PODS:
            body = change.new or change.old
            assert body is not None
            app = self.apps[app_of(body)]
            if not app.daemon:
                self._soon(f"app {app.name}", lambda: self._count(app))
                if app.min_available is not None:
                    self._soon(f"budget {app.name}", lambda: self._budget(app))
        elif change.plural == DEPLOYMENTS and change.new is not None:
            app = self.apps[change.new["metadata"]["name"]]
            app.replicas = change.new["spec"]["replicas"]
            self._announce(app)
            self._soon(f"app {app.name}", lambda: self._count(app))
        elif change.plural == NODES:
            self._soon("daemons", self._daemons)
            if change.new is None:
                self._clock.after(
                    self._random.uniform(QUARANTINE / 2, QUARANTINE),
                    lambda: self._collect(change.key),
                )
        if change.new is None and change.plural in {CLAIMS, POOLS}:
            self._clock.after(self._random.uniform(0.1, 2), self._garbage)

    def _owner(self, app: App) -> Json:
        """The ReplicaSet or the Job that makes its pods."""
        return {
            "apiVersion": "batch/v1" if app.job else "apps/v1",
            "kind": "Job" if app.job else "ReplicaSet",
            "metadata": {"name": _owner_name(app), "uid": app.uid},
            "spec": {
                "template": {
                    "metadata": {"labels": _labels(app), "annotations": app.annotations},
                    "spec": self._spec(app),
                }
            }
            | _wanted(app, 0),
        }

    def _announce(self, app: App) -> None:
        """Write how many pods there are to be."""
        key, wanted = f"default/{_owner_name(app)}", _wanted(app, app.replicas)
        found = self._api.find(_plural(app), key)
        if found is not None and any(found["spec"].get(k) != v for k, v in wanted.items()):
            self._api.patch(_plural(app), key, {"spec": wanted}, "people")

    def reconcile(self) -> None:
        """Objects are not what they were: count everything again."""
        for app in self.apps.values():
            if not app.daemon:
                self._announce(app)
                self._soon(f"app {app.name}", functools.partial(self._count, app))
                self._soon(f"budget {app.name}", functools.partial(self._budget, app))
        self._soon("daemons", self._daemons)
        self._clock.after(1.0, self._garbage)

    def _soon(self, what: str, do: "object") -> None:
        if not self._due.get(what):
            self._due[what] = True
            self._clock.after(self._random.uniform(0.05, 0.6), lambda: self._do(what, do))

    def _do(self, what: str, do: "object") -> None:
        self._due[what] = False
        do()  # type: ignore[operator]

    def _count(self, app: App) -> None:
        """Make or remove pods until there are as many as wanted."""
        pods = [(k, p) for k, p in self._api.objects[PODS].items() if app_of(p) == app.name]
        active = [(k, p) for k, p in pods if not is_leaving(p) and not is_finished(p)]
        missing = app.replicas - len(active) - app.done
        if missing > 0 and self._clock.seconds < app.refused_until:
            self._clock.after(app.refused_until - self._clock.seconds, lambda: self._count(app))
        elif missing > 0 and self._world.faults.strike("quota used up"):
            app.refused_until = self._clock.seconds + self._world.faults.seconds(2, 90)
            self._soon(f"app {app.name}", lambda: self._count(app))
        else:
            # A ReplicaSet starts slowly, and makes the pods of others meanwhile.
            for _ in range(min(missing, self._random.randint(1, 20))):
                self._made += 1
                middle = f"{surges.HASH}-" if app.surge else ""
                self._create(app, f"{app.name}-{middle}{self._made}", "")
        if app.job and app.replicas == 0:
            active = pods
        surplus = len(active) - max(app.replicas - app.done, 0)
        # Those that run nowhere first, then those that do not serve yet, then the cheapest, then the youngest.
        active.sort(
            key=lambda e: (bool(e[1]["spec"].get("nodeName")), is_ready(e[1]), *_cost(e[1]))
        )
        for key, _pod in active[: max(surplus, 0)]:
            self._api.delete(PODS, key, "replicaset")

    def _create(self, app: App, name: str, node: str) -> None:
        owner = {
            "apiVersion": "apps/v1", "name": _owner_name(app), "uid": app.uid, "controller": True,
        }  # fmt: skip
        at = self._clock.stamp()
        bound = (
            [{"type": "PodScheduled", "status": "True", "lastTransitionTime": at}] if node else []
        )
        body = {
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": {
                "name": name,
                "labels": _labels(app),
                "annotations": app.annotations,
                "ownerReferences": [owner | {"kind": "DaemonSet" if app.daemon else "ReplicaSet"}],
            },
            "spec": self._spec(app) | ({"nodeName": node} if node else {}),
            "status": {"phase": "Pending", "conditions": bound},
        }
        self._api.create(PODS, body, "daemonset" if app.daemon else "replicaset", "default")

    def _spec(self, app: App) -> Json:
        container = {
            "name": "main",
            "resources": {"requests": {"cpu": f"{app.cpu}m", "memory": str(app.memory)}},
        }
        volume = {"name": "data", "persistentVolumeClaim": {"claimName": app.name}}
        return {
            "containers": [container],
            "nodeSelector": app.node_selector,
            "tolerations": app.tolerations,
            "terminationGracePeriodSeconds": app.grace,
            **({"priorityClassName": app.priority_class} if app.priority_class else {}),
            **({"volumes": [volume]} if app.volume else {}),
        }

    def _daemons(self) -> None:
        for app in self.apps.values():
            if not app.daemon:
                continue
            pods = [p for p in self._api.all(PODS) if app_of(p) == app.name and not is_finished(p)]
            served = {p["spec"]["nodeName"]: True for p in pods}
            for name in self._api.objects[NODES]:
                if name not in served:
                    self._made += 1
                    self._create(app, f"{app.name}-{self._made}", name)

    def _budget(self, app: App) -> None:
        """The disruption controller counts who is healthy."""
        budget = self._api.find(BUDGETS, f"default/{app.name}")
        if budget is None:
            return
        pods = [
            p
            for p in self._api.all(PODS)
            if selects(budget["spec"]["selector"], p["metadata"]["labels"])
        ]
        now = self._clock.seconds
        here = {p["metadata"]["name"]: True for p in pods if not is_leaving(p)}
        going = {
            name: at
            for name, at in budget["status"].get("disruptedPods", {}).items()
            if name in here and now - seconds_of(at) < 120
        }
        healthy = sum(
            is_ready(p) and not is_leaving(p) and p["metadata"]["name"] not in going for p in pods
        )
        wanted = app.min_available or 0
        state = {
            "currentHealthy": healthy,
            "desiredHealthy": wanted,
            "expectedPods": app.replicas,
            "disruptionsAllowed": max(0, healthy - wanted),
            "disruptedPods": {**dict.fromkeys(budget["status"].get("disruptedPods", {})), **going},
        }
        self._api.patch(BUDGETS, f"default/{app.name}", {"status": state}, "disruption", "status")

    def _collect(self, node: str) -> None:
        """Pods of a Node that is gone are taken away, whatever they say."""
        if node in self._api.objects[NODES]:
            return
        for key, pod in list(self._api.objects[PODS].items()):
            if pod["spec"].get("nodeName") == node:
                self._api.delete(PODS, key, "pod-gc", grace=0)

    def sweep(self) -> None:
        """Pods that were bound to a Node after it was gone."""
        names = dict.fromkeys(p["spec"].get("nodeName") for p in self._api.all(PODS))
        for name in names:
            if name and name not in self._api.objects[NODES]:
                self._collect(name)

    def _garbage(self) -> None:
        """What has lost every owner goes."""
        for plural in (CLAIMS, NODES):
            for key, body in list(self._api.objects[plural].items()):
                owners = body["metadata"].get("ownerReferences")
                if (
                    owners
                    and not is_leaving(body)
                    and not any(o["uid"] in self._api.uids for o in owners)
                ):
                    try:
                        self._api.delete(plural, key, "garbage-collector")
                    except Refused:
                        continue


def unordered(pod: Json) -> str:
    """What is wrong with a pod's place among those that its ReplicaSet gives up; empty when nothing is."""
    meta, node = pod["metadata"], pod["spec"].get("nodeName")
    said = meta.get("annotations") or {}
    if (
        said.get(labels.SCALE_IN_BY_NODE) != "true"
        or not node
        or is_leaving(pod)
        or node == "ip-system"
    ):
        return ""
    cost = said.get(labels.POD_DELETION_COST)
    wanted = str(scale_in.cost_on(node))
    return "" if cost == wanted else f"pod {meta['name']} costs {cost} on {node}, not {wanted}"


def _cost(pod: Json) -> tuple[int, float]:
    """In which order a ReplicaSet deletes pods that are alike otherwise."""
    said = (pod["metadata"].get("annotations") or {}).get(labels.POD_DELETION_COST, "0")
    return int(said), -seconds_of(pod["metadata"]["creationTimestamp"])
