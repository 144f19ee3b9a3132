"""A namespace: what affinity between pods can select by its labels, and what it asks for all of its pods."""

from dataclasses import dataclass

from daiku.model import labels
from daiku.model.meta import Meta


@dataclass(frozen=True, slots=True, kw_only=True)
class Namespace:
    """A namespace."""

    meta: Meta

    @property
    def surges(self) -> bool:
        """Whether it asks for a surge of all its pods."""
        return self.meta.annotations.get(labels.SURGE) == "true"
