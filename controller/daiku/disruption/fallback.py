"""On-demand nodes that were bought because spot was sold out, and their way back.

The problem: when spot comes back for a minute, a node that is replaced at once is lost to the next shortage, and its
pods have been moved twice for nothing. The idea: spot that was sold out is not counted on by any voluntary move until
it has had time to stay (`BACK_FOR`), and then these nodes go back one after the other, each as any other consolidation:
worth its moves, within the budgets. For pods that wait, spot is tried again much sooner (`state.soldout`).

That a node fell back is read off its NodeClaim: it is on-demand and was allowed spot that is cheaper. So it outlives a
restart.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime, timedelta
from typing import Final

from daiku import reasons
from daiku.disruption.candidates import Candidate
from daiku.disruption.disruption_commands import Move
from daiku.model import labels
from daiku.model.condition import find
from daiku.model.instance_type import Catalogue
from daiku.model.nodeclaim import NodeClaim
from daiku.report import Kept
from daiku.scheduling import prices
from daiku.state.snapshot import Snapshot
from daiku.state.soldout import Pool
from daiku.state.statenode import StateNode

BACK_FOR: Final = timedelta(minutes=10)
"""How long nothing may have been heard of a shortage before spot is counted on again."""
REASON: Final = reasons.RETURN_WAITS


def is_fallen(claim: NodeClaim) -> bool:
    """Whether it was allowed spot and got on-demand."""
    return claim.meta.labels.get(
        labels.CAPACITY_TYPE
    ) == labels.ON_DEMAND and claim.requirements.get(labels.CAPACITY_TYPE).has(labels.SPOT)


def back_at(claim: NodeClaim) -> datetime | None:
    """From when on spot may be counted on again, by what a node that fell back tells of it."""
    launched = find(claim.conditions, "Launched")
    at = launched.last_transition if launched is not None and launched.status == "True" else None
    return at + BACK_FOR if at is not None else None


def sold_out(snapshot: Snapshot, catalogue: Catalogue, now: datetime) -> dict[Pool, datetime]:
    """Spot pools that were sold out lately -> until when no voluntary move counts on them."""
    out: dict[Pool, datetime] = {}
    known = prices.of_offerings(catalogue)
    for state_node, claim, until in _waiting(snapshot, now):
        names = claim.requirements.get(labels.INSTANCE_TYPE)
        zones = claim.requirements.get(labels.ZONE)
        paid = prices.of_node(state_node, known)
        for kind in catalogue.instance_types.get(claim.node_class, ()):
            if not names.has(kind.name):
                continue
            for offer in kind.offerings:
                if (
                    offer.capacity_type == labels.SPOT
                    and zones.has(offer.zone)
                    and offer.price_usd_per_hour < paid
                ):
                    pool = kind.name, offer.zone, labels.SPOT
                    out[pool] = max(out.get(pool, until), until)
    return out


def ends(snapshot: Snapshot, now: datetime) -> list[datetime]:
    """When the nodes that fell back lately may begin to return."""
    return [until for _, _, until in _waiting(snapshot, now)]


def _waiting(snapshot: Snapshot, now: datetime) -> Iterator[tuple[StateNode, NodeClaim, datetime]]:
    """Nodes that fell back and may not return yet, and from when on they may."""
    for state_node in snapshot.state_nodes:
        claim = state_node.claim
        if claim is not None and is_fallen(claim):
            until = back_at(claim)
            if until is not None and until > now:
                yield state_node, claim, until


def one_at_a_time(
    candidates: Sequence[Candidate],
    moves: Iterable[Move],
    usd_per_hour: Mapping[str, float],
    now: datetime,
) -> tuple[list[Candidate], list[Kept]]:
    """`candidates` with one node per NodePool that returns to spot, and why the others wait.

    The first is the one that costs most per pod that has to move: what was bought dear, as larger than its pods need,
    stays no longer than others. Of nodes that cost the same the oldest is first.

    Args:
        candidates: Who could be consolidated.
        moves: What is under way.
        usd_per_hour: What each node costs, by its name.
        now: The time.
    """
    under_way = {s.nodepool: s.claim_name for m in moves for s in m.members if _returns(s, now)}
    kept: dict[str, Kept] = {}
    for candidate in sorted(
        candidates,
        key=lambda c: (-usd_per_hour.get(c.state_node.name, 0.0) / c.cost, _born(c), c.name),
    ):
        # One that may not go says so itself, and holds up no other.
        if candidate.objection is not None or not _returns(candidate.state_node, now):
            continue
        first = under_way.setdefault(candidate.pool.meta.name, candidate.name)
        if first != candidate.name:
            message = f"spot is back; {first} returns to it first"
            kept[candidate.name] = Kept(node_claim=candidate.name, reason=REASON, message=message)
    return [c for c in candidates if c.name not in kept], list(kept.values())


def _returns(state_node: StateNode, now: datetime) -> bool:
    """Whether it fell back and may return by now; an empty one simply goes."""
    claim = state_node.claim
    if claim is None or not is_fallen(claim):
        return False
    at = back_at(claim)
    return at is not None and at <= now and bool(state_node.reschedulable)


def _born(candidate: Candidate) -> float:
    created = candidate.claim.meta.created
    return created.timestamp() if created is not None else 0.0
