"""Static NodePools: as many nodes as `replicas` says, whatever pods ask for.

Missing ones are made, up to the limit `nodes`; surplus ones go, those first that cost the least: not launched yet, then
empty, then those with the fewest pods and the shortest life ahead. No budget is asked for that: the number is an order.
Their pods leave as in any drain.

Source: Karpenter's static.provisioning and static.deprovisioning (gate StaticCapacity).
"""

from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Final

from daiku import reasons
from daiku.commands import Command, DeleteNodeClaim
from daiku.model import resources
from daiku.model.instance_type import Catalogue
from daiku.model.nodepool import NodePool
from daiku.scheduling import claims
from daiku.scheduling.problem import template_requirements
from daiku.settings import Settings
from daiku.state import readiness
from daiku.state.snapshot import Snapshot
from daiku.state.statenode import StateNode

GATE: Final = "StaticCapacity"
REASON: Final = reasons.ENDED_SCALED_DOWN
_RETRY: Final = timedelta(seconds=30)
"""How often a pool that cannot have its nodes now is looked at again (Karpenter's interval)."""


@dataclass(slots=True)
class Static:
    """What is to be done about static pools."""

    commands: list[Command] = field(default_factory=list[Command])
    wakes: list[datetime] = field(default_factory=list[datetime])


def plan(snapshot: Snapshot, catalogue: Catalogue, settings: Settings, now: datetime) -> Static:
    """Bring every static pool to its number of nodes."""
    made = Static()
    if not settings.is_on(GATE):
        return made
    for pool in snapshot.node_pools:
        if pool.replicas is None or pool.meta.deleted is not None:
            continue
        nodes = [
            s for s in snapshot.state_nodes if s.claim is not None and s.nodepool == pool.meta.name
        ]
        staying = [s for s in nodes if not s.is_leaving and not _is_chosen(s)]
        if len(staying) > pool.replicas:
            made.commands += _surplus(staying, pool.replicas, now)
        elif len(staying) < pool.replicas:
            _add(made, pool, snapshot, catalogue, now, counts=(len(staying), len(nodes)))
    return made


def _is_chosen(state_node: StateNode) -> bool:
    """Whether a disruption has chosen it: its replacement stands for it already."""
    return state_node.claim is not None and state_node.claim.is_true("DisruptionReason")


def _add(
    made: Static,
    pool: NodePool,
    snapshot: Snapshot,
    catalogue: Catalogue,
    now: datetime,
    *,
    counts: tuple[int, int],
) -> None:
    """Make what is missing; `counts`: nodes that stay, and all that there are."""
    staying, there = counts
    most = (pool.limits or {}).get(resources.NODES)
    room = most - there if most is not None else pool.replicas or 0
    wanted = min((pool.replicas or 0) - staying, room)
    hold = snapshot.holds.get(f"Create/{pool.meta.name}")
    if hold is not None:
        made.wakes += [hold.until] if hold.until is not None else []
        return
    problem = pool.invalid or readiness.node_class_problem(pool, snapshot)
    if wanted <= 0 or problem or not can_be_had(pool, snapshot, catalogue):
        made.wakes.append(now + _RETRY)
        return
    given = claims.given_labels(catalogue.instance_types[pool.template.node_class])
    taken = dict.fromkeys(snapshot.by_name)
    for number in range(wanted):
        creation = claims.bare(pool, now, given=given, taken=taken, purpose=f"static {number}")
        taken[creation.node_claim.meta.name] = None
        made.commands.append(creation)


def can_be_had(pool: NodePool, snapshot: Snapshot, catalogue: Catalogue) -> bool:
    """Whether anything that the pool allows is for sale: a NodeClaim that cannot be launched is not made."""
    asked = template_requirements(pool)
    return not asked.is_empty and any(
        offering.available
        and (each.name, offering.zone, offering.capacity_type) not in snapshot.sold_out
        and not asked.intersects(offering.requirements)
        for each in catalogue.instance_types.get(pool.template.node_class, ())
        if not each.requirements.intersects(asked)
        for offering in each.offerings
    )


def _surplus(staying: list[StateNode], replicas: int, now: datetime) -> list[DeleteNodeClaim]:
    ordered = sorted(staying, key=lambda s: _cost(s, now))
    going = [s.claim for s in ordered[: len(staying) - replicas] if s.claim is not None]
    return [DeleteNodeClaim(name=c.meta.name, uid=c.meta.uid, reason=REASON) for c in going]


def _cost(state_node: StateNode, now: datetime) -> tuple[bool, bool, bool, float, str]:
    """What is lost with a node, for comparison; its name decides between equals."""
    held = any(pod.is_active and pod.must_not_be_disrupted(now) for pod in state_node.pods)
    moving = len(state_node.reschedulable)
    lost = moving * _life_left(state_node, now)
    empty = moving == 0 and not held
    return bool(state_node.provider_id), not empty, held, lost, state_node.claim_name


def _life_left(state_node: StateNode, now: datetime) -> float:
    """Which share of its life is still to come; all of it when it never expires."""
    claim = state_node.claim
    if claim is None or claim.expire_after is None or claim.meta.created is None:
        return 1.0
    left = 1 - (now - claim.meta.created) / claim.expire_after
    return min(max(left, 0.0), 1.0)
