"""Which local pods there are: one watch, and one runner with a thread for each pod.

After a restart the first list says what the recorded processes are: the process of a pod that still
exists is taken up again, every other one is stopped.
"""

import logging
import threading
import time
from collections.abc import Callable
from pathlib import Path

from daiku_local import processes
from daiku_local.agent import addresses, pods, records
from daiku_local.agent.kubernetes_api import KubernetesError
from daiku_local.agent.objects import Json, dig, items
from daiku_local.agent.preparation import Services
from daiku_local.agent.process_pod import FORCED_GRACE_SECONDS, PodRunner
from daiku_local.agent.records import Record

PODS = "/api/v1/pods"
BOUND = {"fieldSelector": "spec.nodeName!="}
"""Only pods that have a node: nobody starts others."""
RETRY_SECONDS = 1.0
"""Between two attempts to reach the API server."""
LEAVE_SECONDS = 7.0
"""How long all pods together may take to end with the agent; `daiku local down` waits 8 s."""

StartThread = Callable[[str, Callable[[], None]], threading.Thread]
"""Starts a supervised thread, given its name and what it runs."""

_log = logging.getLogger(__name__)


class Workloads:
    """All local pods of one world."""

    listed: threading.Event
    """Set once every pod that exists is known."""

    def __init__(self, services: Services, start_thread: StartThread) -> None:
        self.listed = threading.Event()
        self._services = services
        self._start_thread = start_thread
        # By pod uid. One stays until the pod's object is gone, also when nothing is left to run.
        self._runners: dict[str, PodRunner] = {}
        self._threads: list[threading.Thread] = []
        self._leaving = False
        self._problem = ""

    def run(self) -> None:
        """Follow the pods until the agent leaves."""
        recorded = {record.pod.uid: record for record in records.read_all(self._services.records)}
        version: str | None = None
        while not self._leaving:
            try:
                if version is None:
                    version = self._list(recorded)
                    recorded = {}
                    self.listed.set()
                version = self._watch(version)
                self._note_problem("")
            except KubernetesError as error:
                # 410: the changes since then are no longer known. Others: to list again is safe.
                version = None
                if error.status != 410:
                    self._note_problem(str(error))
                    threading.Event().wait(RETRY_SECONDS)

    def leave(self) -> None:
        """Stop every process; pods stay as they are. Returns when all have ended, or time is over."""
        self._leaving = True
        runners = list(self._runners.values())
        for runner in runners:
            runner.leave()
        deadline = time.monotonic() + LEAVE_SECONDS
        for thread in list(self._threads):
            thread.join(max(0.0, deadline - time.monotonic()))

    def _list(self, recorded: dict[str, Record]) -> str:
        answer = self._services.kubernetes.get(PODS, BOUND)
        found = {pods.key(pod).uid: pod for pod in items(answer, "items") if pods.is_local(pod)}
        self._stop_orphans([each for uid, each in recorded.items() if uid not in found])
        if not self.listed.is_set():
            records.sweep(self._services.records, found.keys())
        for uid, pod in found.items():
            self._see(pod, recorded.get(uid))
        for uid in self._runners.keys() - found.keys():
            self._runners.pop(uid).forget()
        return dig(answer, "metadata", "resourceVersion")

    def _watch(self, version: str) -> str:
        for event in self._services.kubernetes.watch(PODS, BOUND, version):
            pod: Json = event["object"]
            version = dig(pod, "metadata", "resourceVersion")
            if event["type"] == "DELETED":
                if runner := self._runners.pop(dig(pod, "metadata", "uid"), None):
                    runner.forget()
            elif event["type"] != "BOOKMARK" and pods.is_local(pod):
                self._see(pod)
        return version

    def _see(self, pod: Json, record: Record | None = None) -> None:
        uid = pods.key(pod).uid
        if uid in self._runners:
            self._runners[uid].update(pod)
            return
        if record is not None and not processes.is_alive(record.process):
            records.remove(self._services.records, uid)
            record = None
        runner = PodRunner(pod, self._services, record)
        self._runners[uid] = runner
        self._threads = [thread for thread in self._threads if thread.is_alive()]
        self._threads.append(self._start_thread(f"pod {runner.key}", runner.run))
        if self._leaving:
            runner.leave()

    def _stop_orphans(self, orphans: list[Record]) -> None:
        """Stop what an earlier agent ran for pods that are gone."""
        stopped = processes.stop_together(
            [record.process for record in orphans], FORCED_GRACE_SECONDS
        )
        for process in stopped:
            _log.info("%s: process %d stopped, its pod is gone", process.name, process.pid)

    def _note_problem(self, problem: str) -> None:
        if problem and problem != self._problem:
            _log.warning("pods cannot be watched: %s", problem)
        elif self._problem and not problem:
            _log.info("pods are watched again")
        self._problem = problem


def preferred_octet(world_folder: Path) -> int | None:
    """Second octet of the addresses that an earlier agent of this world gave out."""
    known = records.read_all(records.folder(world_folder))
    return addresses.octet_of(known[0].ip) if known else None
