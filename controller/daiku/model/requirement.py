"""A set of values that one label may have, as the operators of a requirement describe it.

The idea: eight operators, one form. A requirement is either a finite set of values, or everything
except a finite set (its complement), perhaps within integer bounds; beside it stands whether the label may
be absent. Intersection stays in that form, so the algebra has laws (tests/properties) and no special cases.

That absence is kept apart is what makes it exact: "In [a]" and "In [b]" together are impossible, which is not the
same as DoesNotExist; "NotIn [a]" and "Exists" together are not met by a node without the label.

Source: Kubernetes node affinity operators; Gte, Lte and minValues are additions of karpenter.sh/v1.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, Self

from daiku.model import labels

Operator = Literal["In", "NotIn", "Exists", "DoesNotExist"]
"""What a requirement is once its bounds are put aside."""

_INTEGER = re.compile(r"[+-]?[0-9]{1,19}", re.ASCII)
_LARGEST = 2**63 - 1
_BOUNDS = ("Gt", "Gte", "Lt", "Lte")


@dataclass(frozen=True, slots=True)
class Requirement:
    """The values that a label may have."""

    key: str
    """Label key, in its present-day spelling."""
    complement: bool
    """True: every value except `values`. False: exactly `values`."""
    values: frozenset[str] = frozenset()
    gte: int | None = None
    """Least integer allowed; only on a complement."""
    lte: int | None = None
    """Greatest integer allowed; only on a complement."""
    min_values: int | None = None
    """How many distinct values the instance types of a launch must keep, 1 to 50; None: one will do."""
    absent: bool = False
    """Whether a node without the label meets it."""

    @classmethod
    def parse(
        cls, key: str, operator: str, values: Sequence[str] = (), min_values: int | None = None
    ) -> Self:
        """Make a requirement from what is on the wire.

        Raises:
            ValueError: The operator is unknown, or its values are not what it needs.
        """
        key = labels.ALIASES.get(key, key)
        if operator in _BOUNDS:
            gte, lte = _bounds(key, operator, values)
            if gte is not None and gte > _LARGEST:
                return cls(key, complement=False, min_values=min_values)
            return cls(key, complement=True, gte=gte, lte=lte, min_values=min_values)
        if operator == "In" and not values:
            raise ValueError(f"requirement on {key!r}: operator In needs at least one value")
        if operator not in {"In", "NotIn", "Exists", "DoesNotExist"}:
            raise ValueError(
                f"requirement on {key!r} has operator {operator!r}: "
                "use In, NotIn, Exists, DoesNotExist, Gt, Lt, Gte or Lte"
            )
        return cls(
            key,
            complement=operator in {"NotIn", "Exists"},
            values=frozenset(values) if operator in {"In", "NotIn"} else frozenset(),
            min_values=min_values,
            absent=operator in {"NotIn", "DoesNotExist"},
        )

    @classmethod
    def anything(cls, key: str) -> Self:
        """What asks nothing: every value, and absence too. The identity of intersection."""
        return cls(labels.ALIASES.get(key, key), complement=True, absent=True)

    @property
    def operator(self) -> Operator:
        """The operator that says the same; a range without exclusions is Exists."""
        if self.complement:
            return "NotIn" if self.values else "Exists"
        return "In" if self.values else "DoesNotExist"

    @property
    def is_empty(self) -> bool:
        """Whether nothing meets it: no value, and no absence."""
        return not self.complement and not self.values and not self.absent

    def has(self, value: str) -> bool:
        """Whether the label may have `value`."""
        if (value in self.values) is self.complement:
            return False
        return _within(value, self.gte, self.lte)

    def sorted_values(self) -> tuple[str, ...]:
        """The values that are named, in order: those allowed, or on a complement those excluded."""
        return tuple(sorted(self.values))

    def intersects(self, other: "Requirement") -> bool:
        """Whether some value, or absence, meets both."""
        if self.absent and other.absent:
            return True
        if self.complement and other.complement:
            gte, lte = _greatest(self.gte, other.gte), _least(self.lte, other.lte)
            return gte is None or lte is None or gte <= lte
        finite, rest = (other, self) if self.complement else (self, other)
        return any(rest.has(value) for value in finite.values)

    def __and__(self, other: "Requirement") -> "Requirement":
        if self.key != other.key:
            raise ValueError(
                f"requirements on {self.key!r} and {other.key!r} do not intersect: two labels"
            )
        absent = self.absent and other.absent
        min_values = _greatest(self.min_values, other.min_values)
        if self.complement and other.complement:
            gte, lte = _greatest(self.gte, other.gte), _least(self.lte, other.lte)
            if gte is not None and lte is not None and gte > lte:
                return Requirement(self.key, complement=False, min_values=min_values, absent=absent)
            values = frozenset(v for v in self.values | other.values if _within(v, gte, lte))
        else:
            gte = lte = None
            finite, rest = (other, self) if self.complement else (self, other)
            values = frozenset(value for value in finite.values if rest.has(value))
        return Requirement(
            self.key,
            complement=self.complement and other.complement,
            values=values,
            gte=gte,
            lte=lte,
            min_values=min_values,
            absent=absent,
        )

    def to_wire(self) -> list[dict[str, object]]:
        """The requirement as items of `spec.requirements`, which together say exactly the same.

        Most need one item. A range with exclusions needs up to three (Gte, Lte, NotIn); a strict bound comes
        back as an inclusive one; what nothing meets is Exists and DoesNotExist at once.
        """
        items: list[tuple[str, tuple[str, ...]]] = []
        if self.gte is not None:
            items.append(("Gte", (str(self.gte),)))
        if self.lte is not None:
            items.append(("Lte", (str(self.lte),)))
        if self.complement and not self.absent and not items:
            items.append(("Exists", ()))
        if self.values:
            items.append(("NotIn" if self.complement else "In", self.sorted_values()))
        if not self.complement and not self.values:
            items += [] if self.absent else [("Exists", ())]
            items.append(("DoesNotExist", ()))
        return [self._item(operator, values) for operator, values in items]

    def _item(self, operator: str, values: tuple[str, ...]) -> dict[str, object]:
        item: dict[str, object] = {"key": self.key, "operator": operator}
        if values:
            item["values"] = list(values)
        if self.min_values is not None:
            item["minValues"] = self.min_values
        return item

    def __str__(self) -> str:
        """Such as `karpenter.k8s.aws/instance-cpu Exists >=4 <=16`; at most five values are named."""
        named = self.sorted_values()
        words = [self.key, self.operator]
        if named:
            more = f" and {len(named) - 5} others" if len(named) > 5 else ""
            words.append(f"[{' '.join(named[:5])}{more}]")
        words += [f">={self.gte}"] if self.gte is not None else []
        words += [f"<={self.lte}"] if self.lte is not None else []
        words += [f"minValues {self.min_values}"] if self.min_values is not None else []
        return " ".join(words)


def _bounds(key: str, operator: str, values: Sequence[str]) -> tuple[int | None, int | None]:
    if len(values) != 1 or _INTEGER.fullmatch(values[0]) is None:
        raise ValueError(
            f"requirement on {key!r}: operator {operator} has values {list(values)!r}; it needs exactly one integer"
        )
    bound = int(values[0])
    if operator in {"Gt", "Gte"}:
        return bound + (operator == "Gt"), None
    return None, bound - (operator == "Lt")


def _within(value: str, gte: int | None, lte: int | None) -> bool:
    """Whether `value` lies within the bounds; what is no integer lies outside every bound."""
    if gte is None and lte is None:
        return True
    if _INTEGER.fullmatch(value) is None:
        return False
    number = int(value)
    return (gte is None or number >= gte) and (lte is None or number <= lte)


def _greatest(a: int | None, b: int | None) -> int | None:
    return b if a is None else a if b is None else max(a, b)


def _least(a: int | None, b: int | None) -> int | None:
    return b if a is None else a if b is None else min(a, b)
