"""A namespace: what affinity between pods can select by its labels."""

from dataclasses import dataclass

from daiku.model.meta import Meta


@dataclass(frozen=True, slots=True, kw_only=True)
class Namespace:
    """A namespace, of which only the labels matter."""

    meta: Meta
