"""Memory as nodes report it, which is a little less than EC2 says: remembered by instance type and image.

The flat estimate (VM_MEMORY_OVERHEAD_PERCENT) is for types that no node has shown yet. The lowest amount counts, so
that pods planned onto the next machine of the type fit there; another image measures anew.

Source: Karpenter's discovered capacity cache.
"""

import threading
from dataclasses import dataclass, field


@dataclass(slots=True)
class Measured:
    """What nodes of this cluster have shown. Any thread may use it."""

    _least: dict[tuple[str, str], int] = field(default_factory=dict[tuple[str, str], int])
    """(instance type, image) -> bytes."""
    _version: int = 0
    _lock: threading.Lock = field(default_factory=threading.Lock)

    @property
    def version(self) -> int:
        """Changes when something new was learned."""
        return self._version

    def note(self, instance_type: str, image: str, memory_bytes: int) -> None:
        """A node of this type, booted from this image, has so much memory."""
        key = instance_type, image
        with self._lock:
            known = self._least.get(key)
            if known is None or memory_bytes < known:
                self._least[key] = memory_bytes
                self._version += 1

    def memory(self, instance_type: str, image: str) -> int | None:
        """Bytes that a machine has; None: no node has shown it yet."""
        return self._least.get((instance_type, image))
