"""How many more nodes of each NodePool may be disrupted now.

Nodes that are unhealthy or going already use up the budget first, whoever made them go; when a disruption is to begin,
so do those whose turn has come but who wait for their replacements.

Source: Karpenter's BuildDisruptionBudgetMapping.
"""

from collections import Counter
from collections.abc import Container, Iterable
from dataclasses import dataclass, field
from datetime import datetime

from daiku.model import budget
from daiku.reason import Reason
from daiku.state.snapshot import Snapshot


@dataclass(slots=True)
class Allowance:
    """What one method may still take. Counted down within one tick."""

    left: dict[str, int | None] = field(default_factory=dict[str, "int | None"])
    """NodePool name -> nodes; None when nothing limits it."""

    def copy(self) -> "Allowance":
        """The same, to be counted down by itself."""
        return Allowance(dict(self.left))

    def take(self, pool: str) -> bool:
        """Take one node of `pool`, if the budget allows it."""
        left = self.left.get(pool, 0)
        if left is None:
            return True
        if left < 1:
            return False
        self.left[pool] = left - 1
        return True

    def take_all(self, pools: Iterable[str]) -> bool:
        """Take a node of each of `pools`, as often as it is named; all of them, or none."""
        names = list(pools)
        return self.has_all(names) and all(self.take(name) for name in names)

    def has_all(self, pools: Iterable[str]) -> bool:
        """Whether a node of each of `pools` may go, as often as it is named."""
        lefts = ((self.left.get(name, 0), count) for name, count in Counter(pools).items())
        return all(left is None or left >= count for left, count in lefts)

    def has(self, pool: str) -> bool:
        """Whether one more node of `pool` may go."""
        left = self.left.get(pool, 0)
        return left is None or left > 0


def allowance(
    snapshot: Snapshot, reason: Reason, now: datetime, marked: Container[str] = ()
) -> Allowance:
    """What may be taken for `reason` at `now`.

    Args:
        snapshot: Nodes and NodePools.
        reason: Empty, Drifted or Underutilized.
        now: The time.
        marked: NodeClaims that are about to go.
    """
    made = Allowance()
    for pool in snapshot.node_pools:
        name = pool.meta.name
        counted = [
            s
            for s in snapshot.state_nodes
            if s.nodepool == name
            and s.claim is not None
            and s.node is not None
            and s.is_initialized
            and not s.claim.is_true("InstanceTerminating")
        ]
        going = [
            s
            for s in counted
            if s.is_leaving
            or s.claim_name in marked
            or (s.node is not None and not s.node.is_ready)
        ]
        allowed = budget.allowed(pool.budgets, reason, len(counted), now)
        made.left[name] = None if allowed is None else max(allowed - len(going), 0)
    return made
