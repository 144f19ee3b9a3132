"""Which labels keep pods from a NodePool, in words: what is asked, what there is, and what was perhaps meant.

The alternative with the fewest labels in the way is told, since it is the nearest miss.
"""

from collections.abc import Container, Iterable, Iterator, Mapping
from dataclasses import dataclass
from difflib import SequenceMatcher
from itertools import islice
from typing import Final

from daiku.model import labels
from daiku.model.requirements import Requirement, Requirements
from daiku.scheduling.catalogue import Types

_ALIKE: Final = 0.8
"""More than this two words must be alike for one to be a slip of the other; 1 for equal ones."""
_NO_SLIPS: Final[Mapping[str, tuple[str, ...]]] = {
    labels.ARCH: ("amd64", "arm64"),
    labels.OS: ("linux", "windows"),
    labels.CAPACITY_TYPE: (labels.ON_DEMAND, labels.SPOT, labels.RESERVED),
}
"""Values that are alike and yet each meant."""
_TOLD_MOST: Final = 20
"""Labels in the way that are looked at: a pod may ask for thousands, and nobody reads them."""
_SHOWN: Final = 5
"""Values that are told before the others are only counted."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Miss:
    """What keeps pods from a NodePool by its labels."""

    asked: str
    offered: str
    count: int
    """Labels in the way."""


def nearest(
    alternatives: Iterable[Requirements], template: Requirements, types: Types
) -> Miss | None:
    """The alternative that comes nearest, and why it does not do; None when there is no alternative at all.

    Args:
        alternatives: What pods ask; any one would do.
        template: What is certain about the labels of the NodePool's nodes.
        types: What its node class offers.
    """
    best: Miss | None = None
    for alternative in alternatives:
        found = list(islice(_misses(alternative, template, types), _TOLD_MOST))
        miss = Miss(
            asked=", ".join(asked for asked, _ in found) or str(alternative),
            offered="; ".join(offered for _, offered in found)
            or "no instance type has all of these labels together",
            count=len(found),
        )
        if best is None or 0 < miss.count < (best.count or len(alternative) + 1):
            best = miss
    return best


def _misses(
    alternative: Requirements, template: Requirements, types: Types
) -> Iterator[tuple[str, str]]:
    for asked in alternative:
        there = template.by_key.get(asked.key)
        if there is not None and not there.intersects(asked):
            slip = _slip(asked, there.values, _values(asked.key, types))
            yield str(asked), f"the NodePool has {_condition(there)}{slip}"
        elif asked.key in types.known:
            values = tuple(v for v in _values(asked.key, types) if there is None or there.has(v))
            if not any(map(asked.has, values)) and not asked.absent:
                told = _listed(values) if values else "none"
                yield str(asked), f"its instance types have {told}{_slip(asked, values)}"
        elif there is None and not asked.absent:
            yield str(asked), _unknown(asked.key, template, types)


def _unknown(key: str, template: Requirements, types: Types) -> str:
    if key in {labels.HOSTNAME, labels.NODE_NAME}:
        return "the name of a new node is not known before it is there"
    known = sorted((*types.known, *template.by_key))
    by_ending = {each.rpartition("/")[2]: each for each in known}
    meant = _alike(key, known) or by_ending.get(_alike(key.rpartition("/")[2], by_ending), "")
    return f"no node of it has label {key}{_meant(meant)}"


def _values(key: str, types: Types) -> tuple[str, ...]:
    """Every value that a label has on some type, or on some offering that can be had, in order."""
    sets = (*(t.requirements for t in types.types), *(o.requirements for o in types.offerings))
    found = (r.values for s in sets if (r := s.by_key.get(key)) is not None and not r.complement)
    return tuple(sorted({value for values in found for value in values}))


def _condition(there: Requirement) -> str:
    return str(there).removeprefix(f"{there.key} ")


def _listed(values: tuple[str, ...]) -> str:
    more = f" and {len(values) - _SHOWN} others" if len(values) > _SHOWN else ""
    return f"{', '.join(values[:_SHOWN])}{more}"


def _slip(asked: Requirement, there: Iterable[str], real: Container[str] = ()) -> str:
    """What was perhaps meant by a value that no type has."""
    words = asked.sorted_values() if not asked.complement else ()
    known = _NO_SLIPS.get(asked.key, real)
    meant = (_alike(word, there) for word in words if word not in known)
    return _meant(next(filter(None, meant), ""))


def _alike(word: str, choices: Iterable[str]) -> str:
    """The choice that is most like `word`, the first of equals; empty when none is."""
    best, most = "", _ALIKE
    for choice in sorted(choices):
        likeness = SequenceMatcher(a=word, b=choice).ratio()
        if likeness > most:
            best, most = choice, likeness
    return best


def _meant(word: str) -> str:
    return f" (did you mean {word}?)" if word else ""
