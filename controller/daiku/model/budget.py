"""Disruption budgets: how many nodes of a pool may be disrupted at once, when, for which reason.

Source: NodePool spec.disruption.budgets of karpenter.sh/v1.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from math import ceil

from daiku.model import cron


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

    def allowed(self, nodes: int) -> int:
        """How many of `nodes` it lets go at once; a share rounds up.

        Raises:
            ValueError: `nodes` of the budget is neither a count nor a share.
        """
        share = self.nodes.removesuffix("%")
        if not share.isdecimal():
            raise ValueError(
                f'budget has nodes {self.nodes!r}: write a count such as "3", or a share such as "10%"'
            )
        return ceil(int(share) * nodes / 100) if share != self.nodes else int(share)

    def is_active(self, now: datetime) -> bool:
        """Whether it holds at `now`: always, or within `duration` of the last due time of `schedule`.

        Raises:
            ValueError: The schedule cannot be read, or has no duration.
        """
        if self.schedule is None and self.duration is None:
            return True
        if self.schedule is None or self.duration is None:
            raise ValueError(
                "budget has schedule without duration, or duration without schedule: set both"
            )
        due = cron.parse(self.schedule).next_after(now.astimezone(UTC) - self.duration)
        return due is not None and due <= now

    def is_about(self, reason: str) -> bool:
        """Whether it limits disruptions for `reason`."""
        return self.reasons is None or reason in self.reasons


def allowed(budgets: Sequence[Budget], reason: str, nodes: int, now: datetime) -> int | None:
    """How many nodes of a pool of `nodes` may be gone at once for `reason`; None when nothing limits it.

    The strictest budget that holds now decides. One that cannot be read allows nothing: a mistake in a budget
    must not lift it.
    """
    try:
        held = [b.allowed(nodes) for b in budgets if b.is_active(now) and b.is_about(reason)]
    except ValueError:
        return 0
    return min(held, default=None)
