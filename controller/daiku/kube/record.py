"""Kubernetes Events: what the controller tells the people who look at an object.

The same sentence about the same object is written once per `REPEAT_SECONDS`, whoever plans it again; after that the
Event is counted up instead of written anew. All in all no more than a bucket allows: Events are for people.
"""

import hashlib
import threading
import time
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime
from typing import Final

from daiku import commands
from daiku.api import encode, kinds
from daiku.kube import errors
from daiku.kube.client import Client

COMPONENT: Final = "karpenter"
"""Name under which Events are found by people and dashboards."""
REPEAT_SECONDS: Final = 120.0
REMEMBERED_MAX: Final = 10_000
"""How many sentences are remembered; the oldest are forgotten first."""
PER_SECOND: Final = 10.0
BURST: Final = 100.0


@dataclass(slots=True)
class _Said:
    last: float
    count: int
    first: datetime


@dataclass(slots=True)
class Recorder:
    """Writes Events. Any thread may use it."""

    client: Client
    now: Callable[[], datetime]
    monotonic: Callable[[], float] = time.monotonic
    """Seconds that only ever grow."""
    may_write: Callable[[], bool] = lambda: True
    """Asked before each write but the first, which its caller has asked for."""
    _said: OrderedDict[str, _Said] = field(default_factory=OrderedDict[str, _Said])
    _lock: threading.Lock = field(default_factory=threading.Lock)
    _tokens: float = BURST
    _filled: float = 0.0

    def announce(self, command: commands.Announce) -> bool:
        """Write the Event, unless it was said lately or too much is being said; whether it was written."""
        digest = hashlib.sha256(f"{command}".encode()).hexdigest()[:16]
        with self._lock:
            said = self._remember(digest)
        if said is None:
            return False
        namespace = command.namespace or "default"
        path = f"/api/v1/namespaces/{namespace}/events"
        name = f"{command.name[:220]}.{digest}"
        if said.count > 1:
            try:
                change = {"count": said.count, "lastTimestamp": encode.time(self.now())}
                self.client.patch(f"{path}/{name}", change)
            except errors.NotFound:
                said.count = 1
            else:
                return True
            if not self.may_write():
                return False
        try:
            self.client.create(path, _body(command, name, namespace, encode.time(self.now())))
        except errors.AlreadyExists:
            if not self.may_write():
                return False
            # Said by an earlier run of this process.
            self.client.patch(f"{path}/{name}", {"lastTimestamp": encode.time(self.now())})
        return True

    def _remember(self, digest: str) -> _Said | None:
        clock = self.monotonic()
        said = self._said.get(digest)
        if said is not None and clock - said.last < REPEAT_SECONDS:
            return None
        self._tokens = min(BURST, self._tokens + (clock - self._filled) * PER_SECOND)
        self._filled = clock
        if self._tokens < 1:
            return None
        self._tokens -= 1
        said = said or _Said(clock, 0, self.now())
        said.last, said.count = clock, said.count + 1
        self._said[digest] = said
        self._said.move_to_end(digest)
        if len(self._said) > REMEMBERED_MAX:
            self._said.popitem(last=False)
        return said


def _body(command: commands.Announce, name: str, namespace: str, now: str) -> encode.Json:
    kind = kinds.BY_NAME[command.kind]
    involved = {
        "apiVersion": kind.api_version,
        "kind": command.kind,
        "name": command.name,
        "uid": command.uid,
    }
    return {
        "apiVersion": "v1",
        "kind": "Event",
        "metadata": {"name": name, "namespace": namespace},
        "involvedObject": involved
        | ({"namespace": command.namespace} if command.namespace else {}),
        "type": command.type,
        "reason": command.reason,
        "message": command.message[:1024],
        "source": {"component": COMPONENT},
        "reportingComponent": COMPONENT,
        "firstTimestamp": now,
        "lastTimestamp": now,
        "count": 1,
    }
