"""Nodes that are no longer what their NodePool and node class ask for are replaced, oldest drift first.

Each NodePool goes on by itself, one node per tick, and no faster than its rollout allows (`disruption.rollout`): a node
that cannot be replaced holds up neither other NodePools nor, for longer than one look, the other nodes of its own.

Source: Karpenter's Drift and StaticDrift. It has one command for all NodePools at a time.
"""

from collections.abc import Sequence
from typing import Final

from daiku.disruption import rollout
from daiku.disruption.candidates import Candidate
from daiku.disruption.context import DisruptionContext, MethodResult, propose
from daiku.disruption.evaluation import Evaluation, Evaluator
from daiku.model import resources
from daiku.model.condition import find
from daiku.model.nodepool import NodePool

REASON: Final = "Drifted"
STATIC_CAPACITY: Final = "StaticCapacity"
"""The gate of NodePools with a fixed number of nodes."""
_TRIALS_MOST: Final = 10
"""What-ifs per NodePool and tick: nodes that cannot be replaced must not take all the time."""


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
    gate = rollout.gate(pool, context, made)
    for candidate in drifted:
        objection = candidate.objection_to_drift
        reason, message, found = "", "", Evaluation()
        if done:
            reason, message = "DriftWaits", f"another node of NodePool {name} goes first"
        elif objection is not None:
            reason, message = objection.reason, objection.message
        elif any(gate):
            reason, message = gate
        elif not context.allowance(REASON).has(name):
            reason = "Budget"
            message = f"NodePool {name} allows no more disruptions for reason {REASON} now"
        elif pool.replicas is not None:
            reason, message = _is_static_full(pool, pool.replicas, context)
        elif candidate.reschedulable:
            trials += 1
            if trials > _TRIALS_MOST:
                reason, message = "DriftWaits", "others that cannot be replaced come before it"
            else:
                found = Evaluator(context).evaluate((candidate.state_node,), "drift")
                reason, message = ("NoPlace", str(found.refusal)) if found.refusal else ("", "")
        if not reason and candidate.is_dry:
            reason, message = "DryRun", "it would be replaced: Drifted"
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


def _is_static_full(pool: NodePool, replicas: int, context: DisruptionContext) -> tuple[str, str]:
    """Why no node of a static NodePool can be replaced now, as reason and sentence; both empty when one can.

    The replacement is made by the NodePool's own number: a node that is about to go does not count for it.
    """
    name = pool.meta.name
    nodes = [s for s in context.snapshot.state_nodes if s.nodepool == name and s.claim is not None]
    staying = [s for s in nodes if not s.is_leaving and s.claim_name not in context.members]
    if len(staying) > replicas:
        return "DriftWaits", f"NodePool {name} has {len(staying)} nodes, and {replicas} replicas"
    most = (pool.limits or {}).get(resources.NODES)
    if most is not None and len(nodes) >= most:
        return "LimitExceeded", f"NodePool {name} may have {most} nodes, and has them"
    return "", ""


def _order(candidate: Candidate) -> tuple[bool, float, str]:
    told = find(candidate.claim.conditions, "Drifted")
    since = told.last_transition if told is not None else None
    born = candidate.claim.meta.created
    at = since or born
    return bool(candidate.reschedulable), at.timestamp() if at is not None else 0.0, candidate.name
