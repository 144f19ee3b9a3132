"""A namespace: what affinity between pods can select by its labels, and what it asks for all of its pods."""

from dataclasses import dataclass

from daiku.model.meta import Meta


@dataclass(frozen=True, slots=True, kw_only=True)
class Namespace:
    """A namespace."""

    meta: Meta

    def asks(self, key: str) -> bool:
        """Whether its annotation `key`, one of `labels.ON_MANY`, asks for something for all its pods."""
        return self.meta.annotations.get(key) == "true"
