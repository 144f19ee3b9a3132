"""What a method of disruption is: candidates in, proposals and reasons out."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime
from hashlib import sha256

from daiku.commands import Command
from daiku.disruption.candidates import Candidate
from daiku.disruption.ground import Ground
from daiku.reason import Reason
from daiku.report import Kept, Proposal
from daiku.scheduling.solution import NewNode


@dataclass(slots=True)
class Findings:
    """What one method decided. Made and used up within one tick."""

    proposals: list[Proposal] = field(default_factory=list[Proposal])
    kept: list[Kept] = field(default_factory=list[Kept])
    """Candidates that it leaves alone, and why."""
    wakes: list[datetime] = field(default_factory=list[datetime])
    """When it would decide otherwise if nothing happened."""
    events: list[Command] = field(default_factory=list[Command])
    """What people are told."""


def propose(
    candidates: Sequence[Candidate],
    ground: Ground,
    *,
    reason: Reason,
    method: str,
    new_nodes: Sequence[NewNode] = (),
    saves_usd_per_hour: float = 0.0,
) -> Proposal:
    """The proposal to take these nodes away, with `new_nodes` in their place."""
    names = tuple(sorted(c.name for c in candidates))
    seed = f"{method}/{','.join(names)}/{ground.now.isoformat()}"
    return Proposal(
        id=sha256(seed.encode()).hexdigest()[:8],
        reason=reason,
        method=method,
        claims=names,
        node_pools=tuple(sorted(dict.fromkeys(c.pool.meta.name for c in candidates))),
        new_nodes=len(new_nodes),
        detail=", ".join(node.types[0].name for node in new_nodes),
        saves_usd_per_hour=saves_usd_per_hour,
        decided=ground.now,
        changes=ground.snapshot.changes,
    )
