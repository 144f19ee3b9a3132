"""The hash of a NodePool's template, by which a NodeClaim knows that it was made from an older one.

The value must be the very one that Karpenter writes, or changing the controller would replace every node.
It is a structural hash over the fields below, in which the order of maps and lists does not count. Requirements,
disruption, limits, weight and replicas are not in it.

Source: karpenter.sh/nodepool-hash, version v3 (hashstructure v2 over 64-bit FNV-1, sets, zero values left out).
"""

from collections.abc import Iterable, Mapping
from datetime import timedelta
from functools import lru_cache
from typing import Final

from daiku.model import memo
from daiku.model.nodepool import NodeTemplate
from daiku.model.taints import Taint

VERSION: Final = "v3"
"""Goes with every hash; hashes of different versions do not compare."""

_OFFSET: Final = 14695981039346656037
_PRIME: Final = 1099511628211
_MASK: Final = 2**64 - 1


@memo.by_identity(1000)
def of(template: NodeTemplate) -> str:
    """The annotation's value for `template`."""
    ref = template.node_class
    spec = _struct(
        "NodeClaimTemplateSpec",
        ("Taints", _taints(template.taints)),
        ("StartupTaints", _taints(template.startup_taints)),
        (
            "NodeClassRef",
            _struct(
                "NodeClassReference",
                ("Kind", _text(ref.kind)),
                ("Name", _text(ref.name)),
                ("Group", _text(ref.group)),
            ),
        ),
        ("TerminationGracePeriod", _duration("Duration", template.termination_grace_period)),
        ("ExpireAfter", _duration("NillableDuration", template.expire_after)),
    )
    meta = _struct(
        "ObjectMeta", ("Labels", _map(template.labels)), ("Annotations", _map(template.annotations))
    )
    present = meta if template.labels or template.annotations else None
    return str(_struct("NodeClaimTemplate", ("ObjectMeta", present), ("Spec", spec)))


def _struct(name: str, *fields: tuple[str, int | None]) -> int:
    value = _text(name)
    for field, of_field in fields:
        if of_field is not None:
            value = _finish(value ^ _ordered(_text(field), of_field))
    return value


def _map(entries: Mapping[str, str]) -> int | None:
    value = 0
    for key, entry in entries.items():
        value ^= _ordered(_text(key), _text(entry))
    return _finish(value) if entries else None


def _taints(taints: Iterable[Taint]) -> int | None:
    value, empty = 0, True
    for taint in taints:
        marked = ("Value", _text(taint.value) if taint.value else None)
        value ^= _struct(
            "Taint", ("Key", _text(taint.key)), marked, ("Effect", _text(taint.effect))
        )
        empty = False
    return None if empty else value


def _duration(name: str, length: timedelta | None) -> int | None:
    if length is None:
        return None
    nanoseconds = length // timedelta(microseconds=1) * 1000
    return _struct(name, ("Duration", _fnv(nanoseconds.to_bytes(8, "little", signed=True))))


def _text(text: str) -> int:
    return _fnv(text.encode())


def _ordered(first: int, second: int) -> int:
    return _fnv(first.to_bytes(8, "little") + second.to_bytes(8, "little"))


def _finish(value: int) -> int:
    return _fnv(value.to_bytes(8, "little"))


@lru_cache(maxsize=4096)
def _fnv(data: bytes) -> int:
    value = _OFFSET
    for byte in data:
        value = (value * _PRIME & _MASK) ^ byte
    return value
