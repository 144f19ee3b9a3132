"""One kind of object, kept in step: list it, watch it, and list again only when the server has forgotten where we were.

Every path (first start, a watch that ends, a broken connection, 410 Gone, bookmarks) ends in the same three events:
Seen, Gone, and Listed, which says that everything not named in it is gone. So the state never knows how it heard.
One more, Outdated, comes where the server has forgotten: nothing is to be decided on what is known until it is Listed.
An object that cannot be read is left out, counted and logged once per version; the last readable state of it stays.
"""

import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Final

from daiku import events
from daiku.api import decode
from daiku.api.kinds import Kind
from daiku.events import Object
from daiku.kube import errors, installed
from daiku.kube.backoff import Backoff
from daiku.kube.client import Client
from daiku.telemetry import log, metrics

LONGEST_SECONDS: Final = 10.0
"""Longest wait between two tries: CRDs may come after the controller, and should be noticed soon."""

_log = log.get("watch")


@dataclass(slots=True)
class Watcher:
    """Follows one kind for as long as the process lives. Run `run` in a thread of its own."""

    client: Client
    kind: Kind
    put: Callable[[events.Event], None]
    """Where events go; may block."""
    stop: threading.Event
    """Set when the process ends."""
    listed: threading.Event = field(default_factory=threading.Event)
    """Set once the first whole list has been put."""
    _version: str = ""
    _versions_seen: dict[str, str] = field(default_factory=dict[str, str])
    """Object key -> resource version last put, so that a new list only puts what changed."""
    _problem: str = ""
    """What was last complained about; empty once it works again."""
    _complained: dict[str, str] = field(default_factory=dict[str, str])

    @property
    def problem(self) -> str:
        """What keeps it from following its kind now; empty when nothing does."""
        return self._problem

    @property
    def _query(self) -> dict[str, str]:
        """Which objects of the kind are meant."""
        return {"labelSelector": self.kind.selector} if self.kind.selector else {}

    def run(self) -> None:
        """List and watch until `stop` is set."""
        backoff = Backoff(LONGEST_SECONDS)
        while not self.stop.is_set():
            self.stop.wait(self.step(backoff))

    def step(self, backoff: Backoff) -> float:
        """List if that is needed and watch until the watch ends; seconds until the next try."""
        try:
            if not self._version:
                self._list()
            self._watch(backoff)
        except errors.Expired:
            metrics.WATCH_RELISTS.labels(self.kind.name).inc()
            self._version = ""
            self.put(events.Outdated(self.kind.model))
        except (errors.KubeError, decode.Unreadable) as error:
            metrics.WATCH_FAILURES.labels(self.kind.name).inc()
            wait: float = getattr(error, "retry_after_seconds", None) or backoff.wait_seconds()
            self._complain_once(error, wait)
            if isinstance(error, errors.NotFound | errors.Denied):
                # The kind or the permission may come later (CRDs after the Deployment): ask from the start.
                self._version = ""
            return wait
        return 0.0

    def _complain_once(self, error: Exception, wait_seconds: float) -> None:
        """Say what is wrong when it begins, not at every try."""
        text = str(error)
        if isinstance(error, errors.NotFound) and "." in self.kind.api_version:
            text = f"{self.kind.name} of {self.kind.api_version} is not known to the API server; install the CRDs"
        if text != self._problem:
            self._problem = text
            _log.warning(
                "watch failed", kind=self.kind.name, error=text, wait_seconds=round(wait_seconds, 1)
            )

    def _list(self) -> None:
        if not self.listed.is_set():
            installed.check(self.client, self.kind)
        found: dict[str, str] = {}
        version = ""
        for page in self.client.list(self.kind.path, self._query):
            version = page.resource_version or version
            for raw in page.items:
                self._put_listed(bytes(raw), found)
        self._versions_seen = found
        self._version = version
        self.put(events.Listed(self.kind.model, frozenset(found)))
        self.listed.set()

    def _put_listed(self, content: bytes, found: dict[str, str]) -> None:
        known = decode.metadata(content)
        key = f"{known.namespace}/{known.name}" if known.namespace else known.name
        version = known.resource_version or ""
        found[key] = version
        if self._versions_seen.get(key) != version:
            seen = self._read(content)
            if seen is not None:
                self.put(events.Seen(seen))

    def _watch(self, backoff: Backoff) -> None:
        for content in self.client.watch(self.kind.path, self._version, self._query):
            if self.stop.is_set():
                return
            backoff.reset()
            self._problem = ""
            line = decode.line(content)
            if line.type == "ERROR":
                reason = decode.status(bytes(line.object))
                raise errors.refusal(
                    f"watch of {self.kind.path}", reason.code or 500, bytes(line.object), None
                )
            self._follow(line)

    def _follow(self, line: decode.Line) -> None:
        content = bytes(line.object)
        seen = self._read(content) if line.type in {"ADDED", "MODIFIED"} else None
        # What was read has its name and version; reading them apart takes as long again.
        known = seen.meta if seen is not None else decode.metadata(content)
        version = known.resource_version or ""
        key = f"{known.namespace}/{known.name}" if known.namespace else known.name
        if line.type == "DELETED":
            self._versions_seen.pop(key, None)
            self._complained.pop(key, None)
            self.put(events.Gone(self.kind.model, key))
        elif line.type != "BOOKMARK":
            self._versions_seen[key] = version
        if seen is not None:
            self.put(events.Seen(seen))
        self._version = version or self._version

    def _read(self, content: bytes) -> Object | None:
        """An object; None when it cannot be read, which is said once."""
        try:
            return decode.guarded(self.kind.decode, content)
        except decode.Unreadable as error:
            known = decode.metadata(content)
            key = f"{known.namespace}/{known.name}" if known.namespace else known.name
            version = known.resource_version or ""
            metrics.UNREADABLE_OBJECTS.labels(self.kind.name).inc()
            if self._complained.get(key) != str(error):
                self._complained[key] = str(error)
                _log.warning(
                    "object left out",
                    kind=self.kind.name,
                    object=key,
                    version=version,
                    error=str(error),
                )
            return None
