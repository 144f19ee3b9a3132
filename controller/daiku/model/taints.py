"""Taints of nodes, tolerations of pods, and whether the one keeps the other away.

Source: kubernetes.io/docs/concepts/scheduling-eviction/taint-and-toleration.
"""

from dataclasses import dataclass
from typing import Literal

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
