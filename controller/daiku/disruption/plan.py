"""Everything about nodes that may go: what has begun is carried on, what was decided is checked again, more is decided.

The methods come in a fixed order, those that need fewer sacrifices first, and the first that finds something ends the
tick; what a later one would have done is decided when the effect of this one is seen. Consolidation, which is never
urgent, rests its decision for a while and acts only if it would decide the same again.

Source: Karpenter's disruption controller and its validation.
"""

from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from typing import Final

from daiku import reasons
from daiku.commands import Command
from daiku.disruption import (
    candidates,
    consolidation,
    disruption_commands,
    drift,
    emptiness,
    evaluation,
    fallback,
    loops,
    opening,
    progress,
    scale_in,
    telling,
)
from daiku.disruption.candidates import Candidate
from daiku.disruption.context import DisruptionContext, MethodResult
from daiku.model.instance_type import Catalogue
from daiku.report import Kept, Look, Proposal
from daiku.scheduling.packer.effort import Stop
from daiku.settings import Settings
from daiku.state.snapshot import Snapshot

REST: Final = timedelta(seconds=15)
"""How long a consolidation rests between decision and deed (Karpenter's figure)."""
_RETRY: Final = timedelta(seconds=10)
"""How often nodes that a budget or a pod keeps are looked at again (Karpenter's interval)."""
_DRIFT: Final = "drift"
_OWN_TIME: Final = frozenset(
    {
        reasons.NOT_EMPTY, reasons.TOO_YOUNG, reasons.CONSOLIDATION_DISABLED, reasons.STATIC_NODE_POOL,
        reasons.NOT_INITIALIZED, reasons.PAUSED, reasons.UNCONSOLIDATABLE, reasons.WAITS,
        reasons.DISRUPTING, reasons.LOOP, fallback.REASON,
    }
)  # fmt: skip
"""Reasons that end with an event or at a known time, so that looking again in between is no use."""


def plan(
    snapshot: Snapshot,
    catalogue: Catalogue,
    settings: Settings,
    placements: Mapping[str, str],
    now: datetime,
    *,
    stop: Stop | None = None,
) -> MethodResult:
    """Decide which nodes go.

    Args:
        snapshot: Nodes, pods and budgets.
        catalogue: What can be bought.
        settings: How to decide.
        placements: Where pending pods are expected, by this tick's word.
        now: The time.
        stop: Asked now and then whether what is best so far must do.
    """
    context = DisruptionContext(
        snapshot=snapshot,
        catalogue=catalogue,
        settings=settings,
        placements=placements,
        moves=tuple(disruption_commands.under_way(snapshot)),
        now=now,
        stop=stop,
    )
    made = progress.plan(context)
    made.add(opening.plan(context))
    found, made.kept = candidates.find(
        snapshot, placements, disruption_commands.moving(context.moves), now
    )
    started = _check_again(found, context, made)
    claimed = started.union(*(p.claims for p in made.proposals))
    if catalogue.version:
        rest = [c for c in found if c.name not in claimed]
        _decide(rest, context, made, begun=bool(started))
    told = {each.node_claim: each for each in made.kept}
    made.kept = [told[name] for name in sorted(told)]
    made.add(telling.blocked(made.kept, context))
    made.add(scale_in.plan(snapshot, now))
    if any(each.reason not in _OWN_TIME for each in made.kept):
        made.wakes.append(now + _RETRY)
    return made


def _check_again(
    found: Sequence[Candidate], context: DisruptionContext, made: MethodResult
) -> frozenset[str]:
    """Evaluate again what was decided 15 s ago, and start what is still right; the NodeClaims that are told so.

    Source: Karpenter's validation.
    """
    by_name = {c.name: c for c in found}
    rested: list[tuple[Proposal, Sequence[Candidate]]] = []
    rejected: dict[str, str] = {}
    for proposal in context.snapshot.proposals:
        due = proposal.decided + REST
        members = [by_name[n] for n in proposal.claims if n in by_name]
        if due > context.now:
            made.proposals.append(proposal)
            made.wakes.append(due)
            made.kept += [
                Kept(
                    node_claim=name,
                    reason=reasons.DISRUPTING,
                    message=f"it is about to go: {proposal}",
                )
                for name in proposal.claims
            ]
        elif why := _churn(proposal, members, context):
            rejected[proposal.id] = why
        else:
            rested.append((proposal, members))
    allowance = context.allowance(consolidation.REASON)
    admitted, refused = evaluation.admit(rested, context, allowance)
    rejected |= refused
    for proposal in admitted:
        made.commands += _begin(proposal, [by_name[n] for n in proposal.claims], context)
    for proposal in context.snapshot.proposals:
        if why := rejected.get(proposal.id, ""):
            message = f"Consolidation rejected: {proposal}, reason: {why}"
            for candidate in (by_name[n] for n in proposal.claims if n in by_name):
                made.commands += disruption_commands.announce(
                    candidate.state_node, reasons.CONSOLIDATION_REJECTED, message
                )
    return frozenset(name for p in admitted for name in p.claims)


def _churn(proposal: Proposal, members: Sequence[Candidate], context: DisruptionContext) -> str:
    """Why nodes of a proposal may not be disrupted any more; empty when they may, budgets left aside."""
    there = {c.name: True for c in members}
    if gone := [name for name in proposal.claims if name not in there]:
        return f"churn: {', '.join(gone)} may not be disrupted any more"
    made = MethodResult()
    for candidate in members:
        if candidate.is_empty:
            return f"churn: {candidate.name} is empty now"
        if not consolidation.is_able(candidate, context, made):
            return f"churn: {candidate.name}: {made.kept[-1].message}"
    return ""


def _decide(
    rest: Sequence[Candidate], context: DisruptionContext, made: MethodResult, *, begun: bool
) -> None:
    by_name = {c.name: c for c in rest}
    for method in (emptiness.plan, _drift):
        found = method(rest, context)
        made.add(found)
        for proposal in found.proposals:
            members = [by_name[name] for name in proposal.claims]
            made.commands += _begin(proposal, members, context)
        if found.proposals:
            return
    if made.proposals or begun:
        return
    rest, made_to_wait = fallback.one_at_a_time(rest, context.moves, context.prices, context.now)
    made.kept += made_to_wait
    made.wakes += fallback.ends(context.snapshot, context.now)
    rest, made_to_wait = _beside_repacks(rest, context)
    made.kept += made_to_wait
    found = consolidation.plan(rest, context)
    made.commands += loops.announce(context.loops, context.snapshot)
    # Of a node that has drifted, what keeps it from being replaced is the better answer.
    found.kept = [k for k in found.kept if not by_name[k.node_claim].claim.is_true("Drifted")]
    made.add(found)
    made.proposals += found.proposals
    made.wakes += [p.decided + REST for p in found.proposals]
    for proposal in found.proposals:
        nodes = [by_name[name].state_node for name in proposal.claims]
        for state_node in nodes:
            message = f"Consolidation candidate: {proposal}"
            made.commands += disruption_commands.announce(
                state_node, reasons.CONSOLIDATION_CANDIDATE, message
            )
        made.commands += telling.approved(proposal, nodes, context)


def _beside_repacks(
    rest: Sequence[Candidate], context: DisruptionContext
) -> tuple[list[Candidate], list[Kept]]:
    """Candidates that no repack under way counts on, and the others: where its pods go is known when it is over."""
    unsettled = progress.unsettled(context)
    waiting = [
        Kept(
            node_claim=each.name,
            reason=reasons.WAITS,
            message=f"nodes of NodePool {each.pool.meta.name} are being repacked, and may need its room",
        )
        for each in rest
        if each.pool.meta.name in unsettled
    ]
    return [each for each in rest if each.pool.meta.name not in unsettled], waiting


def _drift(rest: Sequence[Candidate], context: DisruptionContext) -> MethodResult:
    """Replace what has drifted; while nothing changes, what was said last."""
    before, changes = context.snapshot.looks.get(_DRIFT), context.snapshot.changes
    if before is not None and not before.is_due(changes, context.now):
        there = {c.name: True for c in rest}
        kept = [k for k in before.kept if k.node_claim in there]
        return MethodResult(kept=kept, wakes=[before.again_at(changes)])
    found = drift.plan(rest, context)
    if found.kept or found.proposals:
        found.looks[_DRIFT] = Look(
            at=context.now,
            changes=changes,
            kept=tuple(found.kept),
            complete=not found.proposals,
            # What a time alone ends is looked at when that time has come.
            until=min(found.wakes, default=None),
        )
    return found


def _begin(
    proposal: Proposal, members: Sequence[Candidate], context: DisruptionContext
) -> list[Command]:
    written = disruption_commands.of_proposal(proposal)
    return list(disruption_commands.begin([c.state_node for c in members], written, context.now))
