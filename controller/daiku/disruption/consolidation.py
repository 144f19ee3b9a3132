"""Nodes whose pods fit elsewhere, or on something cheaper.

All of them first (`repacking`). When no step of that can begin, several at once: the nodes that save the most per pod
moved, as many as can go together. Then one by one, best first, a node of each NodePool in turn, so that no NodePool
waits for another. A round looks at every node once, a part of it per tick; when nothing has changed since a round that
found nothing, there is nothing to look at.

Source: Karpenter's MultiNodeConsolidation and SingleNodeConsolidation. It ends a round after some minutes; here a
round is counted in what-ifs and goes on where it stopped.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from datetime import timedelta
from itertools import zip_longest
from typing import Final

from daiku import reasons
from daiku.disruption import balanced, fallback, loops, repacking
from daiku.disruption.candidates import Candidate
from daiku.disruption.ground import Ground
from daiku.disruption.method import Findings, propose
from daiku.disruption.weighing import Together, Weighing, of_consolidation
from daiku.model import labels, units, waking
from daiku.reason import Reason
from daiku.report import Kept, Look, Proposal

REASON: Final = reasons.UNDERUTILIZED
TRIALS_MOST: Final = 100
"""What-ifs per tick."""
TOGETHER_MOST: Final = 100
"""Nodes that go together at most (Karpenter's figure)."""
LOOK: Final = "consolidation"
_PAUSE: Final = timedelta(seconds=10)
"""Between two rounds at least, when something has changed (Karpenter's interval)."""
_PAUSE_OF_TRY: Final = timedelta(microseconds=25)
"""Pause for each node of each set that a round weighs, which takes about a twentieth of that."""
_NEEDED: Final = (labels.INSTANCE_TYPE, labels.CAPACITY_TYPE, labels.ZONE)
"""Labels by which a node's price is found."""


@dataclass(slots=True)
class Search:
    """One tick's part of a round. Made and used up within the tick."""

    ground: Ground
    look: Look
    made: Findings = field(default_factory=Findings)
    trials: int = 0

    def keep(self, candidate: Candidate, reason: Reason, message: str) -> None:
        """Say why a node stays."""
        self.made.kept.append(Kept(node_claim=candidate.name, reason=reason, message=message))


def plan(candidates: Sequence[Candidate], ground: Ground) -> tuple[Findings, Look | None]:
    """Proposals, and what is to be remembered of the round; None when nothing was looked at."""
    before, now = ground.snapshot.looks.get(LOOK), ground.now
    made = Findings()
    able = [c for c in candidates if _is_able(c, ground, made)]
    if not able:
        return made, None
    # What was searched for already in this tick, because a decision was due, is made use of.
    due = before is None or bool(ground.repacks) or before.is_due(ground.snapshot.changes, now)
    if before is not None and not due:
        there = {c.name: True for c in able}
        made.kept += [k for k in before.kept if k.node_claim in there]
        made.wakes.append(before.again_at(ground.snapshot.changes))
        return made, None
    begins = before is None or before.complete
    look = _begun(ground) if begins or before is None else before
    search = Search(ground, look, made)
    ranked = sorted(able, key=lambda c: (-_worth(c, ground), c.name))
    if begins:
        made.proposals += _at_once([c for c in ranked if not c.is_dry], search)
    if made.proposals:
        # What they leave is looked at anew, all at once first.
        search.look = replace(search.look, changes=-1, complete=True)
    else:
        found = _one_by_one(ranked, search)
        made.proposals += [found] if found is not None else []
    return made, search.look


def _begun(ground: Ground) -> Look:
    """A round that begins; what was sold out may be had again without any other change, and is worth another."""
    back = [*ground.snapshot.sold_out.values(), *fallback.ends(ground.snapshot, ground.now)]
    return Look(
        at=ground.now,
        changes=ground.snapshot.changes,
        until=max(min(back), ground.now + _PAUSE) if back else None,
    )


def _at_once(ranked: Sequence[Candidate], search: Search) -> list[Proposal]:
    """What several nodes could become together."""
    proposals, found = repacking.find(
        ranked, search.ground, REASON, search.ground.allowance(REASON)
    )
    pause = max(_PAUSE, found.tried * found.considered * _PAUSE_OF_TRY)
    search.look = replace(search.look, repacked=found.figures, pause=pause)
    if proposals:
        return proposals
    together = _together(ranked, search)
    return [together] if together is not None else []


def objection(proposal: Proposal, members: Sequence[Candidate], ground: Ground) -> str:
    """Why nodes of a proposal may not be disrupted any more; empty when they may, budgets left aside.

    Source: Karpenter's validation, 15 seconds after the decision.

    Args:
        proposal: What was decided.
        members: Of its nodes, those that may still be disrupted.
        ground: This tick's view.
    """
    if len(members) < len(proposal.claims):
        there = {c.name: True for c in members}
        gone = ", ".join(name for name in proposal.claims if name not in there)
        return f"churn: {gone} may not be disrupted any more"
    made = Findings()
    for candidate in members:
        if candidate.is_empty:
            return f"churn: {candidate.name} is empty now"
        if not _is_able(candidate, ground, made):
            return f"churn: {candidate.name}: {made.kept[-1].message}"
    return ""


def again(
    proposal: Proposal, members: Sequence[Candidate], ground: Ground, together: Together
) -> str:
    """Why a proposal to whose nodes nobody objects does not save what it should any more; empty when it does.

    Args:
        proposal: What was decided.
        members: Its nodes.
        ground: This tick's view.
        together: Moves that begin in this tick; one that is right is counted there.
    """
    if proposal.method == repacking.METHOD:
        weighing = repacking.weigh(members, ground, together)
    else:
        weighing = _weigh(members, ground, is_single=proposal.method == "single")
    if weighing.refusal:
        return f"scheduling: {weighing.refusal}"
    # A step is one of several, whose new nodes are not told apart: what it saves is what counts.
    if proposal.method != repacking.METHOD and len(weighing.new_nodes) != proposal.new_nodes:
        return f"scheduling: it would take {len(weighing.new_nodes)} new nodes now, not {proposal.new_nodes}"
    return ""


def _is_able(candidate: Candidate, ground: Ground, made: Findings) -> bool:
    """Whether consolidation may look at it; else says why not."""
    known, pool = candidate.state_node.labels, candidate.pool
    due = candidate.state_node.consolidatable_at(pool)
    reason, message = reasons.UNCONSOLIDATABLE, ""
    if pool.replicas is not None:
        reason, message = (
            reasons.STATIC_NODE_POOL,
            f"NodePool {pool.meta.name} has a fixed number of nodes",
        )
    elif due is None:
        reason = reasons.CONSOLIDATION_DISABLED
        message = f"NodePool {pool.meta.name} has consolidateAfter Never"
    elif candidate.is_empty:
        # Emptiness has said what there is to say about it.
        return False
    elif pool.consolidation_policy == "WhenEmpty":
        reason = reasons.NOT_EMPTY
        there = units.counted(len(candidate.reschedulable), "pod")
        message = f"NodePool {pool.meta.name} has the policy WhenEmpty, and it holds {there}"
    elif candidate.objection is not None:
        reason, message = candidate.objection.reason, candidate.objection.message
    elif due > ground.now:
        reason = reasons.TOO_YOUNG
        message = f"a pod came or went recently; it may go from {due:%H:%M:%S} UTC on"
        made.wakes.append(waking.shared(due, pool.consolidate_after))
    elif loop := ground.loops().get(pool.meta.name):
        reason, message = loops.REASON, str(loop)
        made.wakes.append(loop.until)
    elif missing := [k for k in _NEEDED if not known.get(k)]:
        message = f"its node has no label {missing[0]}"
    elif ground.prices().get(candidate.state_node.name, 0.0) <= 0:
        message = f"the price of instance type {known[labels.INSTANCE_TYPE]} is not known"
    else:
        return True
    made.kept.append(Kept(node_claim=candidate.name, reason=reason, message=message))
    return False


def _together(ranked: Sequence[Candidate], search: Search) -> Proposal | None:
    """The most of the best nodes that can go at once, found by halving."""
    chosen: list[Candidate] = []
    left = search.ground.allowance(REASON)
    takes: dict[str, int] = {}
    for candidate in ranked:
        name = candidate.pool.meta.name
        most = left.left.get(name, 0)
        if most is None or takes.get(name, 0) < most:
            takes[name] = takes.get(name, 0) + 1
            chosen.append(candidate)
    low, high = 2, min(len(chosen), TOGETHER_MOST)
    best: Proposal | None = None
    while low <= high:
        middle = (low + high) // 2
        search.trials += 1
        weighing = _weigh(chosen[:middle], search.ground, is_single=False)
        if weighing.refusal:
            high = middle - 1
        else:
            best = _proposal(chosen[:middle], weighing, search.ground, method="multi")
            low = middle + 1
    return best


def _one_by_one(ranked: Sequence[Candidate], search: Search) -> Proposal | None:
    ground, look = search.ground, search.look
    tried = dict.fromkeys(look.tried)
    told = {k.node_claim: k for k in look.kept}
    found: Proposal | None = None
    waiting, blocked = 0, False
    for candidate in _in_turn(ranked):
        name, pool = candidate.name, candidate.pool.meta.name
        if name in tried:
            search.made.kept += [told[name]] if name in told else []
        elif found is not None or search.trials >= TRIALS_MOST:
            waiting += 1
            search.keep(candidate, reasons.WAITS, "it is looked at after others")
        elif not (candidate.is_dry or ground.allowance(REASON).has(pool)):
            blocked = True
            message = f"NodePool {pool} allows no more disruptions for reason {REASON} now"
            search.keep(candidate, reasons.BUDGET, message)
        else:
            tried[name] = None
            found = _try(candidate, search)
            told |= {k.node_claim: k for k in search.made.kept[-1:] if k.node_claim == name}
    search.look = replace(
        look,
        at=ground.now,
        tried=frozenset(tried),
        kept=tuple(told.values()),
        complete=not (waiting or found),
        # What only a budget keeps is looked at again although nothing has changed.
        changes=-1 if blocked else look.changes,
    )
    if search.look.complete is False:
        search.made.wakes.append(search.look.again_at(ground.snapshot.changes))
    return found


def _try(candidate: Candidate, search: Search) -> Proposal | None:
    search.trials += 1
    weighing = _weigh((candidate,), search.ground, is_single=True)
    if weighing.refusal:
        search.keep(candidate, reasons.UNCONSOLIDATABLE, weighing.refusal)
        return None
    found = _proposal((candidate,), weighing, search.ground, method="single")
    if not candidate.is_dry:
        return found
    search.keep(candidate, reasons.DRY_RUN, f"it would be disrupted: {found}")
    return None


def _weigh(candidates: Sequence[Candidate], ground: Ground, *, is_single: bool) -> Weighing:
    weighing = of_consolidation(
        ground.world(), [c.state_node for c in candidates], ground, is_single=is_single
    )
    if weighing.refusal:
        return weighing
    against = balanced.objection(candidates, weighing.saves_usd_per_hour, ground)
    return Weighing(refusal=against) if against else weighing


def _proposal(
    candidates: Sequence[Candidate], weighing: Weighing, ground: Ground, *, method: str
) -> Proposal:
    return propose(
        candidates,
        ground,
        reason=REASON,
        method=method,
        new_nodes=weighing.new_nodes,
        saves_usd_per_hour=weighing.saves_usd_per_hour,
    )


def _worth(candidate: Candidate, ground: Ground) -> float:
    """What it costs, per pod that would have to move (Karpenter's SavingsRatio)."""
    return ground.prices().get(candidate.state_node.name, 0.0) / candidate.cost


def _in_turn(ranked: Sequence[Candidate]) -> list[Candidate]:
    """One of each NodePool after the other, the best of each first."""
    by_pool: dict[str, list[Candidate]] = {}
    for candidate in ranked:
        by_pool.setdefault(candidate.pool.meta.name, []).append(candidate)
    rows = zip_longest(*(by_pool[name] for name in sorted(by_pool)))
    return [candidate for row in rows for candidate in row if candidate is not None]
