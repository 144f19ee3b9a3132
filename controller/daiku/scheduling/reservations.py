"""Capacity that is paid for already, of which there is only so much.

The problem: a machine of a reservation costs next to nothing, so a plan would put every node on it, whatever is left of
it. The idea: each NodePool that may use a reservation has a template of its own for it, with its labels pinned and a
limit of as many nodes as are left; the NodePool's other template leaves reservations out. So what does not fit on
reserved machines is planned on others, with types chosen for what those cost.

A node that is planned on a reservation is launched there or not at all; if it cannot be, its pods are planned again.

Source: Karpenter's ReservationManager.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from daiku.model import labels
from daiku.model.instance_type import Catalogue, InstanceType
from daiku.model.nodeclaim import NodeClaim
from daiku.model.requirements import Requirement, Requirements
from daiku.state.snapshot import Snapshot

LIMIT: Final = "capacity-reservation/"
"""Of the name under which nodes of a reservation are counted among the limits of a NodePool."""
_OTHERS: Final = Requirements.of(
    Requirement.parse(labels.CAPACITY_TYPE, "NotIn", (labels.RESERVED,))
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Variant:
    """One way in which a NodePool can make nodes."""

    requirements: Requirements
    reservation: str = ""
    """The id of the reservation that it uses; empty: none."""


def of_pool(
    requirements: Requirements, types: Sequence[InstanceType], snapshot: Snapshot
) -> tuple[list[Variant], Mapping[str, int]]:
    """The ways in which a NodePool can make nodes, its reservations first, and what those have left.

    Args:
        requirements: The NodePool's.
        types: What its node class offers.
        snapshot: What is on its way, and what is sold out.
    """
    known = _listed(types)
    if not known:
        return [Variant(requirements=requirements)], {}
    used = _in_flight(known, snapshot)
    found: list[Variant] = []
    left: dict[str, int] = {}
    for id_, (pinned, most) in known.items():
        both = requirements & pinned
        if most - used.get(id_, 0) > 0 and not both.is_empty:
            found.append(Variant(requirements=both, reservation=id_))
            left[id_] = most - used.get(id_, 0)
    others = requirements & _OTHERS
    if not others.is_empty:
        found.append(Variant(requirements=others))
    # A NodePool of nothing but reservations that are used up still has to say so.
    return found or [Variant(requirements=requirements)], left


class Ledger:
    """What reservations have left while NodeClaims are made one after the other."""

    def __init__(self, snapshot: Snapshot, catalogue: Catalogue) -> None:
        """Begin with what the catalogue says, less what is on its way."""
        self._known = {ref: _listed(types) for ref, types in catalogue.instance_types.items()}
        every = {id_: each for known in self._known.values() for id_, each in known.items()}
        used = _in_flight(every, snapshot) if every else {}
        self._left = {id_: most - used.get(id_, 0) for id_, (_, most) in every.items()}

    def take(self, claim: NodeClaim) -> bool:
        """Count a NodeClaim on the reservation that it is for; False, and not counted, when nothing is left of it."""
        mine = _used_by(claim, self._known.get(claim.node_class, {}))
        if any(self._left[id_] <= 0 for id_ in mine):
            return False
        for id_ in mine:
            self._left[id_] -= 1
        return True


_Known = dict[str, tuple[Requirements, int]]
"""Reservation -> labels of its nodes, and how many more there can be."""


def _listed(types: Iterable[InstanceType]) -> _Known:
    """Reservations on offer, in the order of their ids."""
    found = {
        o.reservation: (o.requirements, o.left or 0)
        for t in types
        for o in t.offerings
        if o.reservation and o.available
    }
    return {id_: found[id_] for id_ in sorted(found)}


def _in_flight(known: _Known, snapshot: Snapshot) -> dict[str, int]:
    """Nodes of each reservation that were asked for and are not launched, so that the cloud does not count them yet."""
    used: dict[str, int] = {}
    for state_node in snapshot.state_nodes:
        if state_node.claim is None or state_node.provider_id or state_node.is_leaving:
            continue
        for id_ in _used_by(state_node.claim, known):
            used[id_] = used.get(id_, 0) + 1
    return used


def _used_by(claim: NodeClaim, known: _Known) -> list[str]:
    asked = claim.requirements.get(labels.CAPACITY_TYPE)
    if asked.complement or asked.values != frozenset({labels.RESERVED}):
        return []
    return [id_ for id_, (pinned, _) in known.items() if not claim.requirements.intersects(pinned)]
