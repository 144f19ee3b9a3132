"""PodDisruptionBudgets: how many more pods of a set may be evicted now, according to the API server."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from daiku.model.meta import Meta


@dataclass(frozen=True, slots=True, kw_only=True)
class PodDisruptionBudget:
    """A PodDisruptionBudget."""

    meta: Meta
    selector: Mapping[str, Any] | None
    """`spec.selector` as on the wire (matchLabels, matchExpressions); None selects nothing."""
    disruptions_allowed: int
    """`status.disruptionsAllowed`."""
    lets_unready_go: bool = False
    """`spec.unhealthyPodEvictionPolicy` is AlwaysAllow: pods that are not ready may be evicted whatever it allows."""
