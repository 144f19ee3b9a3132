"""Disruption budgets: how many nodes of a pool may be disrupted at once, when, for which reason.

Source: NodePool spec.disruption.budgets of karpenter.sh/v1.
"""

from dataclasses import dataclass
from datetime import timedelta


@dataclass(frozen=True, slots=True, kw_only=True)
class Budget:
    """One entry of `spec.disruption.budgets`."""

    nodes: str = "10%"
    """A count such as "3", or a share such as "10%" that rounds up."""
    reasons: tuple[str, ...] | None = None
    """Underutilized, Empty, Drifted; None means every reason."""
    schedule: str | None = None
    """Cron line in UTC at which the budget begins to hold; None: always."""
    duration: timedelta | None = None
    """How long it holds from then on; set exactly when `schedule` is."""
