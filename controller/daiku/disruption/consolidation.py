"""Nodes whose pods fit elsewhere, or on something cheaper.

All of them first (`global_consolidation`). When no step of that can begin, one by one, those that cost the most per pod
moved first, a node of each NodePool in turn, so that no NodePool waits for another. A round looks at every node once, a
part of it per tick; when nothing has changed since a round that found nothing, there is nothing to look at.

Source: Karpenter's SingleNodeConsolidation. It ends a round after some minutes; here a round is counted in what-ifs and
goes on where it stopped. Its MultiNodeConsolidation, which tries prefixes of a list, finds nothing that is left here.
"""

from collections.abc import Sequence
from dataclasses import replace
from datetime import timedelta
from itertools import zip_longest
from typing import Final

from daiku import reasons
from daiku.disruption import fallback, global_consolidation, loops
from daiku.disruption.candidates import Candidate, kept_from_consolidation
from daiku.disruption.context import DisruptionContext, MethodResult, propose
from daiku.disruption.evaluation import Evaluator
from daiku.model import labels, units, waking
from daiku.report import Look

REASON: Final = reasons.UNDERUTILIZED
TRIALS_MOST: Final = 100
"""What-ifs per tick."""
LOOK: Final = "consolidation"
_PAUSE: Final = timedelta(seconds=10)
"""Between two rounds at least, when something has changed (Karpenter's interval)."""
_PAUSE_OF_TRY: Final = timedelta(microseconds=25)
"""Pause for each node of each set that a round weighs, which takes about a twentieth of that."""
_NEEDED: Final = (labels.INSTANCE_TYPE, labels.CAPACITY_TYPE, labels.ZONE)
"""Labels by which a node's price is found."""


def plan(candidates: Sequence[Candidate], context: DisruptionContext) -> MethodResult:
    """Proposals, and what is to be remembered of the round when there was one."""
    before, now, changes = context.snapshot.looks.get(LOOK), context.now, context.snapshot.changes
    made = MethodResult()
    able = [c for c in candidates if is_able(c, context, made)]
    if not able:
        return made
    if before is not None and not before.is_due(changes, now):
        there = {c.name: True for c in able}
        made.kept += [k for k in before.kept if k.node_claim in there]
        made.wakes.append(before.again_at(changes))
        return made
    begins = before is None or before.complete
    look = _begun(context) if begins or before is None else before
    ranked = sorted(able, key=lambda c: (-_worth(c, context), c.name))
    if begins:
        allowance = context.allowance(REASON)
        acting = [c for c in ranked if not c.is_dry]
        made.proposals, found = global_consolidation.find(acting, context, REASON, allowance)
        pause = max(_PAUSE, found.tried * found.figures.considered * _PAUSE_OF_TRY)
        look = replace(look, repacked=found.figures, pause=pause)
    if made.proposals:
        # What they leave is looked at anew, all at once first.
        made.looks[LOOK] = replace(look, changes=-1, complete=True)
    else:
        made.looks[LOOK] = _one_by_one(ranked, look, context, made)
    return made


def _begun(context: DisruptionContext) -> Look:
    """A round that begins; what was sold out may be had again without any other change, and is worth another."""
    back = [*context.snapshot.sold_out.values(), *fallback.ends(context.snapshot, context.now)]
    return Look(
        at=context.now,
        changes=context.snapshot.changes,
        until=max(min(back), context.now + _PAUSE) if back else None,
    )


def is_able(candidate: Candidate, context: DisruptionContext, made: MethodResult) -> bool:
    """Whether consolidation may look at it; else says why not."""
    known, pool = candidate.state_node.labels, candidate.pool
    reason, message = kept_from_consolidation(candidate, context.now)
    if candidate.is_empty:
        # Emptiness has said what there is to say about it.
        return False
    if pool.consolidation_policy == "WhenEmpty" and not reason:
        reason = reasons.NOT_EMPTY
        there = units.counted(len(candidate.reschedulable), "pod")
        message = f"NodePool {pool.meta.name} has the policy WhenEmpty, and it holds {there}"
    elif reason == reasons.TOO_YOUNG:
        due = candidate.state_node.consolidatable_at(pool) or context.now
        made.wakes.append(waking.shared(due, pool.consolidate_after))
    elif reason:
        pass
    elif loop := context.loops.get(pool.meta.name):
        reason, message = loops.REASON, str(loop)
        made.wakes.append(loop.until)
    elif missing := [k for k in _NEEDED if not known.get(k)]:
        reason, message = reasons.UNCONSOLIDATABLE, f"its node has no label {missing[0]}"
    elif context.prices.get(candidate.state_node.name, 0.0) <= 0:
        kind = known[labels.INSTANCE_TYPE]
        reason, message = (
            reasons.UNCONSOLIDATABLE,
            f"the price of instance type {kind} is not known",
        )
    if reason:
        made.keep(candidate, reason, message)
    return not reason


def _one_by_one(
    ranked: Sequence[Candidate], look: Look, context: DisruptionContext, made: MethodResult
) -> Look:
    tried = dict.fromkeys(look.tried)
    told = {k.node_claim: k for k in look.kept}
    trials, waiting, blocked = 0, 0, False
    for candidate in _in_turn(ranked):
        name, pool = candidate.name, candidate.pool.meta.name
        if name in tried:
            made.kept += [told[name]] if name in told else []
        elif made.proposals or trials >= TRIALS_MOST:
            waiting += 1
            made.keep(candidate, reasons.WAITS, "it is looked at after others")
        elif not (candidate.is_dry or context.allowance(REASON).has(pool)):
            blocked = True
            message = f"NodePool {pool} allows no more disruptions for reason {REASON} now"
            made.keep(candidate, reasons.BUDGET, message)
        else:
            tried[name], trials = None, trials + 1
            _try(candidate, context, made)
            told |= {k.node_claim: k for k in made.kept[-1:] if k.node_claim == name}
    found = replace(
        look,
        at=context.now,
        tried=frozenset(tried),
        kept=tuple(told.values()),
        complete=not (waiting or made.proposals),
        # What only a budget keeps is looked at again although nothing has changed.
        changes=-1 if blocked else look.changes,
    )
    if not found.complete:
        made.wakes.append(found.again_at(context.snapshot.changes))
    return found


def _try(candidate: Candidate, context: DisruptionContext, made: MethodResult) -> None:
    found = Evaluator(context).evaluate((candidate.state_node,), "single")
    if found.refusal is not None:
        made.keep(candidate, reasons.UNCONSOLIDATABLE, str(found.refusal))
        return
    proposal = propose(
        (candidate,),
        context,
        reason=REASON,
        method="single",
        new_nodes=found.new_nodes,
        saves_usd_per_hour=found.saves_usd_per_hour,
    )
    if candidate.is_dry:
        made.keep(candidate, reasons.DRY_RUN, f"it would be disrupted: {proposal}")
    else:
        made.proposals.append(proposal)


def _worth(candidate: Candidate, context: DisruptionContext) -> float:
    """What it costs, per pod that would have to move (Karpenter's SavingsRatio)."""
    return context.prices.get(candidate.state_node.name, 0.0) / candidate.cost


def _in_turn(ranked: Sequence[Candidate]) -> list[Candidate]:
    """One of each NodePool after the other, the best of each first."""
    by_pool: dict[str, list[Candidate]] = {}
    for candidate in ranked:
        by_pool.setdefault(candidate.pool.meta.name, []).append(candidate)
    rows = zip_longest(*(by_pool[name] for name in sorted(by_pool)))
    return [candidate for row in rows for candidate in row if candidate is not None]
