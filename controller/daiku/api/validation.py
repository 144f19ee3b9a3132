"""What is wrong with a NodePool's template, in sentences that a person can act on.

The CRD refuses most of this at the door; what it cannot express, what came past an older CRD, and what `daiku plan`
reads from a file is found here. A NodePool with mistakes is not used; those beside it are.

Source: Karpenter's NodePool.RuntimeValidate and NodeClaim validation.
"""

import re
from collections.abc import Mapping, Sequence
from typing import Final

from daiku.api import wire
from daiku.model import labels
from daiku.model.taints import Taint

_NAME: Final = re.compile(r"([A-Za-z0-9][-A-Za-z0-9_.]{0,61})?[A-Za-z0-9]", re.ASCII)
_PREFIX: Final = re.compile(
    r"[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*", re.ASCII
)
_PREFIX_MOST: Final = 253
_EFFECTS: Final = ("NoSchedule", "PreferNoSchedule", "NoExecute", "")
_CAPACITY_TYPES: Final = (labels.ON_DEMAND, labels.SPOT, labels.RESERVED)
_MIN_VALUES: Final = range(1, 51)


def of_labels(given: Mapping[str, str]) -> list[str]:
    """What is wrong with the labels that a template fixes."""
    found: list[str] = []
    for key, value in sorted(given.items()):
        found += _of_key("label", key)
        if value and not _NAME.fullmatch(value):
            found.append(
                f"label {key!r} has value {value!r}: use at most 63 letters, digits, '-', '_' or '.'"
            )
    return found


def of_taints(taints: Sequence[Taint], startup_taints: Sequence[Taint]) -> list[str]:
    """What is wrong with the taints of a template; both lists together may name a key and effect once."""
    found: list[str] = []
    together = (*taints, *startup_taints)
    for taint in together:
        if not taint.key:
            found.append("a taint has no key: give it one")
        elif not is_qualified(taint.key):
            found.append(f"taint key {taint.key!r} is not a qualified name")
        if taint.value and not is_qualified(taint.value):
            found.append(
                f"taint {taint.key!r} has value {taint.value!r}, which is no qualified name"
            )
        if taint.effect not in _EFFECTS:
            allowed = ", ".join(filter(None, _EFFECTS))
            found.append(f"taint {taint.key!r} has effect {taint.effect!r}: use one of {allowed}")
    pairs = [(taint.key, taint.effect) for taint in together]
    found += [
        f"taint {key}:{effect} is given {pairs.count((key, effect))} times: once is enough"
        for key, effect in sorted(dict.fromkeys(pairs))
        if pairs.count((key, effect)) > 1
    ]
    return found


def of_requirement(asked: wire.SelectorRequirement) -> list[str]:
    """What is wrong with one requirement, beside what its reader refuses (operators and numbers)."""
    key = labels.ALIASES.get(asked.key, asked.key)
    values = asked.values or []
    found = _of_key("requirement on", key)
    found += [
        f"requirement on {key!r} has value {value!r}: use at most 63 letters, digits, '-', '_' or '.'"
        for value in values
        if value and not _NAME.fullmatch(value)
    ]
    least = asked.min_values
    if least is not None and least not in _MIN_VALUES:
        found.append(f"requirement on {key!r} has minValues {least}: use 1 to 50")
    if asked.operator != "In":
        return found
    known = [v for v in values if key != labels.CAPACITY_TYPE or v in _CAPACITY_TYPES]
    if values and not known:
        found.append(
            f"requirement on {key!r} has only unknown values {values}: use {', '.join(_CAPACITY_TYPES)}"
        )
    elif least is not None and len(dict.fromkeys(known)) < least:
        found.append(f"requirement on {key!r} has minValues {least} and {len(known)} usable values")
    return found


def is_qualified(name: str) -> bool:
    """Whether it is a name as labels and taints have: at most 63 characters, with a DNS prefix at will."""
    prefix, slash, own = name.rpartition("/")
    if slash and (len(prefix) > _PREFIX_MOST or not _PREFIX.fullmatch(prefix)):
        return False
    return bool(_NAME.fullmatch(own))


def _of_key(what: str, key: str) -> list[str]:
    domain, slash, _ = key.partition("/")
    reserved = bool(slash) and (domain == "karpenter.sh" or domain.endswith(".karpenter.sh"))
    if key in {labels.NODEPOOL, labels.HOSTNAME} or (reserved and key != labels.CAPACITY_TYPE):
        return [f"label {key!r} is restricted: take it out of spec.template"]
    return [] if is_qualified(key) else [f"{what} {key!r} is not a qualified name"]
