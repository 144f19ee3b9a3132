"""Instances are called as their nodes, so that people who look at EC2 know which is which.

A node's name is known when it has joined, long after the launch; the tag is written when the instance is listed next. A
name that the instance has already, because a person or the node class gave it one, stays.

Source: Karpenter's nodeclaim tagging.
"""

import threading
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from typing import Final

TAG: Final = "Name"


@dataclass(slots=True)
class Names:
    """Nodes of instances that are not called so yet. Any thread may use it."""

    _of: dict[str, str] = field(default_factory=dict[str, str])
    """Instance id -> name of its node."""
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def note(self, provider_id: str, node: str) -> None:
        """A node has joined from this instance; an empty name: it has left."""
        instance_id = provider_id.rpartition("/")[2]
        with self._lock:
            self._of.pop(instance_id, None)
            if node:
                self._of[instance_id] = node

    def due(self, listed: Mapping[str, Collection[str]]) -> list[tuple[str, str]]:
        """(instance id, name) of what lacks one; `listed`: the keys of the tags of each instance that there is."""
        with self._lock:
            self._of = {i: node for i, node in self._of.items() if TAG not in listed.get(i, ())}
            return [(i, node) for i, node in self._of.items() if i in listed]

    def forget(self, instance_id: str) -> None:
        """It is called so, or gone."""
        with self._lock:
            self._of.pop(instance_id, None)
