"""A tiny world with a Deployment: a ReplicaSet keeps its pods in number, and deletes whom the real one would delete.

Whoever looks may ask how many pods were ready at any time (`fewest`).
"""

import itertools
from collections.abc import Mapping
from dataclasses import replace
from datetime import timedelta
from types import MappingProxyType
from typing import Any

from tests import build
from tests.unit.daiku.moving_world import Moving
from tests.unit.daiku.tiny_world import annotated

from daiku import commands, events
from daiku.commands import Command
from daiku.model import labels
from daiku.model.deployment import Deployment
from daiku.model.meta import Owner
from daiku.model.pod import Pod
from daiku.settings import Settings

HASH = "5d4c"
WEB = "default/web"
_numbers = itertools.count(1)


class Surging(Moving):
    """A world whose pods belong to Deployment web."""

    starts = 10
    """Seconds from the time that a pod is bound until it is ready; more than a test lasts: never."""
    fewest = 99
    """The least number of ready pods so far."""
    scaler = ""
    """HorizontalPodAutoscaler of the Deployment."""
    annotations: Mapping[str, str] = MappingProxyType({})
    """Of its pod template."""
    tampers = ""
    """Who sets the replicas back as soon as they are more than one."""

    def web(self) -> Deployment:
        found = self.objects[Deployment, WEB]
        assert isinstance(found, Deployment)
        return found

    def put(self, thing: Any) -> None:
        if not isinstance(thing, Deployment):
            super().put(thing)
            return
        stored = replace(thing, meta=replace(thing.meta, resource_version=str(next(self.versions))))
        self.objects[Deployment, thing.meta.key] = stored
        # The watch asks for those with the label only.
        if labels.SURGING in stored.meta.labels:
            self.cluster.apply(events.Seen(stored))
        else:
            self.cluster.apply(events.Gone(Deployment, stored.meta.key))

    def restart(self) -> None:
        super().restart()
        if (Deployment, WEB) in self.objects:
            self.put(self.web())

    def carry_out(self, command: Command) -> None:
        match command:
            case commands.InspectDeployment():
                key = f"{command.namespace}/{command.name}"
                found: Any = self.objects.get((Deployment, key))
                seen = events.Inspected(
                    key=key, deployment=found, autoscaler=self.scaler, at=self.now
                )
                self.cluster.apply(seen)
            case commands.PatchDeployment():
                self._patch_deployment(command)
            case commands.Evict():
                self.drop(Pod, f"{command.namespace}/{command.name}")
                self.evicted += 1
            case _:
                super().carry_out(command)

    def _patch_deployment(self, patch: commands.PatchDeployment) -> None:
        found = self._current(Deployment, f"{patch.namespace}/{patch.name}", patch.resource_version)
        meta = annotated(found.meta, patch.annotations or {})
        merged = {**meta.labels, **(patch.labels or {})}
        meta = replace(meta, labels={k: v for k, v in merged.items() if v is not None})
        replicas = found.replicas if patch.replicas is None else patch.replicas
        owners = ("daiku",) if patch.replicas is not None else found.scaled_by
        self.put(replace(found, meta=meta, replicas=replicas, scaled_by=owners))

    def live(self) -> None:
        super().live()
        if self.tampers and self.web().replicas == 2 and self.now.second % 7 == 0:
            self.put(replace(self.web(), replicas=1, scaled_by=(self.tampers,)))
        mine = self.mine()
        for pod in mine:
            bound = pod.scheduled
            if not pod.ready and bound and self.now - bound >= timedelta(seconds=self.starts):
                self.put(replace(pod, ready=True, ready_since=self.now))
        self._count()
        self.fewest = min(self.fewest, sum(p.ready for p in self.mine()))

    def mine(self) -> list[Pod]:
        return [p for p in self.all(Pod) if p.meta.name.startswith("web-")]

    def _count(self) -> None:
        """The ReplicaSet controller: whom it deletes first is what `ActivePodsWithRanks` of Kubernetes says."""
        mine, wanted = self.mine(), self.web().replicas
        for _ in range(wanted - len(mine)):
            self.put(
                web_pod(
                    f"web-{HASH}-{next(_numbers):04d}",
                    created=self.now,
                    cpu="500m",
                    annotations=self.annotations,
                )
            )
        ranked = sorted(
            mine,
            key=lambda p: (
                bool(p.node_name),
                p.ready,
                int(p.meta.annotations.get(labels.POD_DELETION_COST, "0")),
                -(p.meta.created or self.now).timestamp(),
            ),
        )
        for pod in ranked[: max(len(mine) - wanted, 0)]:
            self.drop(Pod, pod.meta.key)


def web_pod(name: str, *, created: Any = build.NOW, **fields: Any) -> Pod:
    """A pod of Deployment web."""
    pod = build.pod(name, labels={"app": "web", "pod-template-hash": HASH}, **fields)
    owner = Owner(
        api_version="apps/v1", kind="ReplicaSet", name=f"web-{HASH}", uid="uid-rs", controller=True
    )
    since = build.NOW if pod.ready else None
    return replace(pod, meta=replace(pod.meta, owners=(owner,), created=created), ready_since=since)


def deployment(replicas: int = 1, **fields: Any) -> Deployment:
    """Deployment web."""
    return Deployment(meta=build.meta("web", namespace="default"), replicas=replicas, **fields)


def surging(*objects: Any, boot: int = 20, pool: Any = None, types: Any = ()) -> Surging:
    """A world in which `objects` are there, and their nodes have been quiet for a while."""
    from daiku.model.nodeclaim import NodeClaim  # noqa: PLC0415 - only this function asks for it

    made = Surging(
        now=build.NOW + timedelta(minutes=15),
        catalogue=build.catalogue(*types),
        settings=Settings(),
        boot=timedelta(seconds=boot),
    )
    for thing in (build.node_class(), pool or build.node_pool(), *objects):
        made.put(thing)
    for claim in made.all(NodeClaim):
        made.instances[claim.provider_id] = build.instance(claim)
    made.restart()
    return made
