"""Nodes on which nobody has to move.

An empty node goes once it has been quiet for as long as its NodePool asks, whatever the consolidation policy. It is
tainted first and looked at again, so that no pod that was just being bound is evicted for it.

Source: Karpenter's Emptiness.
"""

from collections.abc import Sequence
from typing import Final

from daiku import reasons
from daiku.disruption.candidates import Candidate
from daiku.disruption.ground import Ground
from daiku.disruption.method import Findings, propose
from daiku.model import units, waking
from daiku.reason import NO_REASON
from daiku.report import Kept, Proposal

REASON: Final = reasons.EMPTY


def plan(candidates: Sequence[Candidate], ground: Ground) -> Findings:
    """Take away empty nodes, as many as budgets allow; those that have been quiet longest first."""
    now = ground.now
    made = Findings()
    for candidate in sorted(candidates, key=lambda c: (c.state_node.quiet_since() or now, c.name)):
        pool = candidate.pool
        due = candidate.state_node.consolidatable_at(pool)
        reason, message = NO_REASON, ""
        if not candidate.is_empty:
            there = units.counted(len(candidate.reschedulable), "pod")
            reason, message = reasons.NOT_EMPTY, f"it holds {there}"
        elif candidate.objection is not None:
            reason, message = candidate.objection.reason, candidate.objection.message
        elif pool.replicas is not None:
            reason = reasons.STATIC_NODE_POOL
            message = f"NodePool {pool.meta.name} has a fixed number of nodes"
        elif due is None:
            reason = reasons.CONSOLIDATION_DISABLED
            message = f"NodePool {pool.meta.name} has consolidateAfter Never"
        elif due > now:
            reason = reasons.TOO_YOUNG
            message = f"a pod came or went recently; it may go from {due:%H:%M:%S} UTC on"
            made.wakes.append(waking.shared(due, pool.consolidate_after))
        elif candidate.is_dry:
            saves = ground.prices().get(candidate.state_node.name, 0.0)
            reason = reasons.DRY_RUN
            message = f"it would be deleted: {REASON}, which saves ${saves:.4f}/h"
        elif not ground.allowance(REASON).take(pool.meta.name):
            reason = reasons.BUDGET
            message = (
                f"NodePool {pool.meta.name} allows no more disruptions for reason {REASON} now"
            )
        if reason:
            made.kept.append(Kept(node_claim=candidate.name, reason=reason, message=message))
        else:
            made.proposals.append(_proposal(candidate, ground))
    return made


def _proposal(candidate: Candidate, ground: Ground) -> Proposal:
    saves = ground.prices().get(candidate.state_node.name, 0.0)
    return propose((candidate,), ground, reason=REASON, method="empty", saves_usd_per_hour=saves)
