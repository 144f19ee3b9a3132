"""Requirements on any number of labels: one set of values per label key, the rest free.

The idea: a node's labels, a NodePool's requirements, an instance type and a pod's selectors are all the same
thing, so "may this pod run there" is one question: is there a value for every label that suits both?

A key that is not named in a set can be anything at all in `intersects`; in `compatible` it is a label that is
absent, unless the caller says that it will be there (`allow_undefined`).
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Self

from daiku.model.requirement import Requirement

__all__ = ["NO_REQUIREMENTS", "Requirement", "Requirements"]


@dataclass(frozen=True, slots=True)
class Requirements:
    """An immutable set of requirements, at most one per label key, kept in key order."""

    by_key: Mapping[str, Requirement] = field(default_factory=dict[str, Requirement])
    """Never changed after construction; use `of`, which sorts and intersects."""

    @classmethod
    def of(cls, *requirements: Requirement) -> Self:
        """Requirements that hold together; those on one key are intersected."""
        merged: dict[str, Requirement] = {}
        for requirement in requirements:
            known = merged.get(requirement.key)
            merged[requirement.key] = requirement if known is None else known & requirement
        return cls({key: merged[key] for key in sorted(merged)})

    @classmethod
    def from_labels(cls, labels: Mapping[str, str]) -> Self:
        """What a thing with exactly these labels is: one value per label."""
        return cls.of(*(_labelled(key, value) for key, value in labels.items()))

    def __and__(self, other: "Requirements") -> "Requirements":
        if not other.by_key:
            return self
        return (
            Requirements.of(*self.by_key.values(), *other.by_key.values()) if self.by_key else other
        )

    def __iter__(self) -> Iterator[Requirement]:
        """Every requirement, in the order of its key."""
        return iter(self.by_key.values())

    def __len__(self) -> int:
        return len(self.by_key)

    def __contains__(self, key: object) -> bool:
        return key in self.by_key

    def __hash__(self) -> int:
        return hash(tuple(self.by_key.values()))

    def keys(self) -> tuple[str, ...]:
        """The label keys that are named, in order."""
        return tuple(self.by_key)

    def get(self, key: str) -> Requirement:
        """The requirement on `key`; anything when there is none."""
        return self.by_key.get(key) or Requirement.anything(key)

    @property
    def is_empty(self) -> bool:
        """Whether nothing can meet all of them."""
        return any(requirement.is_empty for requirement in self)

    def without(self, *keys: str) -> "Requirements":
        """The same without the requirements on `keys`."""
        return Requirements({k: r for k, r in self.by_key.items() if k not in keys})

    def intersects(self, other: "Requirements") -> tuple[str, ...]:
        """Why no thing can meet both, one sentence per label; empty when one can."""
        problems: list[str] = []
        for key, theirs in other.by_key.items():
            ours = self.by_key.get(key)
            if ours is not None and not ours.intersects(theirs):
                problems.append(f"key {key}, {theirs} not in {ours}")
        return tuple(problems)

    def compatible(
        self, incoming: "Requirements", allow_undefined: frozenset[str] = frozenset()
    ) -> tuple[str, ...]:
        """Why `incoming` cannot be met here, one sentence per label; empty when it can.

        Args:
            incoming: What is asked, such as a pod's node selector.
            allow_undefined: Keys that need not be named here, because whatever is asked of them can still be had.
        """
        undefined = [
            f'label "{key}" does not have known values{self._typo(key, allow_undefined)}'
            for key, theirs in incoming.by_key.items()
            if key not in allow_undefined and key not in self.by_key and not theirs.absent
        ]
        return (*undefined, *self.intersects(incoming))

    def single_values(self) -> dict[str, str]:
        """Labels that can have one value only, with that value."""
        return {
            key: next(iter(requirement.values))
            for key, requirement in self.by_key.items()
            if not requirement.complement and len(requirement.values) == 1
        }

    def to_wire(self) -> list[dict[str, object]]:
        """The items of `spec.requirements`: key, operator, values, minValues."""
        return [item for requirement in self for item in requirement.to_wire()]

    def __str__(self) -> str:
        """Every requirement, joined by commas."""
        return ", ".join(str(requirement) for requirement in self)

    def _typo(self, key: str, known: frozenset[str]) -> str:
        """A hint at a known key that contains `key`, is contained in it, or ends alike after the slash."""
        ending = key.rpartition("/")[2]
        for candidate in sorted((*known, *self.by_key)):
            if key in candidate or candidate in key or candidate.rpartition("/")[2] == ending:
                return f' (typo of "{candidate}"?)'
        return ""


@lru_cache(maxsize=2**16)
def _labelled(key: str, value: str) -> Requirement:
    """What one label is. Thousands of nodes have the same ones, so that they share the value."""
    return Requirement.parse(key, "In", (value,))


NO_REQUIREMENTS = Requirements()
"""Anything will do."""
