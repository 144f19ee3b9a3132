"""kube-scheduler, as far as the pods here ask for it: taints.

Node labels and room. It binds a moment after it has decided. A pod is tried first where it is nominated to, and its
room is kept from others; whether a nomination that came to nothing is taken off depends on its version (1.35).

Written without the controller's own rules on purpose: it is the one whose word counts.
"""

import functools
from typing import TYPE_CHECKING

from tests.simulation.apiserver import (
    NODES,
    PODS,
    Change,
    Json,
    Refused,
    app_of,
    is_finished,
    is_leaving,
)

if TYPE_CHECKING:
    from tests.simulation.world import World


def tolerates(tolerations: list[Json], taint: Json) -> bool:
    """Whether one of `tolerations` puts up with `taint`."""
    return any(
        t.get("effect", taint["effect"]) == taint["effect"]
        and (
            (t.get("operator") == "Exists" and t.get("key", taint["key"]) == taint["key"])
            or (t.get("key") == taint["key"] and t.get("value", "") == taint.get("value", ""))
        )
        for t in tolerations
    )


class Scheduler:
    """The only scheduler of the cluster."""

    def __init__(self, world: "World") -> None:
        self._world = world
        self._api, self._clock, self._random = world.api, world.clock, world.random
        self._due = False
        self._assumed: dict[str, str] = {}
        self._forgets = self._random.random() < 0.5
        """Whether it takes off nominations that came to nothing."""

    def watch(self, change: Change) -> None:
        """Something changed; look again soon if anybody waits."""
        if change.plural not in {PODS, NODES} or self._due:
            return
        self._due = True
        self._clock.after(self._random.uniform(0.05, 0.5), self._pass)

    def _pass(self) -> None:
        self._due = False
        pods = self._api.objects[PODS]
        waiting = [
            key
            for key, pod in pods.items()
            if not pod["spec"].get("nodeName") and not is_leaving(pod) and key not in self._assumed
        ]
        if not waiting:
            return
        used = self._used()
        self._keep_room(waiting, used)
        for key in waiting:
            pod = self._api.find(PODS, key)
            if pod is not None:
                self._place(key, pod, used)

    def _used(self) -> dict[str, list[int]]:
        apps = self._world.workloads.apps
        used: dict[str, list[int]] = {}
        for key, pod in self._api.objects[PODS].items():
            node = pod["spec"].get("nodeName") or self._assumed.get(key)
            if node and not is_finished(pod):
                app = apps[app_of(pod)]
                room = used.setdefault(node, [0, 0])
                room[0] += app.cpu
                room[1] += app.memory
        return used

    def _keep_room(self, waiting: list[str], used: dict[str, list[int]]) -> None:
        """Take the room of those that are nominated away from all others."""
        for key in waiting:
            self._take(used, self._nominated(self._api.objects[PODS][key]), key, 1)

    def _nominated(self, pod: Json) -> str:
        name = pod["status"].get("nominatedNodeName") or ""
        return name if name in self._api.objects[NODES] else ""

    def _take(self, used: dict[str, list[int]], name: str, key: str, sign: int) -> None:
        app = self._world.workloads.apps[app_of(self._api.objects[PODS][key])]
        room = used.setdefault(name, [0, 0])
        room[0] += sign * app.cpu
        room[1] += sign * app.memory

    def _place(self, key: str, pod: Json, used: dict[str, list[int]]) -> None:
        app = self._world.workloads.apps[app_of(pod)]
        nominated = self._nominated(pod)
        self._take(used, nominated, key, -1)
        nodes = self._api.objects[NODES]
        first = (nominated,) if nominated else ()
        for name in (*first, *nodes):
            node, taken = nodes[name], used.setdefault(name, [0, 0])
            room = self._world.allocatable(name)
            if (
                taken[0] + app.cpu <= room[0]
                and taken[1] + app.memory <= room[1]
                and all(
                    node["metadata"]["labels"].get(k) == v for k, v in app.node_selector.items()
                )
                and all(tolerates(app.tolerations, t) for t in node["spec"].get("taints") or ())
            ):
                taken[0] += app.cpu
                taken[1] += app.memory
                self._assumed[key] = name
                late = self._world.faults.strike("scheduler late")
                seconds = (
                    self._world.faults.seconds(0.5, 2) if late else self._random.uniform(0, 0.1)
                )
                uid = pod["metadata"]["uid"]
                bind = functools.partial(self._bind, key, uid, name)
                self._clock.after(seconds, bind)
                return
        self._refuse(key, pod)

    def _bind(self, key: str, uid: str, node: str) -> None:
        self._assumed.pop(key, None)
        pod = self._api.find(PODS, key)
        if pod is None or pod["metadata"]["uid"] != uid:
            return
        try:
            self._api.bind(key, node, "scheduler")
        except Refused:
            return

    def _refuse(self, key: str, pod: Json) -> None:
        if self._forgets and pod["status"].get("nominatedNodeName"):
            self._api.patch(PODS, key, {"status": {"nominatedNodeName": ""}}, "scheduler", "status")
        if any(c["type"] == "PodScheduled" for c in pod["status"].get("conditions", ())):
            return
        refused = {"type": "PodScheduled", "status": "False", "reason": "Unschedulable"}
        state = {"conditions": [refused | {"lastTransitionTime": self._clock.stamp()}]}
        self._api.patch(PODS, key, {"status": state}, "scheduler", "status")
