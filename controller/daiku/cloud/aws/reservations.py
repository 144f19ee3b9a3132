"""Capacity that is paid for already: finding reservations by selector terms, and how many machines each has left.

The status of a node class lists its reservations; how many are left changes with every launch, so it is counted here,
anew with every listing and down with every launch in between.

Source: Karpenter's capacity reservation provider; EC2 DescribeCapacityReservations.
"""

import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any, Final

from daiku.cloud.aws import errors, selectors
from daiku.cloud.aws.answers import part
from daiku.cloud.aws.node_class import BLOCK, Reserved
from daiku.cloud.aws.session import Session
from daiku.model import labels

DEFAULT: Final = "default"
EXPIRING: Final = "expiring"
GONE: Final = ""
EXPIRING_BEFORE: Final = timedelta(minutes=40)
"""So long before its end a capacity block takes no new machine: EC2 begins to end those in it."""

Term = Mapping[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Reservation:
    """A reservation that a term selects."""

    id: str
    zone: str
    instance_type: str
    owner: str
    criteria: str
    """open or targeted."""
    kind: str
    """default or capacity-block."""
    interruptible: bool
    ends: datetime | None
    state: str
    """active or expiring; GONE when EC2 gives nothing of it any more."""
    left: int
    """Machines that can still be launched in it."""

    def to_wire(self) -> dict[str, Any]:
        """As an entry of status.capacityReservations."""
        made: dict[str, Any] = {
            "id": self.id,
            "availabilityZone": self.zone,
            "instanceType": self.instance_type,
            "instanceMatchCriteria": self.criteria,
            "ownerID": self.owner,
            "reservationType": self.kind,
            "interruptible": self.interruptible,
            "state": self.state,
        }
        return made | ({"endTime": f"{self.ends:%Y-%m-%dT%H:%M:%SZ}"} if self.ends else {})


@dataclass(slots=True)
class Counts:
    """How many machines each reservation has left. Any thread may use it."""

    _left: dict[str, int] = field(default_factory=dict[str, int])
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def learn(self, found: Sequence[Reservation]) -> None:
        """Take over what EC2 says now."""
        with self._lock:
            self._left |= {each.id: each.left for each in found}

    def left(self, reservation: str) -> int:
        """Machines left in one; 0 for one that was never listed."""
        with self._lock:
            return self._left.get(reservation, 0)

    def exhaust(self, known: Sequence[Reserved], sold_out: Sequence[tuple[str, str, str]]) -> None:
        """EC2 had nothing left in the reservations of these pools: (instance type, zone, capacity type)."""
        with self._lock:
            for each in known:
                if (each.instance_type, each.zone, labels.RESERVED) in sold_out:
                    self._left[each.id] = 0

    def take(self, reservation: str, count: int = 1) -> None:
        """A launch has used some."""
        with self._lock:
            self._left[reservation] = max(0, self._left.get(reservation, 0) - count)


def find(session: Session, terms: Sequence[Term], now: datetime) -> list[Reservation]:
    """Active reservations that any term selects, by id.

    Raises:
        CloudError: EC2 refused to say.
    """
    ids = sorted({term["id"] for term in terms if term.get("id")})
    listed = _by_ids(session, ids) if ids else []
    for term in terms:
        if not term.get("id"):
            listed += _ask(session, Filters=_filters(term))
    found = {each["CapacityReservationId"]: _reservation(each, now) for each in listed}
    return [
        found[each]
        for each in sorted(found)
        if found[each].state != GONE and ((end := found[each].ends) is None or end > now)
    ]


def _by_ids(session: Session, ids: Sequence[str]) -> list[dict[str, Any]]:
    """Those of them that exist: EC2 refuses to list any when one does not."""
    try:
        return _ask(session, CapacityReservationIds=list(ids))
    except errors.ResourceNotFound:
        half = len(ids) // 2
        return _by_ids(session, ids[:half]) + _by_ids(session, ids[half:]) if half else []


def _ask(session: Session, **query: Any) -> list[dict[str, Any]]:
    pages = session.pages("ec2", "describe_capacity_reservations", **query)
    return [each for page in pages for each in page["CapacityReservations"]]


def _filters(term: Term) -> list[dict[str, Any]]:
    filters = [{"Name": "state", "Values": ["active"]}, *selectors.tag_filters(part(term, "tags"))]
    if term.get("ownerID"):
        filters.append({"Name": "owner-id", "Values": [term["ownerID"]]})
    if criteria := term.get("instanceMatchCriteria"):
        filters.append({"Name": "instance-match-criteria", "Values": [criteria]})
    return filters


def _reservation(each: Mapping[str, Any], now: datetime) -> Reservation:
    kind = each.get("ReservationType") or DEFAULT
    ends: datetime | None = each.get("EndDate")
    active = each.get("State", "active") == "active"
    expiring = kind == BLOCK and ends is not None and now >= ends - EXPIRING_BEFORE
    return Reservation(
        id=each["CapacityReservationId"],
        zone=each["AvailabilityZone"],
        instance_type=each["InstanceType"],
        owner=each.get("OwnerId", ""),
        criteria=each.get("InstanceMatchCriteria") or "targeted",
        kind=kind,
        interruptible=bool(each.get("Interruptible")),
        ends=ends,
        state=GONE if not active else EXPIRING if expiring else "active",
        left=each.get("AvailableInstanceCount", 0),
    )
