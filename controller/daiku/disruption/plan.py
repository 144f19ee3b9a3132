"""Everything about nodes that may go: what has begun is carried on, what was decided is checked again, more is decided.

The methods come in a fixed order, those that need fewer sacrifices first, and the first that finds something ends the
tick; what a later one would have done is decided when the effect of this one is seen. Consolidation, which is never
urgent, rests its decision for a while and acts only if it would decide the same again.

Source: Karpenter's disruption controller and its validation.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Final

from daiku import reasons
from daiku.commands import Announce, Command
from daiku.disruption import (
    candidates,
    consolidation,
    drift,
    emptiness,
    fallback,
    joint,
    loops,
    marks,
    moves,
    opening,
    progress,
    record,
    repacking,
    scale_in,
    telling,
)
from daiku.disruption.candidates import Candidate
from daiku.disruption.ground import Ground
from daiku.disruption.weighing import Together
from daiku.model.instance_type import Catalogue
from daiku.report import Kept, Look, Proposal
from daiku.scheduling.packer.effort import Stop
from daiku.settings import Settings
from daiku.state.snapshot import Snapshot

REST: Final = timedelta(seconds=15)
"""How long a consolidation rests between decision and deed (Karpenter's figure)."""
_RETRY: Final = timedelta(seconds=10)
"""How often nodes that a budget or a pod keeps are looked at again (Karpenter's interval)."""
_TOLD_MOST: Final = 20
"""Nodes per tick that are told why they are not consolidated; the others are told later, or in the report."""
_DRIFT: Final = "drift"
_OWN_TIME: Final = frozenset(
    {
        reasons.NOT_EMPTY, reasons.TOO_YOUNG, reasons.CONSOLIDATION_DISABLED, reasons.STATIC_NODE_POOL,
        reasons.NOT_INITIALIZED, reasons.PAUSED, reasons.UNCONSOLIDATABLE, reasons.WAITS, reasons.DISRUPTING,
        reasons.LOOP, fallback.REASON,
    }
)  # fmt: skip
"""Reasons that end with an event or at a known time, so that looking again in between is no use."""


@dataclass(slots=True)
class Disruption:
    """What is to be done about nodes that may go."""

    commands: list[Command] = field(default_factory=list[Command])
    kept: list[Kept] = field(default_factory=list[Kept])
    """Every node that could have been disrupted and is not, and why."""
    proposals: list[Proposal] = field(default_factory=list[Proposal])
    """Decisions that rest before they are acted upon."""
    looks: dict[str, Look] = field(default_factory=dict[str, Look])
    """What is to be remembered of methods that look at a part of the nodes at a time."""
    wakes: list[datetime] = field(default_factory=list[datetime])


def plan(
    snapshot: Snapshot,
    catalogue: Catalogue,
    settings: Settings,
    placements: Mapping[str, str],
    now: datetime,
    *,
    stop: Stop | None = None,
) -> Disruption:
    """Decide which nodes go.

    Args:
        snapshot: Nodes, pods and budgets.
        catalogue: What can be bought.
        settings: How to decide.
        placements: Where pending pods are expected, by this tick's word.
        now: The time.
        stop: Asked now and then whether what is best so far must do.
    """
    ground = Ground(
        snapshot=snapshot,
        catalogue=catalogue,
        settings=settings,
        placements=placements,
        moves=tuple(moves.under_way(snapshot)),
        now=now,
        stop=stop,
    )
    begun = progress.plan(ground)
    opened = opening.plan(ground)
    found, kept = candidates.find(snapshot, placements, moves.moving(ground.moves), now)
    made = Disruption(
        commands=[*begun.commands, *opened.commands], kept=kept, wakes=[*begun.wakes, *opened.wakes]
    )
    started = _check_again(found, ground, made)
    rest = [c for c in found if c.name not in _claims(made.proposals) and c.name not in started]
    if catalogue.version:
        _decide(rest, ground, made, begun=bool(started))
    told = {each.node_claim: each for each in made.kept}
    made.kept = [told[name] for name in sorted(told)]
    events, told_by_now = telling.blocked(made.kept, ground)
    made.commands += events
    made.looks |= told_by_now
    ordered = scale_in.plan(snapshot, now)
    made.commands += ordered.commands
    made.wakes += ordered.wakes
    if any(each.reason not in _OWN_TIME for each in made.kept):
        made.wakes.append(now + _RETRY)
    return made


def _check_again(found: Sequence[Candidate], ground: Ground, made: Disruption) -> frozenset[str]:
    """Act upon decisions that have rested and are still right; the NodeClaims that are told so."""
    by_name = {c.name: c for c in found}
    rested: list[tuple[Proposal, list[Candidate]]] = []
    for proposal in ground.snapshot.proposals:
        due = proposal.decided + REST
        if due > ground.now:
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
        else:
            rested.append((proposal, [by_name[n] for n in proposal.claims if n in by_name]))
    objections = _objections(rested, found, ground)
    for proposal, members in rested:
        why = objections[proposal.id]
        if not why:
            made.commands += _begin(proposal, members, ground)
            continue
        message = f"Consolidation rejected: {proposal}, reason: {why}"
        for candidate in members:
            made.commands += marks.announce(
                candidate.state_node, reasons.CONSOLIDATION_REJECTED, message
            )
    return frozenset(n for p, _ in rested if not objections[p.id] for n in p.claims)


def _objections(
    rested: Sequence[tuple[Proposal, list[Candidate]]],
    candidates: Sequence[Candidate],
    ground: Ground,
) -> dict[str, str]:
    """Why each proposal, by its id, is not right any more; empty for those that are."""
    steps, outdone = [(p, m) for p, m in rested if p.method == repacking.METHOD], ""
    if steps:
        free, _ = fallback.one_at_a_time(candidates, ground.moves, ground.prices(), ground.now)
        outdone = repacking.outdone(steps, free, ground)
    found = {
        p.id: (outdone if p.method == repacking.METHOD else "")
        or consolidation.objection(p, members, ground)
        for p, members in rested
    }
    able = [(p, members) for p, members in rested if not found[p.id]]
    if not able:
        return found
    together, left = Together(ground.world(), ground), ground.allowance(consolidation.REASON)
    steps = [(p, members) for p, members in able if p.method == repacking.METHOD]
    pools = [c.pool.meta.name for _, members in steps for c in members]
    if len(steps) > 1 and left.has_all(pools) and repacking.are_right(steps, ground, together):
        left.take_all(pools)
        able = [(p, members) for p, members in able if p.method != repacking.METHOD]
    for proposal, members in able:
        # What is refused leaves the budgets to those after it.
        pools = [c.pool.meta.name for c in members]
        if not left.has_all(pools):
            names = ", ".join(dict.fromkeys(pools))
            found[proposal.id] = f"budget: NodePool {names} allows no more disruptions now"
            continue
        found[proposal.id] = consolidation.again(proposal, members, ground, together)
        if not found[proposal.id]:
            left.take_all(pools)
    return found


def _decide(rest: Sequence[Candidate], ground: Ground, made: Disruption, *, begun: bool) -> None:
    by_name = {c.name: c for c in rest}
    empty = emptiness.plan(rest, ground)
    made.kept += empty.kept
    made.wakes += empty.wakes
    for proposal in empty.proposals:
        made.commands += _begin(proposal, [by_name[n] for n in proposal.claims], ground)
    if empty.proposals:
        return
    if _drift(rest, ground, made) or made.proposals or begun:
        return
    drifted = {c.name: True for c in rest if c.claim.is_true("Drifted")}
    rest, kept = fallback.one_at_a_time(rest, ground.moves, ground.prices(), ground.now)
    made.kept += kept
    made.wakes += fallback.ends(ground.snapshot, ground.now)
    rest, waiting = _beside_repacks(rest, ground)
    made.kept += waiting
    searched, look = consolidation.plan(rest, ground)
    made.commands += loops.announce(ground.loops(), ground.snapshot)
    # Of a node that has drifted, what keeps it from being replaced is the better answer.
    made.kept += [k for k in searched.kept if k.node_claim not in drifted]
    made.wakes += searched.wakes
    made.proposals += searched.proposals
    made.wakes += [p.decided + REST for p in searched.proposals]
    if look is not None:
        made.looks[consolidation.LOOK] = look
        made.commands += _why_not(searched.kept, by_name, ground)
    for proposal in searched.proposals:
        for name in proposal.claims:
            message = f"Consolidation candidate: {proposal}"
            made.commands += marks.announce(
                by_name[name].state_node, reasons.CONSOLIDATION_CANDIDATE, message
            )
        made.commands += telling.approved(
            proposal, [by_name[name] for name in proposal.claims], ground
        )


def _beside_repacks(
    rest: Sequence[Candidate], ground: Ground
) -> tuple[list[Candidate], list[Kept]]:
    """Candidates that no repack under way counts on, and the others: where its pods go is known when it is over."""
    unsettled = joint.unsettled(ground)
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


def _why_not(
    kept: Sequence[Kept], by_name: Mapping[str, Candidate], ground: Ground
) -> Iterator[Announce]:
    """Tell nodes why they are not consolidated, when that is news."""
    before = ground.snapshot.looks.get(consolidation.LOOK)
    known = {(k.node_claim, k.message): True for k in (before.kept if before is not None else ())}
    news = [
        k
        for k in kept
        if k.reason in {reasons.UNCONSOLIDATABLE, reasons.DRY_RUN}
        and (k.node_claim, k.message) not in known
    ]
    for each in news[:_TOLD_MOST]:
        state_node = by_name[each.node_claim].state_node
        also = telling.apart(state_node, ground.snapshot)
        yield from marks.announce(state_node, each.reason, f"{each.message}{also}")


def _drift(rest: Sequence[Candidate], ground: Ground, made: Disruption) -> bool:
    """Replace what has drifted; whether anything is."""
    before = ground.snapshot.looks.get(_DRIFT)
    if before is not None and not before.is_due(ground.snapshot.changes, ground.now):
        there = {c.name: True for c in rest}
        made.kept += [k for k in before.kept if k.node_claim in there]
        made.wakes.append(before.again_at(ground.snapshot.changes))
        return False
    drifted = drift.plan(rest, ground)
    by_name = {c.name: c for c in rest}
    made.kept += drifted.kept
    made.wakes += drifted.wakes
    made.commands += drifted.events
    for proposal in drifted.proposals:
        made.commands += _begin(proposal, [by_name[n] for n in proposal.claims], ground)
    if drifted.kept or drifted.proposals:
        made.looks[_DRIFT] = Look(
            at=ground.now,
            changes=ground.snapshot.changes,
            kept=tuple(drifted.kept),
            complete=not drifted.proposals,
            # What a time alone ends is looked at when that time has come.
            until=min(drifted.wakes, default=None),
        )
    return bool(drifted.proposals)


def _begin(proposal: Proposal, members: Sequence[Candidate], ground: Ground) -> list[Command]:
    written = record.of_proposal(proposal)
    return list(marks.begin([c.state_node for c in members], written, ground.now))


def _claims(proposals: Sequence[Proposal]) -> frozenset[str]:
    return frozenset(name for p in proposals for name in p.claims)
