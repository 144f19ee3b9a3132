"""Nodes on which nobody has to move.

An empty node goes once it has been quiet for as long as its NodePool asks, whatever the consolidation policy. It is
tainted first and looked at again, so that no pod that was just being bound is evicted for it.

Source: Karpenter's Emptiness.
"""

from collections.abc import Sequence
from typing import Final

from daiku import reasons
from daiku.disruption.candidates import Candidate, kept_from_consolidation
from daiku.disruption.context import DisruptionContext, MethodResult, propose
from daiku.disruption.evaluation import Evaluator
from daiku.model import units, waking

REASON: Final = reasons.EMPTY


def plan(candidates: Sequence[Candidate], context: DisruptionContext) -> MethodResult:
    """Take away empty nodes, as many as budgets allow; those that have been quiet longest first."""
    now = context.now
    made = MethodResult()
    for candidate in sorted(candidates, key=lambda c: (c.state_node.quiet_since() or now, c.name)):
        pool = candidate.pool
        due = candidate.state_node.consolidatable_at(pool)
        found = Evaluator(context).evaluate((candidate.state_node,), "empty")
        saves = found.saves_usd_per_hour
        reason, message = "", ""
        if not candidate.is_empty:
            there = units.counted(len(candidate.reschedulable), "pod")
            reason, message = reasons.NOT_EMPTY, f"it holds {there}"
        elif any(kept := kept_from_consolidation(candidate, now)):
            reason, message = kept
            if reason == reasons.TOO_YOUNG and due is not None:
                made.wakes.append(waking.shared(due, pool.consolidate_after))
        elif candidate.is_dry:
            reason = reasons.DRY_RUN
            message = f"it would be deleted: {REASON}, which saves ${saves:.4f}/h"
        elif not context.allowance(REASON).take(pool.meta.name):
            reason = reasons.BUDGET
            message = (
                f"NodePool {pool.meta.name} allows no more disruptions for reason {REASON} now"
            )
        if reason:
            made.keep(candidate, reason, message)
        else:
            made.proposals.append(
                propose(
                    (candidate,), context, reason=REASON, method="empty", saves_usd_per_hour=saves
                )
            )
    return made
