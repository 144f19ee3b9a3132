"""Nodes that run nothing but what came with them.

An empty node goes once it has been quiet for as long as its NodePool asks, whatever the consolidation policy: nobody
has to move for it.

Source: Karpenter's Emptiness.
"""

from collections.abc import Sequence
from datetime import datetime
from typing import Final

from daiku.commands import Command, DeleteNodeClaim
from daiku.disruption import budgets
from daiku.disruption.candidates import Candidate
from daiku.disruption.method import Findings
from daiku.report import Kept
from daiku.state.snapshot import Snapshot

REASON: Final = "Empty"


def plan(candidates: Sequence[Candidate], snapshot: Snapshot, now: datetime) -> Findings:
    """Take away empty nodes, as many as budgets allow; those that have been quiet longest first."""
    allowance = budgets.allowance(snapshot, REASON, now)
    commands: list[Command] = []
    kept: list[Kept] = []
    wakes: list[datetime] = []
    for candidate in sorted(
        candidates, key=lambda c: (c.state_node.quiet_since() or now, c.claim.meta.name)
    ):
        meta, pool = candidate.claim.meta, candidate.pool
        reason, message = "", ""
        due = candidate.state_node.consolidatable_at(pool)
        if candidate.reschedulable:
            reason, message = "NotEmpty", f"{len(candidate.reschedulable)} pods run on it"
        elif pool.replicas is not None:
            reason, message = (
                "StaticNodePool",
                f"NodePool {pool.meta.name} has a fixed number of nodes",
            )
        elif due is None:
            reason, message = (
                "ConsolidationDisabled",
                f"NodePool {pool.meta.name} has consolidateAfter Never",
            )
        elif due > now:
            reason, message = (
                "TooYoung",
                f"a pod came or went recently; it may go from {due:%H:%M:%S} UTC on",
            )
            wakes.append(due)
        elif not allowance.take(pool.meta.name):
            reason, message = (
                "Budget",
                f"NodePool {pool.meta.name} allows no more disruptions for reason {REASON} now",
            )
        if reason:
            kept.append(Kept(node_claim=meta.name, reason=reason, message=message))
        else:
            commands.append(DeleteNodeClaim(name=meta.name, uid=meta.uid, reason=REASON))
    return Findings(commands=tuple(commands), kept=tuple(kept), wakes=tuple(wakes))
