"""Static NodePools: as many nodes as `replicas` says, whatever pods ask for.

Missing ones are made, up to the limit `nodes`; surplus ones go, those first that cost the least: not launched yet, then
empty, then those with the fewest pods and the shortest life ahead. No budget is asked for that: the number is an order.
Their pods leave as in any drain. The price guard holds for these nodes too; it counts from when they were first missed.

Source: Karpenter's static.provisioning and static.deprovisioning (gate StaticCapacity).
"""

from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Final

from daiku import reasons
from daiku.commands import Announce, Command, DeleteNodeClaim
from daiku.model import resources
from daiku.model.instance_type import Catalogue
from daiku.model.nodepool import NodePool
from daiku.report import Look
from daiku.scheduling import claims, offers, price_guard
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
    looks: dict[str, Look] = field(default_factory=dict[str, Look])
    """Since when the price guard keeps NodePools from their nodes."""


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
            lack = _Lack(pool, snapshot, catalogue, settings, now)
            _add(made, lack, staying=len(staying), there=len(nodes))
        launched = sum(1 for s in staying if s.provider_id)
        if launched >= pool.replicas and _missed_since(pool, snapshot) is not None:
            made.looks[_look(pool)] = Look(at=now, changes=-1, complete=True)
    return made


def _is_chosen(state_node: StateNode) -> bool:
    """Whether a disruption has chosen it: its replacement stands for it already."""
    return state_node.claim is not None and state_node.claim.is_true("DisruptionReason")


@dataclass(frozen=True, slots=True)
class _Lack:
    """A pool that lacks nodes."""

    pool: NodePool
    snapshot: Snapshot
    catalogue: Catalogue
    settings: Settings
    now: datetime


def _add(made: Static, lack: _Lack, *, staying: int, there: int) -> None:
    """Make what is missing; `staying` of all nodes that are `there` stay."""
    pool, snapshot, now = lack.pool, lack.snapshot, lack.now
    most = (pool.limits or {}).get(resources.NODES)
    room = most - there if most is not None else pool.replicas or 0
    wanted = min((pool.replicas or 0) - staying, room)
    hold = snapshot.holds.get(f"Create/{pool.meta.name}")
    if hold is not None:
        made.wakes += [hold.until] if hold.until is not None else []
        return
    problem = pool.invalid or readiness.node_class_problem(pool, snapshot)
    if wanted <= 0 or problem:
        made.wakes.append(now + _RETRY)
        return
    since = _missed_since(pool, snapshot) or now
    may = price_guard.allowance(pool, since, lack.settings, now)
    if not _can_be_had(made, lack, may):
        made.looks[_look(pool)] = Look(at=since, changes=-1)
        made.wakes.append(min(now + _RETRY, may.grows))
        return
    given = claims.given_labels(lack.catalogue.instance_types[pool.template.node_class])
    taken = dict.fromkeys(snapshot.by_name)
    for number in range(wanted):
        creation = claims.bare(pool, now, given=given, taken=taken, purpose=f"static {number}")
        taken[creation.node_claim.meta.name] = None
        made.commands.append(creation)


def _look(pool: NodePool) -> str:
    return f"static/{pool.meta.name}"


def _missed_since(pool: NodePool, snapshot: Snapshot) -> datetime | None:
    """Since when nodes are missing that cannot be had, or are too dear; None when none are."""
    before = snapshot.looks.get(_look(pool))
    return None if before is None or before.complete else before.at


def cheapest(pool: NodePool, snapshot: Snapshot, catalogue: Catalogue) -> float | None:
    """What the cheapest node that the pool allows and that can be had costs, in USD per hour; None: none can."""
    asked = template_requirements(pool)
    types = catalogue.instance_types.get(pool.template.node_class, ()) if not asked.is_empty else ()
    return min(
        (
            offering.price_usd_per_hour
            for each, offering in offers.that_would_do(offers.of(types), asked)
            if offering.available
            and (each.name, offering.zone, offering.capacity_type) not in snapshot.sold_out
        ),
        default=None,
    )


def _can_be_had(made: Static, lack: _Lack, may: price_guard.Allowance) -> bool:
    """Whether anything that the pool allows is for sale, and not too dear: no other NodeClaim is made."""
    pool = lack.pool
    price = cheapest(pool, lack.snapshot, lack.catalogue)
    if price is None:
        return False
    types = lack.catalogue.instance_types.get(pool.template.node_class, ())
    least = price_guard.list_price(types, template_requirements(pool), {})
    if least is None or price <= may.factor * least:
        return True
    message = (
        f"the cheapest node that can be had costs ${price:.4f}/h, {price / least:.1f} times the on-demand price of a "
        f"type that would do; {2 * may.factor:g} times is paid from {may.grows:%H:%M:%S} UTC on"
    )
    made.commands.append(
        Announce.on(
            "NodePool",
            pool.meta,
            type_="Warning",
            reason=reasons.CAPACITY_UNAVAILABLE,
            message=message,
        )
    )
    return False


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
