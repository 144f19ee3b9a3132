"""Does each capacity reservation have a machine for every NodeClaim that can be launched nowhere else?

Source: EC2 refuses a launch in a reservation that is used up.
"""

from collections.abc import Iterator, Sequence

from daiku.commands import CreateNodeClaim
from daiku.model import labels
from daiku.model.instance_type import Catalogue, Offering
from daiku.model.nodeclaim import NodeClaim
from daiku.scheduling.audit.violation import Violation
from daiku.state.snapshot import Snapshot


def check(
    creations: Sequence[CreateNodeClaim], snapshot: Snapshot, catalogue: Catalogue
) -> Iterator[Violation]:
    """NodeClaims of `creations` that a reservation has no machine for, those on their way served first."""
    taken: dict[str, int] = {}
    for state_node in snapshot.state_nodes:
        claim = state_node.claim
        if claim is not None and not state_node.provider_id and not state_node.is_leaving:
            for only in _only(claim, catalogue):
                taken[only.reservation] = taken.get(only.reservation, 0) + 1
    for creation in creations:
        for only in _only(creation.node_claim, catalogue):
            count = taken[only.reservation] = taken.get(only.reservation, 0) + 1
            if count > (only.left or 0):
                name = creation.node_claim.meta.name
                yield Violation(
                    command=creation,
                    rule="Reservation",
                    node=name,
                    message=f"NodeClaim {name}: it is number {count} on capacity reservation {only.reservation}, "
                    f"which has {only.left or 0} left",
                )


def _only(claim: NodeClaim, catalogue: Catalogue) -> tuple[Offering, ...]:
    """An offering of the one reservation in which a NodeClaim can be launched; nothing when there are other ways."""
    kinds = claim.requirements.get(labels.CAPACITY_TYPE)
    if kinds.complement or not kinds.has(labels.RESERVED):
        return ()
    names = claim.requirements.get(labels.INSTANCE_TYPE)
    ways = {
        offering.reservation: offering
        for each in catalogue.instance_types.get(claim.node_class, ())
        if names.has(each.name)
        for offering in each.offerings
        if offering.available and not claim.requirements.intersects(offering.requirements)
    }
    return tuple(ways.values()) if len(ways) == 1 and "" not in ways else ()
