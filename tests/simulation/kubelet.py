"""Kubelets: machines that boot, join, run pods, end them, and sometimes fall silent. Also what watches over them.

The node lifecycle controller calls a silent node Unknown after 40 s and, after 5 minutes, deletes its pods; the
cloud controller removes the Node of an instance that is gone.
"""

import functools
from typing import TYPE_CHECKING

from tests import build
from tests.simulation import apiserver
from tests.simulation.apiserver import NODES, PODS, Change, Json, Refused, is_finished, is_leaving
from tests.simulation.clock import seconds_of
from tests.simulation.ec2 import Machine

from daiku.api import encode
from daiku.model import labels

if TYPE_CHECKING:
    from tests.simulation.world import World

GRACE = 40.0
"""How long a kubelet may be silent before its node is Unknown."""
TOLERATED = 300.0
"""How long pods stay on a node that is Unknown."""
HEARTBEAT = 300.0
NOT_READY = {"key": "node.kubernetes.io/not-ready", "effect": "NoSchedule"}
UNREACHABLE = {"key": "node.kubernetes.io/unreachable", "effect": "NoSchedule"}


class Kubelets:
    """Every kubelet, and the controllers that look after nodes."""

    def __init__(self, world: "World") -> None:
        self._world = world
        self._api, self._clock, self._random = world.api, world.clock, world.random
        self.by_node: dict[str, Machine] = {}
        self._ended: dict[str, bool] = {}
        """Pods of jobs that have done their work, by uid; an older state of the API server does not undo it."""

    def boot(self, machine: Machine) -> None:
        """A machine was launched; in a while its kubelet is there, if it ever is."""
        faults = self._world.faults
        if faults.strike("kubelet never comes"):
            machine.dead = True
            return
        seconds = self._random.uniform(5, 20)
        if faults.strike("kubelet slow"):
            seconds = faults.seconds(30, 120)
        self._clock.after(seconds, lambda: self._join(machine))

    def join_foreign(self) -> None:
        """A node of somebody else, which is there from the start."""
        small = build.instance_type("system", cpu="0.5", memory="1Gi")
        machine = Machine("system", "", "", "", "", "", small, "zone-a", "on-demand", 0.0, {}, [])
        machine.state = "running"
        self._register(machine, {labels.HOSTNAME: "ip-system"})
        self._clock.after(1.0, lambda: self._set_ready(machine, "True"))

    def watch(self, change: Change) -> None:
        """A pod or a Node changed."""
        new = change.new
        if change.plural != PODS or new is None:
            return
        machine = self.by_node.get(new["spec"].get("nodeName", ""))
        if machine is None:
            return
        if is_leaving(new):
            self._later(self._stop_seconds(new), lambda: self._stop(machine, change.key))
        elif new["status"].get("phase") == "Pending":
            self._later(self._seconds(0.3, 2), lambda: self._start(machine, change.key))
        elif (uid := new["metadata"]["uid"]) in self._ended and not is_finished(new):
            self._later(1.0, lambda: self._finish(machine, change.key, uid))

    def die(self, machine: Machine, seconds: float) -> None:
        """A kubelet falls silent, and comes back later."""
        machine.dead = True
        self._world.story.tell("kubelet", "of %s falls silent for %.0f s", machine.id, seconds)
        self.watch_over(machine)
        self._clock.after(seconds, lambda: self.revive(machine))

    def revive(self, machine: Machine) -> None:
        """A kubelet is back and does what it missed."""
        if not machine.dead or not machine.is_live:
            return
        machine.dead = False
        if not machine.node:
            self._clock.after(1.0, lambda: self._join(machine))
            return
        self._set_ready(machine, "True")
        for pod in self._api.all(PODS):
            if pod["spec"].get("nodeName") == machine.node:
                key = f"{pod['metadata']['namespace']}/{pod['metadata']['name']}"
                self.watch(Change(PODS, key, None, pod, "kubelet"))

    def report(self) -> None:
        """Objects are not what they were: who lives says how it is, and who is dead will be found out.

        A pod of a job that had been ended and is back does its work again.
        """
        for name in self._api.objects[NODES]:
            machine = self.by_node[name]
            if machine.dead or not machine.is_live:
                self.watch_over(machine)
            else:
                self._later(
                    self._random.uniform(1, 10), functools.partial(self._set_ready, machine, "True")
                )

        for key, pod in self._api.objects[PODS].items():
            app = self._world.workloads.apps[apiserver.app_of(pod)]
            machine = self.by_node.get(pod["spec"].get("nodeName", ""))
            if machine is not None and app.job and pod["status"].get("phase") == "Running":
                self._work(machine, key, pod["metadata"]["uid"])

    def watch_over(self, machine: Machine) -> None:
        """A kubelet fell silent: see to its Node after the time it is given."""
        self._clock.after(GRACE, lambda: self._give_up(machine))
        self._clock.after(GRACE + TOLERATED, lambda: self._empty(machine))

    def _seconds(self, least: float, most: float) -> float:
        """How long a kubelet takes; in peace all are quick, so that what they say comes together and saves ticks.

        When a machine boots is by chance all the same, so nodes still come one after the other.
        """
        drawn = self._random.uniform(least, most)
        return drawn if self._world.faults.on else least

    def _later(self, seconds: float, do: "apiserver.Callable[[], None]") -> None:
        self._clock.after(seconds, do)

    def _stop_seconds(self, pod: Json) -> float:
        left = max(0.0, seconds_of(pod["metadata"]["deletionTimestamp"]) - self._clock.seconds)
        if self._world.faults.strike("pod slow to stop"):
            return left
        return min(left, self._seconds(0.2, 2))

    def _join(self, machine: Machine) -> None:
        """The kubelet registers its Node."""
        if machine.dead or not machine.is_live:
            return
        told = {
            labels.HOSTNAME: f"ip-{machine.id}",
            labels.INSTANCE_TYPE: machine.type.name,
            labels.ZONE: machine.zone,
            labels.ARCH: "amd64",
            labels.OS: "linux",
        }
        self._register(machine, machine.labels | told)
        self._clock.after(self._seconds(1, 5), lambda: self._set_ready(machine, "True"))
        self._clock.after(HEARTBEAT, lambda: self._beat(machine))

    def _register(self, machine: Machine, known: dict[str, str]) -> None:
        name = machine.node = f"ip-{machine.id}"
        body = {
            "apiVersion": "v1",
            "kind": "Node",
            "metadata": {"name": name, "labels": known},
            "spec": {"providerID": machine.provider_id, "taints": [*machine.taints, NOT_READY]},
            "status": {
                "capacity": encode.quantities(machine.type.capacity),
                "allocatable": encode.quantities(machine.type.allocatable),
                "conditions": [self._condition("False")],
            },
        }
        self.by_node[name] = machine
        self._api.create(NODES, body, "kubelet")

    def _beat(self, machine: Machine) -> None:
        if not machine.is_live or machine.node not in self._api.objects[NODES]:
            return
        if not machine.dead:
            at = self._clock.stamp()
            self._write(machine, {"status": {"heartbeat": at}}, "status")
        self._clock.after(HEARTBEAT, lambda: self._beat(machine))

    def _set_ready(self, machine: Machine, status: str) -> None:
        node = self._api.find(NODES, machine.node)
        if node is None or (status == "True" and machine.dead):
            return
        self._write(machine, {"status": {"conditions": [self._condition(status)]}}, "status")
        self._clock.after(self._seconds(0.05, 1), lambda: self._taint(machine))

    def _taint(self, machine: Machine) -> None:
        """The node lifecycle controller puts the taints that follow from the conditions."""
        node = self._api.find(NODES, machine.node)
        if node is None:
            return
        status = node["status"]["conditions"][0]["status"]
        wanted = {"True": [], "False": [NOT_READY], "Unknown": [UNREACHABLE]}[status]
        own = (NOT_READY["key"], UNREACHABLE["key"])
        kept = [t for t in node["spec"].get("taints") or () if t["key"] not in own]
        version = node["metadata"]["resourceVersion"]
        patch = {"metadata": {"resourceVersion": version}, "spec": {"taints": [*kept, *wanted]}}
        self._api.patch(NODES, machine.node, patch, "node-lifecycle")

    def _write(self, machine: Machine, patch: Json, sub: str = "") -> None:
        try:
            self._api.patch(NODES, machine.node, patch, "kubelet", sub)
        except Refused:
            return

    def _condition(self, status: str) -> Json:
        return {"type": "Ready", "status": status, "lastTransitionTime": self._clock.stamp()}

    def _give_up(self, machine: Machine) -> None:
        if not machine.dead or machine.node not in self._api.objects[NODES]:
            return
        self._set_ready(machine, "Unknown")
        self._clock.after(self._random.uniform(2, 15), lambda: self._remove_if_gone(machine))

    def _remove_if_gone(self, machine: Machine) -> None:
        node = self._api.find(NODES, machine.node)
        if node is None or machine.is_live or is_leaving(node):
            return
        if machine.state != "terminated":
            self._clock.after(5.0, lambda: self._remove_if_gone(machine))
            return
        self._api.delete(NODES, machine.node, "cloud-controller")

    def _empty(self, machine: Machine) -> None:
        """Pods do not tolerate a node that has been silent for so long."""
        if not machine.dead or machine.node not in self._api.objects[NODES]:
            return
        for key, pod in list(self._api.objects[PODS].items()):
            if (
                pod["spec"].get("nodeName") == machine.node
                and not is_leaving(pod)
                and not _is_daemon(pod)
            ):
                self._api.delete(PODS, key, "taint-eviction")

    def _start(self, machine: Machine, key: str) -> None:
        pod = self._api.find(PODS, key)
        if (
            pod is None
            or machine.dead
            or is_leaving(pod)
            or pod["spec"].get("nodeName") != machine.node
        ):
            return
        if pod["status"].get("phase") == "Pending":
            app = self._world.workloads.apps[apiserver.app_of(pod)]
            if app.surge and app.replicas > 1 and self._world.faults.strike("surge never ready"):
                # Until there is peace.
                self._later(120.0, lambda: self._start(machine, key))
                return
            at = self._clock.stamp()
            others = [c for c in pod["status"].get("conditions", ()) if c["type"] != "Ready"]
            ready = {"type": "Ready", "status": "True", "lastTransitionTime": at}
            state = {"phase": "Running", "conditions": [*others, ready]}
            self._api.patch(PODS, key, {"status": state}, "kubelet", "status")
            if app.job:
                self._work(machine, key, pod["metadata"]["uid"])

    def _work(self, machine: Machine, key: str, uid: str) -> None:
        """A job's pod works for a while."""
        self._later(self._random.uniform(10, 60), lambda: self._finish(machine, key, uid))

    def _finish(self, machine: Machine, key: str, uid: str) -> None:
        """A job's pod has done its work."""
        pod = self._api.find(PODS, key)
        if pod is None or not machine.is_live or pod["metadata"]["uid"] != uid or is_finished(pod):
            return
        if machine.dead:
            self._later(10.0, lambda: self._finish(machine, key, uid))
            return
        if uid not in self._ended:
            self._ended[uid] = True
            self._world.workloads.apps[apiserver.app_of(pod)].done += 1
        others = [c for c in pod["status"]["conditions"] if c["type"] != "Ready"]
        state = {"phase": "Succeeded", "conditions": others}
        self._api.patch(PODS, key, {"status": state}, "kubelet", "status")

    def _stop(self, machine: Machine, key: str) -> None:
        pod = self._api.find(PODS, key)
        if (
            pod is None
            or machine.dead
            or not is_leaving(pod)
            or pod["spec"].get("nodeName") != machine.node
        ):
            return
        self._api.delete(PODS, key, "kubelet", grace=0)


def _is_daemon(pod: Json) -> bool:
    return any(o["kind"] == "DaemonSet" for o in pod["metadata"].get("ownerReferences", ()))


__all__ = ["Kubelets", "is_finished"]
