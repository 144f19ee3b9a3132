"""NodePool limits and capacity reservations, checked once more on the NodeClaims that are about to be made.

The solver counts every new node with the largest type that it keeps. What is launched comes from the shorter list
in the NodeClaim, so here the same is counted on that list, in the order in which the claims are made.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from daiku import reasons
from daiku.commands import CreateNodeClaim
from daiku.model import resources, units
from daiku.model.instance_type import Catalogue
from daiku.report import Blocker, Unschedulable
from daiku.scheduling import expected, reservations
from daiku.state.snapshot import Snapshot
from daiku.state.statenode import StateNode


@dataclass(frozen=True, slots=True, kw_only=True)
class Division:
    """NodeClaims that may be made, and what becomes of the pods of the others."""

    within: tuple[CreateNodeClaim, ...]
    refused: tuple[Unschedulable, ...]
    """Pods of NodeClaims that would exceed a limit, and by how much."""
    postponed: tuple[CreateNodeClaim, ...]
    """NodeClaims for a capacity reservation that those before them use up, or of a NodePool that is gone: their pods
    are planned again after these."""


def divide(
    creations: Iterable[CreateNodeClaim], snapshot: Snapshot, catalogue: Catalogue
) -> Division:
    """Which of `creations` limits and capacity reservations allow, one after the other."""
    used: dict[str, dict[str, int]] = {}
    ledger = reservations.Ledger(snapshot, catalogue)
    kept: list[CreateNodeClaim] = []
    refused: list[Unschedulable] = []
    postponed: list[CreateNodeClaim] = []
    for creation in creations:
        claim = creation.node_claim
        pool = snapshot.node_pool(claim.nodepool)
        if pool is None:
            postponed.append(creation)
            continue
        if claim.nodepool not in used:
            used[claim.nodepool] = expected.pool_usage(
                snapshot.state_nodes, claim.nodepool, catalogue
            )
        charge = expected.capacity(StateNode(node=None, claim=claim), catalogue)
        after = resources.add(used[claim.nodepool], charge)
        limits = pool.limits or {}
        over = resources.exceeded(after, limits)
        if over:
            why = _exceeded(claim.nodepool, over[0], limits, used[claim.nodepool], charge)
            refused.append(Unschedulable(pods=creation.pods, blockers=(why,)))
        # NodePools may share a reservation, and each was planned as if it were alone with it.
        elif ledger.take(claim):
            used[claim.nodepool] = after
            kept.append(creation)
        else:
            postponed.append(creation)
    return Division(within=tuple(kept), refused=tuple(refused), postponed=tuple(postponed))


def within(
    creations: Iterable[CreateNodeClaim], snapshot: Snapshot, catalogue: Catalogue
) -> tuple[CreateNodeClaim, ...]:
    """Those of `creations` that limits and capacity reservations allow, one after the other."""
    return divide(creations, snapshot, catalogue).within


def _exceeded(
    nodepool: str,
    resource: str,
    limits: Mapping[str, int],
    used: Mapping[str, int],
    charge: Mapping[str, int],
) -> Blocker:
    asked, limit, taken = (
        units.format_quantity(resource, amounts.get(resource, 0))
        for amounts in (charge, limits, used)
    )
    return Blocker(
        nodepool=nodepool,
        reason=reasons.LIMIT_EXCEEDED,
        asked=f"a node that may have {resource} {asked}",
        offered=f"nodes that are there and those of this plan take {taken} of the limit of {limit}",
    )
