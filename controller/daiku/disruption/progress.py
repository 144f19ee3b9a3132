"""Carries a disruption on from wherever it stands, or calls it off.

    decided → written down → pods are kept away → is it still right? → replacements made → initialized
            → is it still right? → old nodes deleted

"Is it still right?" is asked of the cluster as it is then: nobody objects, the budget holds, and every pod has a place
on nodes that are there. So a move that is deleted has been checked with pods already kept away, and one whose
replacement was filled by others meanwhile is called off and not carried out all the same.

Source: Karpenter's disruption queue. It checks only before the replacements are made.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import timedelta
from typing import TYPE_CHECKING, Final

from daiku import reasons
from daiku.commands import Announce, Command, CreateNodeClaim
from daiku.disruption import candidates, disruption_commands, opening
from daiku.disruption.budgets import Allowance
from daiku.disruption.budgets import allowance as allowance_of
from daiku.disruption.context import DisruptionContext, MethodResult
from daiku.disruption.disruption_commands import Move
from daiku.disruption.evaluation import UNWEIGHED, Evaluation, Evaluator
from daiku.model import labels
from daiku.model.pdb import Budgets
from daiku.reason import Reason
from daiku.scheduling import claims, limits
from daiku.state.inflight import Hold
from daiku.state.statenode import StateNode
from daiku.surge import hold

if TYPE_CHECKING:
    from daiku.scheduling.solution import NewNode

TIMEOUT: Final = timedelta(minutes=10)
"""How long replacements may take to be initialized (Karpenter's figure)."""
PATIENCE: Final = timedelta(minutes=5)
"""How long after its beginning a command may still find that it takes more replacements."""
_SOON: Final = timedelta(seconds=1)
_MARKING: Final = timedelta(seconds=10)
"""How long repacks wait until others of their NodePools that have only just begun keep pods away as well, and until all
of their nodes can be told what is next."""


def plan(context: DisruptionContext) -> MethodResult:
    """Bring every move one step further.

    Repacks are weighed together, and concluded together when all have room; of others one is weighed per tick.
    """
    made = MethodResult()
    pdbs = Budgets.of(context.snapshot.pdbs)
    open_ones: dict[str, Allowance] = {}
    weighed = False
    able: list[Move] = []
    beginning = _beginning(context)
    for move in context.moves:
        if not move.staying or _is_being_written(move, context):
            continue
        reason = move.record.reason
        if reason not in open_ones:
            open_ones[reason] = allowance_of(context.snapshot, reason, context.now)
        why = _objection(move, pdbs, context)
        if why is not None:
            made.commands += _call_off(move, *why, context)
            continue
        unmarked = [
            s
            for s in move.staying
            if s.claim and not s.claim.is_true(disruption_commands.CONDITION)
        ]
        made.commands += disruption_commands.begin(unmarked, move.record, context.now)
        if untainted := _untainted(move):
            made.commands += disruption_commands.keep_pods_away(untainted)
        elif _waits(move, made, context) or (
            move.is_repack and not beginning.isdisjoint(move.pools)
        ):
            continue
        elif move.is_repack and _may_grow(move, context):
            able.append(move)
        elif move.record.method in UNWEIGHED or _has_places(move, context):
            made.commands += _conclude(move, open_ones[reason], context, Evaluation())
        elif weighed:
            made.wakes.append(context.now + _SOON)
        else:
            weighed = True
            made.commands += _conclude(move, open_ones[reason], context)
    _together(able, open_ones, made, context)
    for stray in disruption_commands.strays(
        context.snapshot, disruption_commands.moving(context.moves)
    ):
        made.commands += disruption_commands.let_off(
            (stray,),
            reasons.CALLED_OFF_STRAY,
            "no disruption of this node is under way",
            context.now,
        )
    return made


def _beginning(context: DisruptionContext) -> frozenset[str]:
    """NodePools of which some nodes that were to be repacked together do not keep pods away yet.

    Pods that leave now might go there, only to move again; and what is bought for some of them would not suit all.
    """
    return context.repacked_pools(
        _MARKING, lambda move: _is_being_written(move, context) or bool(_untainted(move))
    )


def _untainted(move: Move) -> list[StateNode]:
    """Nodes that are to go and do not keep pods away yet."""
    return [s for s in move.staying if s.node is not None and not disruption_commands.is_tainted(s)]


def _together(
    able: Sequence[Move],
    open_ones: Mapping[str, Allowance],
    made: MethodResult,
    context: DisruptionContext,
) -> None:
    """Have repacks that lack room buy what they lack, or give one of them up; conclude those that lack nothing.

    Who could go already waits while others of the NodePool buy: when all pods leave at once they can do so by size,
    which is how it was reckoned where they land.
    """
    waiting = growing(context)
    able = [move for move in able if waiting.isdisjoint(move.pools)]
    if not able:
        return
    if held := _held(able, context):
        made.wakes += [hold.until for hold in held if hold.until is not None]
        return
    found = _evaluated(able, context)
    if found.refusal is not None:
        # Without the least of them the others may still be right.
        made.commands += _call_off(able[-1], reasons.NO_PLACE, str(found.refusal), context)
        made.wakes.append(context.now + _SOON)
        return
    shares: dict[str, list[NewNode]] = {}
    for node in found.new_nodes:
        # The first of those that send the most pods there.
        buyer = max(able, key=lambda move: len(move.pods.intersection(node.pods)))
        shares.setdefault(buyer.record.id, []).append(node)
    for move in able:
        if move.record.id in shares or not shares:
            own = replace(found, new_nodes=tuple(shares.get(move.record.id, ())))
            made.commands += _conclude(move, open_ones[move.record.reason], context, own)


def _evaluated(able: Sequence[Move], context: DisruptionContext) -> Evaluation:
    """Whether commands of one method are still right together, with the nodes of all others gone."""
    nodes = [s for move in able for s in move.staying]
    others = context.members - {s.claim_name for s in nodes}
    return Evaluator(context, others).evaluate(
        nodes,
        able[0].record.method,
        replacements=[s for move in able for s in move.replacements],
        may_grow=all(_may_grow(move, context) for move in able),
    )


def _may_grow(move: Move, context: DisruptionContext) -> bool:
    """Whether nodes may still be made for it.

    Pods fill several nodes that are there less well than they were packed on paper. So when the first replacements are
    there, a repack or the replacement of a drifted node may make some more. Nodes that got a surged pod are not left in
    peace for the command, and it buys none any more.
    """
    if move.record.surged:
        return False
    more = move.is_repack or move.record.method == "drift"
    return not move.replacements or (more and move.is_younger_than(PATIENCE, context.now))


def growing(context: DisruptionContext) -> frozenset[str]:
    """NodePools whose repacks wait for replacements that are coming up; one that takes long is not waited for."""
    return context.repacked_pools(
        PATIENCE, lambda move: any(not s.is_initialized for s in move.replacements)
    )


def unsettled(context: DisruptionContext) -> frozenset[str]:
    """NodePools of which nodes are being repacked whose pods may still need room on nodes that stay."""
    return context.repacked_pools(
        PATIENCE, lambda move: bool(move.members) or any(s.is_awaiting for s in move.replacements)
    )


def _held(able: Sequence[Move], context: DisruptionContext) -> list[Hold]:
    """Why some of the nodes cannot be told now what the others are told, as after a write that was refused.

    They would go some seconds later, and find the room taken that was meant for their pods.
    """
    keys = (f"NodeClaim/{s.claim_name}" for move in able for s in move.staying)
    holds = context.snapshot.holds
    return [h for key in keys if (h := holds.get(key)) and context.now - h.since < _MARKING]


def _has_places(move: Move, context: DisruptionContext) -> bool:
    """Whether its pods have room on nodes that are ready, beside those of all other moves."""
    pods = (p.meta.key for s in move.staying for p in s.reschedulable)
    return context.world.are_placed(pods)


def _is_being_written(move: Move, context: DisruptionContext) -> bool:
    """Whether others that are to go with it are just being told so."""
    there = {s.claim_name: True for s in move.members}
    return any(
        name not in there
        and name in context.snapshot.by_name
        and context.snapshot.is_held(f"NodeClaim/{name}")
        for name in move.record.claims
    )


def _objection(move: Move, pdbs: Budgets, context: DisruptionContext) -> tuple[Reason, str] | None:
    """Why a move cannot go on, as reason and sentence."""
    if move.missing:
        gone = ", ".join(move.missing)
        return (
            disruption_commands.REPLACEMENT_FAILED,
            f"replacement {gone} was deleted before it was ready",
        )
    if move.since is not None and context.now - move.since >= TIMEOUT:
        ill = [s.claim_name for s in move.replacements if not s.is_initialized]
        ill += ["of the NodePool's number"] if _lacks_replicas(move, context) else []
        if ill:
            minutes = int(TIMEOUT.total_seconds() // 60)
            waited = f"replacement {', '.join(ill)} was not ready within {minutes} minutes"
            return disruption_commands.REPLACEMENT_FAILED, waited
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
        objection = candidates.objection(state_node, pdbs, context.now)
        if objection is not None and objection.reason != reasons.POD_DISRUPTION_BUDGET:
            # A budget that is used up for the moment only makes the drain wait.
            return objection.reason, objection.message
    return None


def _waits(move: Move, made: MethodResult, context: DisruptionContext) -> bool:
    """Whether replacements are still coming up; says so."""
    coming = [s for s in move.replacements if not s.is_initialized]
    if not coming and not _lacks_replicas(move, context):
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
    made.commands += disruption_commands.begin(untold, move.record, context.now)
    return True


def _lacks_replicas(move: Move, context: DisruptionContext) -> bool:
    """Whether a static NodePool has not got its number of nodes yet beside those that are about to go."""
    if move.record.method != "static":
        return False
    for name in move.pools:
        pool = context.snapshot.node_pool(name)
        ready = [
            s
            for s in context.snapshot.state_nodes
            if s.nodepool == name
            and s.claim is not None
            and s.is_initialized
            and not s.is_leaving
            and s.claim_name not in context.members
        ]
        if pool is not None and len(ready) < (pool.replicas or 0):
            return True
    return False


def _names(state_node: StateNode) -> tuple[str, ...]:
    written = disruption_commands.read(state_node.claim) if state_node.claim is not None else None
    return written.replacements if written is not None else ()


def _conclude(
    move: Move, allowance: Allowance, context: DisruptionContext, known: Evaluation | None = None
) -> Iterator[Command]:
    """Everyone is marked and every replacement is there: delete, make replacements, or call off.

    Args:
        move: One whose turn has come.
        allowance: What budgets leave.
        context: This tick's view.
        known: What is known already of its pods' places; None: they are looked for.
    """
    staying = move.staying
    refused = [s for s in staying if not allowance.take(s.nodepool)]
    if refused:
        pools = ", ".join(sorted(dict.fromkeys(s.nodepool for s in refused)))
        message = f"the budgets of NodePool {pools} allow no more disruptions for {move.record.reason} now"
        yield from _call_off(move, reasons.BUDGET, message, context)
        return
    if move.record.method == "empty":
        busy = [s for s in staying if s.reschedulable]
        yield from disruption_commands.end(
            [s for s in staying if s not in busy], move.record.reason
        )
        yield from disruption_commands.let_off(
            busy, reasons.NOT_EMPTY, "a pod came in the last moment", context.now
        )
        return
    held = hold.before(staying, context.snapshot, context.now)
    if held.blocked:
        why = "; ".join(f"pod {pod}: {reason}" for pod, reason in held.blocked.items())
        reason = disruption_commands.SURGE_STOPPED if held.is_stopped else reasons.SURGE_WAITS
        yield from _call_off(move, reason, why, context)
        return
    if held.is_under_way:
        return
    surged = any(r.surged for s in staying if s.claim and (r := disruption_commands.read(s.claim)))
    begun = replace(move, record=replace(move.record, surged=surged))
    found = _evaluated([begun], context) if known is None else known
    if found.refusal is not None:
        yield from _call_off(move, reasons.NO_PLACE, str(found.refusal), context)
    elif held.waiting and (held.looks or not found.new_nodes):
        # Whether every pod can have its surge is known before anything is paid for.
        yield from held.looks or held.commands
        if not (held.looks or surged):
            yield from disruption_commands.begin(
                staying, replace(move.record, surged=True), context.now
            )
    elif not found.new_nodes:
        yield from held.commands
        yield from disruption_commands.end(staying, move.record.reason)
    else:
        yield from _replace(move, found, context)


def _replace(move: Move, found: Evaluation, context: DisruptionContext) -> Iterator[Command]:
    """Make the nodes that come in the place of those that go."""
    wanted = _creations(move, found, context)
    made = list(limits.within(wanted, context.snapshot, context.catalogue))
    if len(made) < len(wanted):
        pools = ", ".join(sorted(dict.fromkeys(n.pool.meta.name for n in found.new_nodes)))
        message = f"a replacement would exceed the limits of NodePool {pools}"
        yield from _call_off(move, reasons.LIMIT_EXCEEDED, message, context)
        return
    yield from made
    names = sorted((*move.record.replacements, *(c.node_claim.meta.name for c in made)))
    written = replace(move.record, replacements=tuple(names))
    yield from disruption_commands.begin(move.staying, written, context.now)


def _creations(move: Move, found: Evaluation, context: DisruptionContext) -> list[CreateNodeClaim]:
    taken = dict.fromkeys(context.snapshot.by_name)
    made: list[CreateNodeClaim] = []
    for number, node in enumerate(found.new_nodes, start=len(move.record.replacements)):
        types = context.catalogue.instance_types[node.pool.template.node_class]
        annotations = {labels.DISRUPTION_COMMAND: disruption_commands.write(move.record)}
        if found.awaits_pods and opening.is_plain(node):
            annotations[labels.AWAITING_PODS] = "true"
        creation = claims.create(
            node,
            types,
            context.settings,
            context.now,
            given=claims.given_labels(types),
            taken=taken,
            purpose=f"{move.record.id}/{number}",
            annotations=annotations,
            reason=move.record.reason,
        )
        taken[creation.node_claim.meta.name] = None
        made.append(creation)
    return made


def _call_off(
    move: Move, reason: Reason, message: str, context: DisruptionContext
) -> Iterator[Command]:
    for state_node in move.staying:
        yield from disruption_commands.announce(
            state_node,
            reasons.DISRUPTION_CALLED_OFF,
            f"Disruption ({move.record.reason}) called off: {message}",
            kind="Warning",
        )
    yield from disruption_commands.let_off(move.staying, reason, message, context.now)


def _tell(state_node: StateNode, reason: Reason, message: str) -> Iterator[Announce]:
    return (
        a
        for a in disruption_commands.announce(state_node, reason, message)
        if a.kind == "NodeClaim"
    )
