"""Carries a disruption on from wherever it stands, or calls it off.

    decided → written down → pods are kept away → is it still right? → replacements made → initialized
            → is it still right? → old nodes deleted

"Is it still right?" is asked of the cluster as it is then: nobody objects, the budget holds, and every pod has a place
on nodes that are there. So a move that is deleted has been checked with pods already kept away, and one whose
replacement was filled by others meanwhile is called off and not carried out all the same.

Source: Karpenter's disruption queue. It checks only before the replacements are made.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from typing import Final

from daiku import reasons
from daiku.commands import Announce, Command, CreateNodeClaim
from daiku.disruption import candidates, joint, marks, moves, opening, record
from daiku.disruption.budgets import Allowance
from daiku.disruption.budgets import allowance as allowance_of
from daiku.disruption.ground import Ground
from daiku.disruption.moves import Move
from daiku.disruption.weighing import Weighing
from daiku.model import labels
from daiku.model.pdb import Budgets
from daiku.reason import Reason
from daiku.scheduling import claims, limits
from daiku.state.inflight import Hold
from daiku.state.statenode import StateNode
from daiku.surge import hold

TIMEOUT: Final = timedelta(minutes=10)
"""How long replacements may take to be initialized (Karpenter's figure)."""
_UNWEIGHED: Final = ("empty", "static")
"""Methods that need no what-if: nobody has to move, or the NodePool's number makes the room."""
_SOON: Final = timedelta(seconds=1)
_MARKING: Final = timedelta(seconds=10)
"""How long repacks wait until others of their NodePools that have only just begun keep pods away as well, and until all
of their nodes can be told what is next."""


@dataclass(slots=True)
class Progress:
    """What is to be done about moves under way."""

    commands: list[Command] = field(default_factory=list[Command])
    wakes: list[datetime] = field(default_factory=list[datetime])


def plan(ground: Ground) -> Progress:
    """Bring every move one step further.

    Repacks are weighed together, and concluded together when all have room; of others one is weighed per tick.
    """
    made = Progress()
    pdbs = Budgets.of(ground.snapshot.pdbs)
    open_ones: dict[str, Allowance] = {}
    weighed = False
    able: list[Move] = []
    beginning = _beginning(ground)
    for move in ground.moves:
        if not move.staying or _is_being_written(move, ground):
            continue
        reason = move.record.reason
        if reason not in open_ones:
            open_ones[reason] = allowance_of(ground.snapshot, reason, ground.now)
        why = _objection(move, pdbs, ground)
        if why is not None:
            made.commands += _call_off(move, *why, ground)
            continue
        unmarked = [s for s in move.staying if s.claim and not s.claim.is_true(record.CONDITION)]
        made.commands += marks.begin(unmarked, move.record, ground.now)
        if untainted := _untainted(move):
            made.commands += marks.keep_pods_away(untainted)
        elif _waits(move, made, ground) or (
            move.is_repack and not beginning.isdisjoint(move.pools)
        ):
            continue
        elif joint.may_grow(move, ground):
            able.append(move)
        elif move.record.method in _UNWEIGHED or _has_places(move, ground):
            made.commands += _conclude(move, open_ones[reason], ground, Weighing())
        elif weighed:
            made.wakes.append(ground.now + _SOON)
        else:
            weighed = True
            made.commands += _conclude(move, open_ones[reason], ground)
    _together(able, open_ones, made, ground)
    for stray in moves.strays(ground.snapshot, moves.moving(ground.moves)):
        made.commands += marks.let_off(
            (stray,),
            reasons.CALLED_OFF_STRAY,
            "no disruption of this node is under way",
            ground.now,
        )
    return made


def _beginning(ground: Ground) -> frozenset[str]:
    """NodePools of which some nodes that were to be repacked together do not keep pods away yet.

    Pods that leave now might go there, only to move again; and what is bought for some of them would not suit all.
    """
    return ground.repacked_pools(
        _MARKING, lambda move: _is_being_written(move, ground) or bool(_untainted(move))
    )


def _untainted(move: Move) -> list[StateNode]:
    """Nodes that are to go and do not keep pods away yet."""
    return [s for s in move.staying if s.node is not None and not moves.is_tainted(s)]


def _together(
    able: Sequence[Move], open_ones: Mapping[str, Allowance], made: Progress, ground: Ground
) -> None:
    """Have repacks that lack room buy what they lack, or give one of them up; conclude those that lack nothing.

    Who could go already waits while others of the NodePool buy: when all pods leave at once they can do so by size,
    which is how it was reckoned where they land.
    """
    growing = joint.growing(ground)
    able = [move for move in able if growing.isdisjoint(move.pools)]
    if not able:
        return
    if held := _held(able, ground):
        made.wakes += [hold.until for hold in held if hold.until is not None]
        return
    bought = joint.weigh(able, ground)
    if isinstance(bought, str):
        # Without the least of them the others may still be right.
        made.commands += _call_off(able[-1], reasons.NO_PLACE, bought, ground)
        made.wakes.append(ground.now + _SOON)
        return
    for move in able:
        weighing = bought.get(move.record.id)
        if weighing is not None:
            made.commands += _conclude(move, open_ones[move.record.reason], ground, weighing)


def _held(able: Sequence[Move], ground: Ground) -> list[Hold]:
    """Why some of the nodes cannot be told now what the others are told, as after a write that was refused.

    They would go some seconds later, and find the room taken that was meant for their pods.
    """
    keys = (f"NodeClaim/{s.claim_name}" for move in able for s in move.staying)
    holds = ground.snapshot.holds
    return [h for key in keys if (h := holds.get(key)) and ground.now - h.since < _MARKING]


def _has_places(move: Move, ground: Ground) -> bool:
    """Whether its pods have room on nodes that are ready, beside those of all other moves."""
    pods = (p.meta.key for s in move.staying for p in s.reschedulable)
    return ground.world().are_placed(pods)


def _is_being_written(move: Move, ground: Ground) -> bool:
    """Whether others that are to go with it are just being told so."""
    there = {s.claim_name: True for s in move.members}
    return any(
        name not in there
        and name in ground.snapshot.by_name
        and ground.snapshot.is_held(f"NodeClaim/{name}")
        for name in move.record.claims
    )


def _objection(move: Move, pdbs: Budgets, ground: Ground) -> tuple[Reason, str] | None:
    """Why a move cannot go on, as reason and sentence."""
    if move.missing:
        gone = ", ".join(move.missing)
        return record.REPLACEMENT_FAILED, f"replacement {gone} was deleted before it was ready"
    if move.since is not None and ground.now - move.since >= TIMEOUT:
        ill = [s.claim_name for s in move.replacements if not s.is_initialized]
        ill += ["of the NodePool's number"] if _lacks_replicas(move, ground) else []
        if ill:
            minutes = int(TIMEOUT.total_seconds() // 60)
            waited = f"replacement {', '.join(ill)} was not ready within {minutes} minutes"
            return record.REPLACEMENT_FAILED, waited
    for state_node in move.staying:
        if candidates.is_forbidden(state_node):
            return (
                reasons.DO_NOT_DISRUPT,
                f"{state_node.claim_name} carries {labels.DO_NOT_DISRUPT} now",
            )
        claim = state_node.claim
        bounded = claim is not None and claim.termination_grace_period is not None
        if move.record.reason == reasons.DRIFTED and bounded:
            continue
        objection = candidates.objection(state_node, pdbs, ground.now)
        if objection is not None and objection.reason != reasons.POD_DISRUPTION_BUDGET:
            # A budget that is used up for the moment only makes the drain wait.
            return objection.reason, objection.message
    return None


def _waits(move: Move, made: Progress, ground: Ground) -> bool:
    """Whether replacements are still coming up; says so."""
    coming = [s for s in move.replacements if not s.is_initialized]
    if not coming and not _lacks_replicas(move, ground):
        return False
    if move.since is not None:
        made.wakes.append(move.since + TIMEOUT)
    for state_node in coming:
        if state_node.claim is not None and not state_node.expected:
            launched = state_node.claim.is_true("Launched")
            made.commands += _tell(
                state_node,
                reasons.DISRUPTION_WAITING_READINESS if launched else reasons.DISRUPTION_LAUNCHING,
                "Waiting on readiness to continue disruption"
                if launched
                else f"Launching NodeClaim: {move.record.reason}",
            )
    untold = [s for s in move.staying if _names(s) != move.record.replacements]
    made.commands += marks.begin(untold, move.record, ground.now)
    return True


def _lacks_replicas(move: Move, ground: Ground) -> bool:
    """Whether a static NodePool has not got its number of nodes yet beside those that are about to go."""
    if move.record.method != "static":
        return False
    for name in move.pools:
        pool = ground.snapshot.node_pool(name)
        ready = [
            s
            for s in ground.snapshot.state_nodes
            if s.nodepool == name
            and s.claim is not None
            and s.is_initialized
            and not s.is_leaving
            and s.claim_name not in ground.members
        ]
        if pool is not None and len(ready) < (pool.replicas or 0):
            return True
    return False


def _names(state_node: StateNode) -> tuple[str, ...]:
    written = record.read(state_node.claim) if state_node.claim is not None else None
    return written.replacements if written is not None else ()


def _conclude(
    move: Move, allowance: Allowance, ground: Ground, known: Weighing | None = None
) -> Iterator[Command]:
    """Everyone is marked and every replacement is there: delete, make replacements, or call off.

    Args:
        move: One whose turn has come.
        allowance: What budgets leave.
        ground: This tick's view.
        known: What is known already of its pods' places; None: they are looked for.
    """
    staying = move.staying
    refused = [s for s in staying if not allowance.take(s.nodepool)]
    if refused:
        pools = ", ".join(sorted(dict.fromkeys(s.nodepool for s in refused)))
        message = f"the budgets of NodePool {pools} allow no more disruptions for {move.record.reason} now"
        yield from _call_off(move, reasons.BUDGET, message, ground)
        return
    if move.record.method == "empty":
        busy = [s for s in staying if s.reschedulable]
        yield from marks.end([s for s in staying if s not in busy], move.record.reason)
        yield from marks.let_off(
            busy, reasons.NOT_EMPTY, "a pod came in the last moment", ground.now
        )
        return
    held = hold.before(staying, ground.snapshot, ground.now)
    if held.blocked:
        why = "; ".join(f"pod {pod}: {reason}" for pod, reason in held.blocked.items())
        reason = record.SURGE_STOPPED if held.is_stopped else reasons.SURGE_WAITS
        yield from _call_off(move, reason, why, ground)
        return
    if held.is_under_way:
        return
    surged = any(r.surged for s in staying if s.claim and (r := record.read(s.claim)))
    begun = replace(move, record=replace(move.record, surged=surged))
    weighing = Weighing.of_move(begun, ground) if known is None else known
    if weighing.refusal:
        yield from _call_off(move, reasons.NO_PLACE, weighing.refusal, ground)
    elif held.waiting and (held.looks or not weighing.new_nodes):
        # Whether every pod can have its surge is known before anything is paid for.
        yield from held.looks or held.commands
        if not (held.looks or surged):
            yield from marks.begin(staying, replace(move.record, surged=True), ground.now)
    elif not weighing.new_nodes:
        yield from held.commands
        yield from marks.end(staying, move.record.reason)
    else:
        yield from _replace(move, weighing, ground)


def _replace(move: Move, weighing: Weighing, ground: Ground) -> Iterator[Command]:
    """Make the nodes that come in the place of those that go."""
    wanted = _creations(move, weighing, ground)
    made = list(limits.within(wanted, ground.snapshot, ground.catalogue))
    if len(made) < len(wanted):
        pools = ", ".join(sorted(dict.fromkeys(n.pool.meta.name for n in weighing.new_nodes)))
        message = f"a replacement would exceed the limits of NodePool {pools}"
        yield from _call_off(move, reasons.LIMIT_EXCEEDED, message, ground)
        return
    yield from made
    names = sorted((*move.record.replacements, *(c.node_claim.meta.name for c in made)))
    written = replace(move.record, replacements=tuple(names))
    yield from marks.begin(move.staying, written, ground.now)


def _creations(move: Move, weighing: Weighing, ground: Ground) -> list[CreateNodeClaim]:
    taken = dict.fromkeys(ground.snapshot.by_name)
    made: list[CreateNodeClaim] = []
    for number, node in enumerate(weighing.new_nodes, start=len(move.record.replacements)):
        types = ground.catalogue.instance_types[node.pool.template.node_class]
        annotations = {labels.DISRUPTION_COMMAND: record.write(move.record)}
        if weighing.awaits_pods and opening.is_plain(node):
            annotations[labels.AWAITING_PODS] = "true"
        creation = claims.create(
            node,
            types,
            ground.settings,
            ground.now,
            given=claims.given_labels(types),
            taken=taken,
            purpose=f"{move.record.id}/{number}",
            annotations=annotations,
            reason=move.record.reason,
        )
        taken[creation.node_claim.meta.name] = None
        made.append(creation)
    return made


def _call_off(move: Move, reason: Reason, message: str, ground: Ground) -> Iterator[Command]:
    for state_node in move.staying:
        yield from marks.announce(
            state_node,
            reasons.DISRUPTION_CALLED_OFF,
            f"Disruption ({move.record.reason}) called off: {message}",
            kind="Warning",
        )
    yield from marks.let_off(move.staying, reason, message, ground.now)


def _tell(state_node: StateNode, reason: Reason, message: str) -> Iterator[Announce]:
    return (a for a in marks.announce(state_node, reason, message) if a.kind == "NodeClaim")
