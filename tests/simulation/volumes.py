"""Volumes: attached where a pod of their workload runs, detached some time after the last one has left.

The attach-detach controller of Kubernetes, as far as the end of a node waits for it.
"""

import functools
from typing import TYPE_CHECKING

from tests.simulation.apiserver import ATTACHMENTS, NODES, PODS, Change, Json, Refused, app_of
from tests.simulation.clock import seconds_of

if TYPE_CHECKING:
    from tests.simulation.controllers import App
    from tests.simulation.world import World

DETACHED = 20.0
"""Seconds that a volume takes to be detached at most, unless it is slow."""
KNOWN = 15.0
"""Seconds after which an attachment is known to a controller."""


class Volumes:
    """Every volume, and where it is attached."""

    def __init__(self, world: "World") -> None:
        self._world = world
        self._api, self._clock, self._random = world.api, world.clock, world.random

    def add(self, app: "App") -> None:
        """A volume for a workload, bound to its claim."""
        volume = {
            "apiVersion": "v1",
            "kind": "PersistentVolume",
            "metadata": {"name": f"pv-{app.name}"},
        }
        self._api.create("persistentvolumes", volume | {"spec": {"claimRef": {}}}, "people")
        claim = {
            "apiVersion": "v1",
            "kind": "PersistentVolumeClaim",
            "metadata": {"name": app.name},
        }
        spec = {"spec": {"volumeName": f"pv-{app.name}"}}
        self._api.create("persistentvolumeclaims", claim | spec, "people", "default")

    def watch(self, change: Change) -> None:
        """A pod or a Node changed."""
        if change.plural == NODES and change.new is None:
            self._clock.after(self._random.uniform(1, 10), lambda: self._detach_all(change.key))
        if change.plural != PODS:
            return
        body = change.new or change.old
        assert body is not None
        node = body["spec"].get("nodeName", "")
        if not node or not self._world.workloads.apps[app_of(body)].volume:
            return
        name = f"{app_of(body)}-on-{node}"
        if change.new is not None:
            if self._api.find(ATTACHMENTS, name) is None and node in self._api.objects[NODES]:
                self._attach(name, app_of(body), node)
        else:
            slow = self._world.faults.strike("detach slow")
            seconds = (
                self._world.faults.seconds(20, 120) if slow else self._random.uniform(1, DETACHED)
            )
            self._clock.after(seconds, lambda: self._detach(name, app_of(body), node))

    def reconcile(self) -> None:
        """Attachments are not what they were: attach what is used, let go of what is not."""
        for key, pod in self._api.objects[PODS].items():
            self.watch(Change(PODS, key, None, pod, "attach-detach"))
        for name, body in self._api.objects[ATTACHMENTS].items():
            app, node = name.partition("-on-")[0], body["spec"]["nodeName"]
            seconds = self._random.uniform(1, 12)
            self._clock.after(seconds, functools.partial(self._detach, name, app, node))

    def torn(self, node: str, now: float) -> list[str]:
        """Attachments of a Node that a controller must know of and that no pod holds any more."""
        return [
            name
            for name, body in self._api.objects[ATTACHMENTS].items()
            if body["spec"]["nodeName"] == node
            and now - seconds_of(body["metadata"]["creationTimestamp"]) > KNOWN
            and not self._is_used(name.partition("-on-")[0], node)
        ]

    def _attach(self, name: str, app: str, node: str) -> None:
        source = {"persistentVolumeName": f"pv-{app}"}
        body: Json = {
            "apiVersion": "storage.k8s.io/v1",
            "kind": "VolumeAttachment",
            "metadata": {"name": name},
            "spec": {"nodeName": node, "attacher": "sim", "source": source},
        }
        self._api.create(ATTACHMENTS, body, "attach-detach")

    def _detach(self, name: str, app: str, node: str) -> None:
        if not self._is_used(app, node):
            self._remove(name)

    def _detach_all(self, node: str) -> None:
        if node in self._api.objects[NODES]:
            return
        for name, body in list(self._api.objects[ATTACHMENTS].items()):
            if body["spec"]["nodeName"] == node:
                self._remove(name)

    def _remove(self, name: str) -> None:
        try:
            self._api.delete(ATTACHMENTS, name, "attach-detach")
        except Refused:
            return

    def _is_used(self, app: str, node: str) -> bool:
        return any(
            app_of(pod) == app and pod["spec"].get("nodeName") == node
            for pod in self._api.all(PODS)
        )
