"""Results that are remembered for as long as somebody may ask again about the very same value.

Values of the core are immutable, so what follows from one never changes; but those that hold mappings cannot be keys.
Here the key is which object it is, and the object is kept so that no other can take its place.
"""

from collections.abc import Callable
from typing import TypeVar

A = TypeVar("A")
R = TypeVar("R")


def by_identity(entries_max: int) -> Callable[[Callable[[A], R]], Callable[[A], R]]:
    """Remember the results of a function of one immutable value for the last `entries_max` values."""

    def decorate(compute: Callable[[A], R]) -> Callable[[A], R]:
        known: dict[int, tuple[A, R]] = {}

        def remembered(value: A) -> R:
            found = known.get(id(value))
            if found is not None and found[0] is value:
                return found[1]
            result = compute(value)
            if len(known) >= entries_max:
                known.clear()
            known[id(value)] = (value, result)
            return result

        return remembered

    return decorate
