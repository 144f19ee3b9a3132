"""Kubernetes Events as a person reads them: what was said of an object, and when last."""

from dataclasses import dataclass
from datetime import datetime
from typing import Final

import msgspec

from daiku.api import wire
from daiku.kube.client import Client

PATH: Final = "/api/v1/namespaces/default/events"
"""Where events on objects without a namespace are."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Said:
    """An event."""

    kind: str
    """Of the object that it is about."""
    name: str
    at: datetime
    """When it was said last."""
    is_warning: bool
    reason: str
    message: str


class _Involved(wire.Wire):
    kind: str = ""
    name: str = ""


class _Series(wire.Wire):
    last_observed_time: datetime | None = None


class _Event(wire.Wire):
    metadata: wire.ObjectMeta
    involved_object: _Involved
    type: str | None = None
    reason: str | None = None
    message: str | None = None
    last_timestamp: datetime | None = None
    event_time: datetime | None = None
    series: _Series | None = None


_events = msgspec.json.Decoder(_Event)


def read(client: Client, selector: str) -> list[Said]:
    """Events on objects without a namespace, the oldest first.

    Args:
        client: The cluster.
        selector: A field selector, such as reason=DisruptionBlocked or involvedObject.name=node-1.

    Raises:
        KubeError: They cannot be read.
    """
    found = [
        _events.decode(bytes(raw))
        for page in client.list(PATH, {"fieldSelector": selector})
        for raw in page.items
    ]
    said = [
        Said(
            kind=each.involved_object.kind,
            name=each.involved_object.name,
            at=at,
            is_warning=each.type == "Warning",
            reason=each.reason or "",
            message=each.message or "",
        )
        for each in found
        if (at := _last(each)) is not None
    ]
    return sorted(said, key=lambda each: (each.at, each.name, each.message))


def _last(event: _Event) -> datetime | None:
    """Source: kubectl's get events: an event that recurs has a series, a new one only its time."""
    series = event.series.last_observed_time if event.series is not None else None
    return series or event.last_timestamp or event.event_time or event.metadata.creation_timestamp
