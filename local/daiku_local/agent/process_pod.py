"""One pod of a local image, kept running as a process: a kubelet's work for a single pod.

Its thread makes a step ten times a second: look whether the process has ended, start it, probe it,
renew its tokens, stop it, and write the status when that has changed. A step never waits; what
takes time (a grace period, a back-off, a probe) is a time to look at in a later step.
"""

import logging
import threading
import time
from pathlib import Path

from daiku_local import world
from daiku_local.agent import (
    addresses,
    child,
    container_life,
    forwards,
    pods,
    preparation,
    probes,
    records,
    status,
)
from daiku_local.agent.addresses import NoAddressError
from daiku_local.agent.child import Child
from daiku_local.agent.environment import PodConfigError
from daiku_local.agent.kubernetes_api import KubernetesError
from daiku_local.agent.objects import Json, dig, items, timestamp
from daiku_local.agent.preparation import Host, Identity, Services
from daiku_local.agent.probing import Probing, Subject
from daiku_local.agent.quantities import QuantityError
from daiku_local.agent.records import Record
from daiku_local.agent.settings import SettingsError
from daiku_local.processes import Command

STEP_SECONDS = 0.1
"""Between two steps."""
NODE_CHECK_SECONDS = 2.0
"""Between two looks whether the node still exists."""
DEFAULT_GRACE_SECONDS = 30
"""Grace of a pod that does not say."""
FORCED_GRACE_SECONDS = 2.0
"""Grace of a process whose pod or node is no more."""
LEAVING_GRACE_SECONDS = 5.0
"""Grace of a process when the agent itself is told to end."""

_log = logging.getLogger(__name__)


class PodRunner:
    """Runs one pod until its object is gone, or until the agent leaves."""

    def __init__(self, pod: Json, services: Services, record: Record | None = None) -> None:
        self.key = pods.key(pod)
        self._pod = pod
        self._services = services
        self._wake = threading.Event()
        # Orders from other threads, and the end of this one.
        self._gone = self._leaving = self._over = False
        # Where it runs and as whom; found when first needed.
        self._host: Host | None = None
        self._host_checked = 0.0
        self._identity: Identity | None = None
        self._ip = ""
        # What runs, and why it is being stopped.
        self._life = container_life.resume(pod, timestamp())
        self._child: Child | None = None
        self._probing: Probing | None = None
        self._blame = ""
        # The status as it was last written, and as the API server gave it back.
        self._published: Json | None = None
        self._status: Json = dig(pod, "status") or {}
        self._problem = ""
        if record is not None:
            self._take_up(record)

    def update(self, pod: Json) -> None:
        """Give the newest version of the pod; called by the watch."""
        self._pod = pod
        shown = {
            dig(each, "type"): dig(each, "status") for each in items(pod, "status", "conditions")
        }
        if shown.get("Ready") != ("True" if self._life.container.ready else "False"):
            # Somebody else wrote the condition, such as the node lifecycle controller.
            self._published = None
        self._wake.set()

    def forget(self) -> None:
        """Tell that the pod's object is gone."""
        self._gone = True
        self._wake.set()

    def leave(self) -> None:
        """Tell that the agent ends: stop the process, and leave the pod as it is."""
        self._leaving = True
        self._wake.set()

    def run(self) -> None:
        """Make steps until there is nothing more to do."""
        while not self._over:
            self._wake.clear()
            try:
                self._step(time.monotonic())
                self._note_problem("")
            except (PodConfigError, SettingsError, OSError) as error:
                self._note_problem(f"{type(error).__name__}: {error}")
            except KubernetesError as error:
                self._note_problem(str(error))
                if error.status == 404 and not self._exists():
                    self._gone = True
            self._wake.wait(STEP_SECONDS)
        preparation.clean_up(self._services, self.key)

    def _step(self, now: float) -> None:
        self._look_at_child(now)
        if self._leaving or self._gone:
            self._abandon(now)
            return
        host = self._find_host(now)
        if host is None:
            self._abandon(now)
        elif dig(self._pod, "metadata", "deletionTimestamp"):
            self._delete(now)
        elif self._child is not None:
            self._care(now)
            self._publish()
        else:
            if not self._life.is_over and now >= self._life.start_at:
                self._start(now, host)
            self._publish()

    # Beginnings

    def _take_up(self, record: Record) -> None:
        """Go on with the process that an earlier agent started for this pod."""
        self._child = Child(record.process)
        self._ip = record.ip
        self._services.addresses.keep(self.key.uid, record.ip)
        now = time.monotonic()
        self._life.begin(
            now, record.started_at, _container_id(record.process), record.restart_count
        )
        self._probing = self._begin_probing(now)
        # What was ready stays so until a probe says otherwise: nothing happened to the process.
        shown = dig(self._status, "containerStatuses", 0)
        self._probing.presume(started=bool(dig(shown, "started")), ready=bool(dig(shown, "ready")))
        self._life.judge(started=self._probing.started, ready=self._probing.ready)
        _log.info("pod %s: process %d taken up again", self.key, record.process.pid)

    def _start(self, now: float, host: Host) -> None:
        try:
            self._launch(now, host)
        except PodConfigError as error:
            self._refuse(now, error.reason, str(error))
        except (NoAddressError, SettingsError, QuantityError) as error:
            self._refuse(now, "CreateContainerError", str(error))

    def _refuse(self, now: float, reason: str, message: str) -> None:
        if self._life.refuse(now, reason, message):
            _log.warning("pod %s: %s: %s", self.key, reason, message)

    def _launch(self, now: float, host: Host) -> None:
        only = pods.container(self._pod)
        probes.decode(only)  # what cannot be probed is refused before it runs
        ports = [dig(port, "containerPort") for port in items(only, "ports")]
        self._ip = self._services.addresses.assign(self.key.uid, ports)
        forwards.publish(self._services.kubernetes, self.key, self._ip, ports)
        self._identity = preparation.identity(self._services, self._pod)
        launch = preparation.launch(self._services, self._pod, self._identity, self._ip, host)
        count, at = self._life.next_restart_count, timestamp()
        logs = Path(self._services.world.folder) / "logs" / "pods"
        command = Command(
            name=f"pod {self.key}",
            arguments=launch.arguments,
            environment=launch.variables,
            log=logs / f"{self.key.namespace}_{self.key.name}_{count}.log",
        )

        def record(process: world.Process) -> None:
            entry = Record(
                process=process, pod=self.key, ip=self._ip, restart_count=count, started_at=at
            )
            records.save(self._services.records, entry)

        self._child = child.start(command, preparation.home(self._services, self.key), record)
        self._blame = ""
        self._life.begin(now, at, _container_id(self._child.process), count)
        self._probing = self._begin_probing(now)
        _log.info("pod %s runs as process %d on %s", self.key, self._child.process.pid, self._ip)

    def _begin_probing(self, now: float) -> Probing:
        subject = Subject(
            name=str(self.key),
            container=pods.container(self._pod),
            ip=self._ip,
            wake=self._wake.set,
        )
        probing = Probing(subject, now)
        self._life.judge(started=probing.started, ready=probing.ready)
        return probing

    # Care for a running process

    def _look_at_child(self, now: float) -> None:
        if self._child is None:
            return
        code = self._child.poll()
        if code is None:
            if self._child.kill_at is not None:
                self._child.stop(now, self._child.kill_at - now)
            return
        self._child = self._probing = None
        records.remove(self._services.records, self.key.uid)
        _log.info("pod %s: process ended with code %d %s", self.key, code, self._blame)
        deleted = dig(self._pod, "metadata", "deletionTimestamp") is not None
        again = not deleted and status.restarts(self._pod, code)
        self._life.end(now, timestamp(), code, self._blame, again=again)

    def _care(self, now: float) -> None:
        if self._identity is None:  # taken up from an earlier agent
            self._identity = preparation.identity(self._services, self._pod)
        self._identity.refresh(self._services.kubernetes)
        if self._probing is None:
            return
        if blame := self._probing.step(now):
            self._stop_child(now, dig(self._pod, "spec", "terminationGracePeriodSeconds"), blame)
        self._life.judge(started=self._probing.started, ready=self._probing.ready)

    def _stop_child(self, now: float, grace_seconds: float | None, why: str) -> None:
        if self._child is None:
            return
        if self._child.kill_at is None:
            self._blame = f"stopped: {why}"
            _log.info("pod %s: stopping its process: %s", self.key, why)
        self._child.stop(now, DEFAULT_GRACE_SECONDS if grace_seconds is None else grace_seconds)

    # Endings

    def _delete(self, now: float) -> None:
        """Source: kubelet: ask, wait for the grace period, force; then remove the object itself."""
        if self._child is not None:
            grace = dig(self._pod, "metadata", "deletionGracePeriodSeconds")
            self._stop_child(now, grace, "the pod is deleted")
            return
        self._life.close(timestamp())
        self._publish()
        self._services.kubernetes.delete(self.key.path, uid=self.key.uid, grace_seconds=0)
        self._over = True
        _log.info("pod %s is gone", self.key)

    def _abandon(self, now: float) -> None:
        """Stop the process of a pod of which nobody wants to hear any more."""
        if self._child is None:
            self._over = True
            return
        grace = LEAVING_GRACE_SECONDS if self._leaving else FORCED_GRACE_SECONDS
        why = (
            "the agent ends"
            if self._leaving
            else "its pod is gone"
            if self._gone
            else "its node is gone"
        )
        self._stop_child(now, grace, why)

    def _find_host(self, now: float) -> Host | None:
        if self._host is None or now - self._host_checked >= NODE_CHECK_SECONDS:
            self._host = preparation.find_host(self._services, self._pod)
            self._host_checked = now
        return self._host

    def _exists(self) -> bool:
        try:
            found = self._services.kubernetes.get(self.key.path)
        except KubernetesError as error:
            return error.status != 404
        return dig(found, "metadata", "uid") == self.key.uid

    # The status

    def _publish(self) -> None:
        host_ip = self._host.ip if self._host else ""
        pod = self._pod | {"status": self._status}
        ip = addresses.shown(self._ip)
        wanted = status.pod_status(pod, self._life.container, ip, host_ip, timestamp())
        if wanted == self._published:
            return
        answer = self._services.kubernetes.patch(f"{self.key.path}/status", {"status": wanted})
        if dig(self._published, "phase") != wanted["phase"]:
            _log.info("pod %s is %s", self.key, wanted["phase"])
        self._status, self._published = dig(answer, "status") or {}, wanted

    def _note_problem(self, problem: str) -> None:
        if problem and problem != self._problem:
            _log.warning("pod %s: %s", self.key, problem)
        self._problem = problem


def _container_id(process: world.Process) -> str:
    return f"process://{process.pid}-{process.started_ticks}"
