"""Taints of nodes, tolerations of pods, and whether the one keeps the other away.

Source: kubernetes.io/docs/concepts/scheduling-eviction/taint-and-toleration.
"""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final, Literal

from daiku.model import labels

Effect = Literal["NoSchedule", "PreferNoSchedule", "NoExecute"]


@dataclass(frozen=True, slots=True, order=True)
class Taint:
    """A mark on a node that keeps pods away unless they tolerate it."""

    key: str
    effect: str
    value: str = ""


@dataclass(frozen=True, slots=True, order=True, kw_only=True)
class Toleration:
    """What a pod puts up with. Empty fields match everything, as in the API."""

    key: str = ""
    operator: str = "Equal"
    """Equal, Exists, Lt or Gt."""
    value: str = ""
    effect: str = ""
    """Empty: every effect."""


NOT_READY: Final = "node.kubernetes.io/not-ready"
UNREACHABLE: Final = "node.kubernetes.io/unreachable"

DISRUPTED: Final = Taint(labels.DISRUPTED_TAINT, "NoSchedule")
"""On a node that is being drained."""
AWAITING_PODS: Final = Taint(labels.AWAITING_PODS, "NoSchedule")
"""On a node that was made for pods which move, until they wait for it."""
UNREGISTERED: Final = Taint(labels.UNREGISTERED_TAINT, "NoExecute")
"""On a node from birth until it is registered."""

_EPHEMERAL: Final = frozenset(
    {
        (NOT_READY, "NoSchedule"),
        (NOT_READY, "NoExecute"),
        (UNREACHABLE, "NoSchedule"),
        ("node.cloudprovider.kubernetes.io/uninitialized", "NoSchedule"),
        (labels.UNREGISTERED_TAINT, "NoExecute"),
    }
)
_EPHEMERAL_PREFIX: Final = "readiness.k8s.io/"
_INTEGER: Final = re.compile(r"-?[0-9]{1,19}", re.ASCII)


def tolerates(tolerations: Iterable[Toleration], taint: Taint) -> bool:
    """Whether any of `tolerations` puts up with `taint`."""
    return any(_matches(toleration, taint) for toleration in tolerations)


def untolerated(taints: Iterable[Taint], tolerations: Sequence[Toleration]) -> Taint | None:
    """The first taint that keeps a pod away, or None.

    PreferNoSchedule keeps nothing away: kube-scheduler only ranks by it.
    """
    for taint in taints:
        if taint.effect != "PreferNoSchedule" and not tolerates(tolerations, taint):
            return taint
    return None


def is_ephemeral(taint: Taint) -> bool:
    """Whether a node carries `taint` only while it comes up; pods are planned as if it were gone."""
    return (taint.key, taint.effect) in _EPHEMERAL or taint.key.startswith(_EPHEMERAL_PREFIX)


def includes(taints: Iterable[Taint], wanted: Taint) -> bool:
    """Whether a taint of the same key and effect is among `taints`; values do not count."""
    return any(taint.key == wanted.key and taint.effect == wanted.effect for taint in taints)


def merge(taints: Sequence[Taint], more: Iterable[Taint]) -> tuple[Taint, ...]:
    """`taints`, followed by those of `more` whose key and effect are new."""
    merged = list(taints)
    merged += [taint for taint in more if not includes(taints, taint)]
    return tuple(merged)


def without(taints: Iterable[Taint], unwanted: Iterable[Taint]) -> tuple[Taint, ...]:
    """`taints` less those that share key and effect with one of `unwanted`."""
    gone = tuple(unwanted)
    return tuple(taint for taint in taints if not includes(gone, taint))


def _matches(toleration: Toleration, taint: Taint) -> bool:
    if toleration.effect and toleration.effect != taint.effect:
        return False
    if toleration.key and toleration.key != taint.key:
        return False
    operator = toleration.operator or "Equal"
    if operator == "Exists":
        return True
    if not toleration.key:
        return False
    if operator in {"Lt", "Gt"}:
        if not (_INTEGER.fullmatch(taint.value) and _INTEGER.fullmatch(toleration.value)):
            return False
        there, bound = int(taint.value), int(toleration.value)
        return there < bound if operator == "Lt" else there > bound
    return operator == "Equal" and toleration.value == taint.value
