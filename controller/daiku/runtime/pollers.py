"""What nobody tells us and has to be asked for: what can be bought, and which instances there are."""

import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Final

from daiku import events
from daiku.api import decode
from daiku.cloud import errors
from daiku.cloud.provider import CloudProvider
from daiku.kube import errors as kube_errors
from daiku.kube.backoff import Backoff
from daiku.runtime import clock
from daiku.runtime.carrier import NodeClassIndex
from daiku.runtime.inbox import Inbox
from daiku.telemetry import log, metrics

CATALOGUE_SECONDS: Final = 60.0
"""How often the catalogue is looked at anew; a change of a node class or a sold-out pool does not wait for that."""
INSTANCES_SECONDS: Final = 30.0
FAILED_SECONDS_MAX: Final = 60.0

_log = log.get("pollers")


@dataclass(slots=True)
class Poller:
    """Does something again and again, sooner when woken. `run` in a thread of its own."""

    name: str
    every_seconds: float
    work: Callable[[], None]
    stop: threading.Event
    _woken: threading.Event = field(default_factory=threading.Event)

    def wake(self) -> None:
        """Do it soon."""
        self._woken.set()

    def run(self) -> None:
        """Work until the process stops; a failure of the cloud or the API server only means trying again."""
        backoff = Backoff(FAILED_SECONDS_MAX)
        while not self.stop.is_set():
            self._woken.clear()
            self._woken.wait(self.step(backoff))

    def step(self, backoff: Backoff) -> float:
        """Work once; seconds until the next time."""
        try:
            self.work()
        except (errors.CloudError, kube_errors.KubeError, decode.Unreadable) as error:
            wait = min(self.every_seconds, backoff.wait_seconds() * 5)
            _log.warning(
                "poll failed", poller=self.name, error=str(error), wait_seconds=round(wait, 1)
            )
            return wait
        backoff.reset()
        return self.every_seconds


@dataclass(slots=True)
class CatalogueRefresh:
    """Asks the cloud what can be bought, and tells the owner when that changed."""

    cloud: CloudProvider
    node_classes: NodeClassIndex
    inbox: Inbox
    _version: int = 0
    _last: object = None

    def __call__(self) -> None:
        """Refresh once."""
        known = self.node_classes.by_ref
        classes = [known[ref] for ref in sorted(known, key=lambda r: (r.kind, r.name))]
        began = clock.monotonic()
        catalogue = self.cloud.catalogue(classes, self._version + 1)
        metrics.CATALOGUE_SECONDS.set(clock.monotonic() - began)
        # Providers give the very same types when nothing changed, so identity is enough and cheap.
        now = {ref: id(types) for ref, types in catalogue.instance_types.items()}
        if now != self._last:
            self._last, self._version = now, catalogue.version
            sizes = {ref.name: len(types) for ref, types in catalogue.instance_types.items()}
            _log.info("catalogue", version=catalogue.version, instance_types=sizes)
            self._held = catalogue
            self.inbox.put(events.CatalogueRefreshed(catalogue))

    _held: object = None
    """Keeps the types alive whose identity is remembered."""


@dataclass(slots=True)
class InstanceList:
    """Asks the cloud which instances there are."""

    cloud: CloudProvider
    inbox: Inbox
    known: frozenset[str] = frozenset()
    """Instance ids of the last list; others may read it."""

    def __call__(self) -> None:
        """List once."""
        asked = clock.now()
        found = tuple(self.cloud.list_instances())
        self.known = frozenset(each.provider_id.rpartition("/")[2] for each in found)
        self.inbox.put(events.InstancesListed(found, asked))
