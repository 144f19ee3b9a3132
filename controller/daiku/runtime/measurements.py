"""What Nodes show of their machines, told to the cloud: a Node has the memory, its NodeClaim the image.

Watchers bring both, in any order and from different threads; what passes here goes on to the inbox as it came.
"""

import threading
from collections.abc import Callable
from dataclasses import dataclass, field

from daiku import events
from daiku.model import labels, resources
from daiku.model.node import Node
from daiku.model.nodeclaim import NodeClaim


@dataclass(slots=True)
class Measurements:
    """Puts events into the inbox and notes what they show. Any thread may use it."""

    forward: Callable[[events.Event], None]
    note: Callable[[str, str, int], None]
    """Given an instance type, an image and the bytes of memory."""
    named: Callable[[str, str], None]
    """Given a provider id and the name of the Node that joined from there; an empty name: it has left."""
    _images: dict[str, tuple[str, str]] = field(default_factory=dict[str, tuple[str, str]])
    """NodeClaim -> provider id and image."""
    _machines: dict[str, tuple[str, str, int]] = field(
        default_factory=dict[str, tuple[str, str, int]]
    )
    """Node -> provider id, instance type, bytes of memory."""
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def put(self, event: events.Event) -> None:
        """Take an event of a watcher."""
        match event:
            case events.Seen(NodeClaim() as claim):
                self._see_claim(claim)
            case events.Seen(Node() as node):
                self._see_node(node)
            case events.Gone():
                self._lose(event.kind, lambda key: key == event.key)
            case events.Listed():
                self._lose(event.kind, lambda key: key not in event.keys)
            case _:
                pass
        self.forward(event)

    def _see_claim(self, claim: NodeClaim) -> None:
        if not (claim.provider_id and claim.image_id):
            return
        with self._lock:
            self._images[claim.meta.name] = claim.provider_id, claim.image_id
            shown = [m for m in self._machines.values() if m[0] == claim.provider_id]
        for _, instance_type, memory in shown:
            self.note(instance_type, claim.image_id, memory)

    def _see_node(self, node: Node) -> None:
        instance_type = node.meta.labels.get(labels.INSTANCE_TYPE, "")
        memory = node.capacity.get(resources.MEMORY, 0)
        if not (node.provider_id and instance_type and memory):
            return
        with self._lock:
            if self._machines.get(node.meta.name) == (node.provider_id, instance_type, memory):
                return
            self._machines[node.meta.name] = node.provider_id, instance_type, memory
            self.named(node.provider_id, node.meta.name)
            images = [image for at, image in self._images.values() if at == node.provider_id]
        for image in images:
            self.note(instance_type, image, memory)

    def _lose(self, kind: object, is_gone: Callable[[str], bool]) -> None:
        known = self._images if kind is NodeClaim else self._machines if kind is Node else {}
        with self._lock:
            gone = {k: known[k][0] for k in known if is_gone(k)}
            for key in gone:
                del known[key]
        if kind is Node:
            for provider_id in gone.values():
                self.named(provider_id, "")
