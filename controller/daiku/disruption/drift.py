"""Nodes that are no longer what their NodePool and node class ask for are replaced, oldest drift first.

Each NodePool goes on by itself, one node per tick, and no faster than its rollout allows (`disruption.rollout`): a node
that cannot be replaced holds up neither other NodePools nor, for longer than one look, the other nodes of its own.

Source: Karpenter's Drift and StaticDrift. It has one command for all NodePools at a time.
"""

from collections.abc import Sequence
from typing import Final

from daiku import reasons
from daiku.disruption import rollout
from daiku.disruption.candidates import Candidate
from daiku.disruption.ground import Ground
from daiku.disruption.method import Findings, propose
from daiku.disruption.weighing import Weighing, of_drift
from daiku.model import resources
from daiku.model.condition import find
from daiku.model.nodepool import NodePool
from daiku.reason import NO_REASON, Reason
from daiku.report import Kept
from daiku.scheduling import price_guard

REASON: Final = reasons.DRIFTED
STATIC_CAPACITY: Final = "StaticCapacity"
"""The gate of NodePools with a fixed number of nodes."""
_TRIALS_MOST: Final = 10
"""What-ifs per NodePool and tick: nodes that cannot be replaced must not take all the time."""


def plan(candidates: Sequence[Candidate], ground: Ground) -> Findings:
    """One drifted node of each NodePool whose rollout and budget allow it."""
    made = Findings()
    static = ground.settings.is_on(STATIC_CAPACITY)
    drifted = [
        c for c in candidates if c.claim.is_true("Drifted") and (static or c.pool.replicas is None)
    ]
    for name in sorted(dict.fromkeys(c.pool.meta.name for c in drifted)):
        _plan_pool(
            sorted((c for c in drifted if c.pool.meta.name == name), key=_order), ground, made
        )
    return made


def _plan_pool(drifted: Sequence[Candidate], ground: Ground, made: Findings) -> None:
    pool, trials, done = drifted[0].pool, 0, False
    name = pool.meta.name
    stand = rollout.of(pool, ground)
    made.wakes += stand.wakes
    made.events += stand.events
    for candidate in drifted:
        objection = candidate.objection_to_drift
        reason, message, weighing = NO_REASON, "", Weighing()
        if done:
            reason, message = reasons.DRIFT_WAITS, f"another node of NodePool {name} goes first"
        elif objection is not None:
            reason, message = objection.reason, objection.message
        elif stand.why:
            reason, message = stand.reason, stand.why
        elif not ground.allowance(REASON).has(name):
            reason = reasons.BUDGET
            message = f"NodePool {name} allows no more disruptions for reason {REASON} now"
        elif pool.replicas is not None:
            reason, message = _is_static_full(pool, pool.replicas, ground)
        elif candidate.reschedulable:
            trials += 1
            if trials > _TRIALS_MOST:
                reason, message = (
                    reasons.DRIFT_WAITS,
                    "others that cannot be replaced come before it",
                )
            else:
                weighing = of_drift(ground.world(), (candidate.state_node,))
                reason, message = _against(weighing, ground)
        if not reason and candidate.is_dry:
            reason, message = reasons.DRY_RUN, "it would be replaced: Drifted"
        if reason:
            made.kept.append(Kept(node_claim=candidate.name, reason=reason, message=message))
            continue
        ground.allowance(REASON).take(name)
        done = True
        proposal = propose(
            (candidate,),
            ground,
            reason=REASON,
            method="drift" if pool.replicas is None else "static",
            new_nodes=weighing.new_nodes,
            saves_usd_per_hour=weighing.saves_usd_per_hour,
        )
        made.proposals.append(proposal)


def _against(weighing: Weighing, ground: Ground) -> tuple[Reason, str]:
    """Why a node is not replaced so, as reason and sentence; both empty when it is."""
    if weighing.refusal:
        return reasons.NO_PLACE, weighing.refusal
    for node in weighing.new_nodes:
        times = price_guard.factor(node.pool, ground.settings)
        most = price_guard.most_of(node, ground.catalogue, times)
        if node.usd_per_hour > most:
            return reasons.CAPACITY_UNAVAILABLE, (
                f"what would replace it costs ${node.usd_per_hour:.4f}/h ({node.types[0].name}) while all cheaper "
                f"types that would do are sold out, and may cost ${most:.4f}/h"
            )
    return NO_REASON, ""


def _is_static_full(pool: NodePool, replicas: int, ground: Ground) -> tuple[Reason, str]:
    """Why no node of a static NodePool can be replaced now, as reason and sentence; both empty when one can.

    The replacement is made by the NodePool's own number: a node that is about to go does not count for it.
    """
    name = pool.meta.name
    nodes = [s for s in ground.snapshot.state_nodes if s.nodepool == name and s.claim is not None]
    staying = [s for s in nodes if not s.is_leaving and s.claim_name not in ground.members]
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
