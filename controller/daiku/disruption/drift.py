"""Nodes that are no longer what their NodePool and node class ask for are replaced, oldest drift first.

Each NodePool goes on by itself, one node per tick: a node that cannot be replaced holds up neither other NodePools nor,
for longer than one look, the other nodes of its own. A new image that does not boot, or boots into a node that never
gets ready, must not take a NodePool down: the first new node has to prove itself, ready and for a while, before a tenth
of the pool follows; the tenth has to before all others do. As soon as a new node is not ready or does not come up, the
rollout stops and says so. All of it is read off the NodeClaims: a replacement carries the record of what it replaced.

Source: Karpenter's Drift and StaticDrift. It has one command for all NodePools at a time, and no rollout.
"""

from collections.abc import Sequence
from datetime import datetime, timedelta
from math import ceil
from typing import Final

from daiku import reasons
from daiku.commands import Announce
from daiku.disruption import disruption_commands
from daiku.disruption.candidates import Candidate
from daiku.disruption.context import DisruptionContext, MethodResult, propose
from daiku.disruption.evaluation import Evaluation, Evaluator
from daiku.model import resources
from daiku.model.condition import find
from daiku.model.nodepool import NodePool
from daiku.reason import NO_REASON, Reason
from daiku.scheduling import price_guard
from daiku.state.statenode import StateNode

REASON: Final = reasons.DRIFTED
STATIC_CAPACITY: Final = "StaticCapacity"
"""The gate of NodePools with a fixed number of nodes."""
_TRIALS_MOST: Final = 10
"""What-ifs per NodePool and tick: nodes that cannot be replaced must not take all the time."""
STOPPED: Final = timedelta(minutes=30)
"""How long a NodePool's rollout rests after a replacement did not come up."""
_RECENT: Final = timedelta(hours=1)
"""For how long an illness of a new node speaks against what it was made from."""
_SECOND_WAVE: Final = 0.1


def plan(candidates: Sequence[Candidate], context: DisruptionContext) -> MethodResult:
    """One drifted node of each NodePool whose rollout and budget allow it."""
    made = MethodResult()
    static = context.settings.is_on(STATIC_CAPACITY)
    drifted = [
        c for c in candidates if c.claim.is_true("Drifted") and (static or c.pool.replicas is None)
    ]
    for name in sorted(dict.fromkeys(c.pool.meta.name for c in drifted)):
        _plan_pool(
            sorted((c for c in drifted if c.pool.meta.name == name), key=_order), context, made
        )
    return made


def _plan_pool(
    drifted: Sequence[Candidate], context: DisruptionContext, made: MethodResult
) -> None:
    pool, trials, done = drifted[0].pool, 0, False
    name = pool.meta.name
    gate = _gate(pool, context, made)
    for candidate in drifted:
        objection = candidate.objection_to_drift
        reason, message, found = "", "", Evaluation()
        if done:
            reason, message = reasons.DRIFT_WAITS, f"another node of NodePool {name} goes first"
        elif objection is not None:
            reason, message = objection.reason, objection.message
        elif any(gate):
            reason, message = gate
        elif not context.allowance(REASON).has(name):
            reason = reasons.BUDGET
            message = f"NodePool {name} allows no more disruptions for reason {REASON} now"
        elif pool.replicas is not None:
            reason, message = _is_static_full(pool, pool.replicas, context)
        elif candidate.reschedulable:
            trials += 1
            if trials > _TRIALS_MOST:
                reason, message = (
                    reasons.DRIFT_WAITS,
                    "others that cannot be replaced come before it",
                )
            else:
                found = Evaluator(context).evaluate((candidate.state_node,), "drift")
                reason, message = _against(found, context)
        if not reason and candidate.is_dry:
            reason, message = reasons.DRY_RUN, "it would be replaced: Drifted"
        if reason:
            made.keep(candidate, reason, message)
            continue
        context.allowance(REASON).take(name)
        done = True
        proposal = propose(
            (candidate,),
            context,
            reason=REASON,
            method="drift" if pool.replicas is None else "static",
            new_nodes=found.new_nodes,
            saves_usd_per_hour=found.saves_usd_per_hour,
        )
        made.proposals.append(proposal)


def _against(found: Evaluation, context: DisruptionContext) -> tuple[Reason, str]:
    """Why a node is not replaced so, as reason and sentence; both empty when it is."""
    if found.refusal:
        return reasons.NO_PLACE, str(found.refusal)
    for node in found.new_nodes:
        times = price_guard.factor(node.pool, context.settings)
        most = price_guard.most_of(node, context.catalogue, times)
        if node.usd_per_hour > most:
            return reasons.CAPACITY_UNAVAILABLE, (
                f"what would replace it costs ${node.usd_per_hour:.4f}/h ({node.types[0].name}) while all cheaper "
                f"types that would do are sold out, and may cost ${most:.4f}/h"
            )
    return NO_REASON, ""


def _is_static_full(
    pool: NodePool, replicas: int, context: DisruptionContext
) -> tuple[Reason, str]:
    """Why no node of a static NodePool can be replaced now, as reason and sentence; both empty when one can.

    The replacement is made by the NodePool's own number: a node that is about to go does not count for it.
    """
    name = pool.meta.name
    nodes = [s for s in context.snapshot.state_nodes if s.nodepool == name and s.claim is not None]
    staying = [s for s in nodes if not s.is_leaving and s.claim_name not in context.members]
    if len(staying) > replicas:
        return (
            reasons.DRIFT_WAITS,
            f"NodePool {name} has {len(staying)} nodes, and {replicas} replicas",
        )
    most = (pool.limits or {}).get(resources.NODES)
    if most is not None and len(nodes) >= most:
        return reasons.LIMIT_EXCEEDED, f"NodePool {name} may have {most} nodes, and has them"
    return NO_REASON, ""


def _order(candidate: Candidate) -> tuple[bool, float, str]:
    told = find(candidate.claim.conditions, "Drifted")
    since = told.last_transition if told is not None else None
    born = candidate.claim.meta.created
    at = since or born
    return bool(candidate.reschedulable), at.timestamp() if at is not None else 0.0, candidate.name


def _gate(pool: NodePool, context: DisruptionContext, made: MethodResult) -> tuple[Reason, str]:
    """Why no more nodes of `pool` may be replaced now, as reason and sentence; both empty when one may."""
    name, now = pool.meta.name, context.now
    soak = context.settings.drift_soak
    nodes = [s for s in context.snapshot.state_nodes if s.nodepool == name and s.claim is not None]
    failed = _failed(nodes, now)
    fresh = [s for s in nodes if _is_fresh(s)]
    ill = [s.name for s in fresh if (s.node is None or not s.node.is_ready) and _is_recent(s, now)]
    if failed is not None:
        claim, until = failed
        why = f"the replacement of {claim} did not come up; tried again from {until:%H:%M} UTC on"
        made.wakes.append(until)
        made.commands.append(_tell(pool, why))
        return reasons.DRIFT_STOPPED, why
    if ill:
        why = f"new nodes are not ready: {', '.join(ill[:5])}"
        made.commands.append(_tell(pool, why))
        return reasons.DRIFT_STOPPED, why
    proving = [(s, _proven_at(s, soak)) for s in fresh]
    proven = [s for s, at in proving if at is not None and at <= now]
    made.wakes += [at for _, at in proving if at is not None and at > now]
    open_ones = [
        m for m in context.moves if m.record.method in {"drift", "static"} and name in m.pools
    ]
    busy = len(open_ones) + len(fresh) - len(proven)
    tenth = ceil(len(nodes) * _SECOND_WAVE)
    most = 1 if not proven else tenth if len(proven) < tenth else None
    if most is None or busy < most:
        return NO_REASON, ""
    wave = "the first new node" if not proven else f"a tenth of the nodes ({tenth})"
    soaking = f" and be ready for {soak.total_seconds():.0f} s" if soak else ""
    return reasons.DRIFT_WAVE, f"{wave} must come up{soaking} before more follow"


def _is_fresh(state_node: StateNode) -> bool:
    """Whether it came in the place of a drifted node, and has not drifted itself."""
    claim = state_node.claim
    if claim is None or state_node.is_leaving or not state_node.is_initialized:
        return False
    written = disruption_commands.read(claim)
    return (
        written is not None
        and written.method == "drift"
        and claim.meta.name not in written.claims
        and not claim.is_true("Drifted")
    )


def _proven_at(state_node: StateNode, soak: timedelta) -> datetime | None:
    told = find(state_node.claim.conditions, "Initialized") if state_node.claim else None
    since = told.last_transition if told is not None and told.status == "True" else None
    return since + soak if since is not None else None


def _is_recent(state_node: StateNode, now: datetime) -> bool:
    since = _proven_at(state_node, timedelta())
    return since is None or now - since < _RECENT


def _failed(nodes: list[StateNode], now: datetime) -> tuple[str, datetime] | None:
    """The last drifted node whose replacement did not come up, and until when that counts."""
    told = [
        (s.claim_name, find(s.claim.conditions, disruption_commands.CONDITION))
        for s in nodes
        if s.claim is not None and s.claim.is_true("Drifted")
    ]
    untils = [
        (c.last_transition + STOPPED, name)
        for name, c in told
        if c is not None
        and c.status == "False"
        and c.reason == disruption_commands.REPLACEMENT_FAILED
        and c.last_transition is not None
    ]
    until, name = max(untils, default=(now, ""))
    return (name, until) if until > now else None


def _tell(pool: NodePool, why: str) -> Announce:
    return Announce.on(
        "NodePool",
        pool.meta,
        type_="Warning",
        reason=reasons.DRIFT_STOPPED,
        message=f"Drifted nodes are not replaced for now: {why}",
    )
