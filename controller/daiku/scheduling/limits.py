"""NodePool limits and capacity reservations, checked once more on the NodeClaims that are about to be made.

The solver counts every new node with the largest type that it keeps. What is launched comes from the shorter list
in the NodeClaim, so here the same is counted on that list, in the order in which the claims are made.
"""

from collections.abc import Iterable, Iterator

from daiku.commands import CreateNodeClaim
from daiku.model import resources
from daiku.model.instance_type import Catalogue
from daiku.scheduling import expected, reservations
from daiku.state.snapshot import Snapshot
from daiku.state.statenode import StateNode


def within(
    creations: Iterable[CreateNodeClaim], snapshot: Snapshot, catalogue: Catalogue
) -> Iterator[CreateNodeClaim]:
    """Those of `creations` that limits and capacity reservations allow, one after the other."""
    used: dict[str, dict[str, int]] = {}
    ledger = reservations.Ledger(snapshot, catalogue)
    for creation in creations:
        claim = creation.node_claim
        pool = snapshot.node_pool(claim.nodepool)
        if pool is None:
            continue
        if claim.nodepool not in used:
            used[claim.nodepool] = expected.pool_usage(
                snapshot.state_nodes, claim.nodepool, catalogue
            )
        charge = expected.capacity(StateNode(node=None, claim=claim), catalogue)
        after = resources.add(used[claim.nodepool], charge)
        is_within = pool.limits is None or not resources.exceeded(after, pool.limits)
        # NodePools may share a reservation, and each was planned as if it were alone with it.
        if is_within and ledger.take(claim):
            used[claim.nodepool] = after
            yield creation
