"""Pod events at a rate, as a cluster makes them: status updates, pods replaced on their nodes, pods that wait.

Of so many events a second more than half are status updates, of which one in two flips a pod's readiness. The rest come
of pods that are deleted, made again, bound and run. Every `PROBE_SECONDS` five pods wait for which there is room, and
one that needs a node of its own: how long it takes until its NodeClaim is asked for is what the report says. What comes
with pods comes too and is not counted: ReplicaSets change their counts, Nodes send heartbeats.
"""

import heapq
import itertools
import json
import random
import threading
import time
from collections.abc import Callable
from typing import Any, Final, Protocol

from tests.performance import recorded, recorded_pods
from tests.performance.recorded_parts import Json, encoded, stamp, uid_of
from tests.performance.recorded_pods import PodSource

PODS: Final = "/api/v1/pods"
NODES: Final = "/api/v1/nodes"
CLAIMS: Final = "/apis/karpenter.sh/v1/nodeclaims"
REPLICA_SETS: Final = "/apis/apps/v1/replicasets"
REPLACED_SHARE: Final = 1 / 8
"""Of what begins anew, how much is a pod that is replaced, which makes five events, and not a status update."""
PROBE_SECONDS: Final = 3.0
SMALL_EACH: Final = 5
HEARTBEAT_SECONDS: Final = 300.0
"""How often a kubelet writes its Node's status when nothing changes."""
STEP_SECONDS: Final = 0.01


class Store(Protocol):
    """Where the objects are."""

    recording: recorded.Recording
    lock: threading.RLock

    def put(self, path: str, key: str, make: Callable[[int], bytes]) -> None:
        """An object comes or changes."""
        ...

    def remove(self, path: str, key: str) -> None:
        """An object goes."""
        ...

    def collection(self, path: str) -> Any:
        """Objects of a kind."""
        ...


class PodStream:
    """Makes events in a thread of its own."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._running = store.recording.running
        self._nodes = list(store.recording.objects[NODES])
        self._choose = random.Random(7)
        self._probe, self._small = recorded_pods.probe_source(), recorded_pods.small_source()
        self._numbers = itertools.count()
        self._due: list[tuple[float, int, Callable[[], None]]] = []
        self._busy: dict[str, None] = {}
        """Pods that are being replaced."""
        self._unready: dict[str, None] = {}
        self.emitted = 0
        self._asked: dict[str, float] = {}
        """Probe -> when its event was sent."""
        self._answered: dict[str, float] = {}
        """Probe -> when its NodeClaim was asked for."""
        self._seconds = 0.0
        self._late = 0.0

    def begin(self, *, rate: float, seconds: float) -> None:
        """Make so many events a second for so long; at rate 0 only Nodes send heartbeats."""
        self._asked, self._answered, self.emitted, self._late = {}, {}, 0, 0.0
        threading.Thread(target=self._run, args=(rate, seconds), daemon=True).start()

    def report(self) -> Json:
        """How far the controller is behind, in seconds, probe by probe; and how far this stream is behind its rate."""
        delays = [
            round(self._answered[name] - at, 3) if name in self._answered else None
            for name, at in self._asked.items()
        ]
        return {
            "events": self.emitted,
            "seconds": round(self._seconds, 1),
            "late_seconds": round(self._late, 2),
            "delays": delays,
        }

    def written(self, path: str, verb: str, found: Json) -> None:
        """A client wrote an object."""
        if path == CLAIMS and verb == "create":
            now = time.monotonic()
            for requirement in found["spec"]["requirements"]:
                if requirement["key"] == recorded_pods.PROBE:
                    for name in requirement.get("values", ()):
                        self._answered.setdefault(name, now)
        if path == NODES and verb == "patch":
            name = found["metadata"]["labels"].get(recorded_pods.PROBE, "")
            taints = found["spec"].get("taints") or ()
            if name in self._asked and not any(
                t["key"].startswith("karpenter.sh/") for t in taints
            ):
                node = found["metadata"]["name"]
                self._later(0.1, lambda: self._show(self._probe, name, node, "running"))

    def _run(self, rate: float, seconds: float) -> None:
        began = time.monotonic()
        probe_at, beat_at = began + 1.0, began
        while (now := time.monotonic()) < began + seconds:
            while self._due and self._due[0][0] <= now:
                heapq.heappop(self._due)[2]()
            while rate and now >= probe_at:
                self._wait_for_nodes()
                probe_at += PROBE_SECONDS
            while now >= beat_at:
                self._beat()
                beat_at += HEARTBEAT_SECONDS / len(self._nodes)
            while self.emitted < rate * (now - began):
                self._one()
            self._late = max(self._late, time.monotonic() - now - STEP_SECONDS)
            self._seconds = now - began
            time.sleep(STEP_SECONDS)
        while self._due:
            # What was begun comes to its end, in the course of a few seconds.
            time.sleep(max(self._due[0][0] - time.monotonic(), 0.0))
            heapq.heappop(self._due)[2]()

    def _one(self) -> None:
        """A pod's status changes, or it begins to be replaced."""
        index = self._choose.randrange(len(self._running))
        app, name, node = self._running[index]
        source = self._store.recording.apps[app]
        if name in self._busy:
            return
        if self._choose.random() < REPLACED_SHARE:
            self._busy[name] = None
            self._show(source, name, node, "deleting")
            self._later(1.0, lambda: self._replace(index))
        elif name in self._unready:
            del self._unready[name]
            self._show(source, name, node, "running")
        else:
            if self._choose.random() < 0.5:
                self._unready[name] = None
            self._show(source, name, node, "unready" if name in self._unready else "running")

    def _replace(self, index: int) -> None:
        """A pod has ended; another one comes in its place."""
        app, old, node = self._running[index]
        source = self._store.recording.apps[app]
        self._remove(source, old)
        self._busy.pop(old, None)
        self._unready.pop(old, None)
        name = f"{source.name}-n{next(self._numbers):05x}"
        self._running[index] = app, name, node
        self._busy[name] = None
        self._show(source, name, "", "new")
        self._count(source, -1)
        self._later(0.05, lambda: self._show(source, name, node, "bound"))

        def runs() -> None:
            self._show(source, name, node, "running")
            self._count(source, 1)
            self._busy.pop(name, None)

        self._later(1.0, runs)

    def _wait_for_nodes(self) -> None:
        """Pods that fit somewhere, and one that fits nowhere."""
        for _ in range(SMALL_EACH):
            small, node = (
                f"small-{next(self._numbers):05x}",
                self._choose.randrange(len(self._nodes)),
            )
            self._show(self._small, small, "", "unschedulable")
            self._later(2.0, lambda n=small, on=node: self._show(self._small, n, on, "running"))
            self._later(12.0, lambda n=small: self._remove(self._small, n))
        probe = f"probe-{next(self._numbers):05x}"
        self._show(self._probe, probe, "", "new")
        self._show(self._probe, probe, "", "unschedulable")
        self._asked[probe] = time.monotonic()

    def _beat(self) -> None:
        """A Node says that it is alive."""
        name = self._nodes[next(self._numbers) % len(self._nodes)]
        with self._store.lock:
            content = self._store.collection(NODES).objects.get(name)
            if content is None:
                return
            found = json.loads(content)
            for condition in found["status"]["conditions"]:
                condition["lastHeartbeatTime"] = stamp()
            self._store.put(NODES, name, lambda version: _in_version(found, version))

    def _count(self, source: PodSource, _change: int) -> None:
        """A ReplicaSet counts its pods; what it counts is not read by anybody here."""
        key = f"{source.namespace}/{source.name}"
        with self._store.lock:
            found = json.loads(self._store.collection(REPLICA_SETS).objects[key])
            found["status"]["readyReplicas"] += _change
            self._store.put(REPLICA_SETS, key, lambda version: _in_version(found, version))

    def _show(self, source: PodSource, name: str, node: int | str, status: str) -> None:
        uid = uid_of(name)
        self._store.put(
            PODS,
            f"{source.namespace}/{name}",
            lambda version: source.pod(name, uid, version, node, status),
        )
        self.emitted += 1

    def _remove(self, source: PodSource, name: str) -> None:
        self._store.remove(PODS, f"{source.namespace}/{name}")
        self.emitted += 1

    def _later(self, seconds: float, work: Callable[[], None]) -> None:
        heapq.heappush(self._due, (time.monotonic() + seconds, next(self._numbers), work))


def _in_version(found: Json, version: int) -> bytes:
    found["metadata"]["resourceVersion"] = str(version)
    return encoded(found)
