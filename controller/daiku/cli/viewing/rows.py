"""One line per node: what is shown of it, how lines are sorted and chosen, and what they come to together."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import datetime
from typing import Any, Final

from daiku.cli import figures
from daiku.cli.viewing.filters import FILTERS
from daiku.cli.viewing.ledger import Machine
from daiku.model import condition, labels, resources
from daiku.model.instance_type import Catalogue
from daiku.scheduling import prices

READY: Final = "ready"

PriceOf = Callable[[str, str, str], float | None]
"""Instance type, zone, capacity type -> $/h, or None where nobody says."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """A node as it is shown. Field names are those of the JSON output, in camel case."""

    name: str
    nodepool: str
    """Empty when it belongs to none."""
    node_claim: str
    state: str
    """ready, not ready, cordoned, launching, joining, initializing, disrupted, drifted or terminating."""
    instance_type: str
    zone: str
    capacity_type: str
    """spot, on-demand, reserved, or empty."""
    pods: int
    pods_max: int
    cpu_requests: int
    """Millicores."""
    cpu_allocatable: int
    memory_requests: int
    """Bytes."""
    memory_allocatable: int
    usd_per_hour: float | None
    """None where nobody says."""
    age_seconds: int

    @property
    def cpu_fill(self) -> float:
        """Share of its CPU that is asked for; above 1 is possible on a node that lies."""
        return self.cpu_requests / self.cpu_allocatable if self.cpu_allocatable else 0.0

    @property
    def memory_fill(self) -> float:
        """Share of its memory that is asked for."""
        return self.memory_requests / self.memory_allocatable if self.memory_allocatable else 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Totals:
    """What the lines come to."""

    nodes: int
    ready: int
    pods: int
    waiting: int
    """Pods without a node, in the whole cluster."""
    cpu_fill: float
    memory_fill: float
    usd_per_hour: float
    unpriced: int
    """Nodes that are counted as $0 because nobody says what they cost."""
    by_capacity_type: Mapping[str, tuple[int, float | None]]
    """Capacity type -> nodes, and $/h of those whose price is known; None when no price is."""

    @property
    def usd_per_month(self) -> float:
        """Of 730 hours."""
        return self.usd_per_hour * figures.HOURS_PER_MONTH


SORTS: Final[Mapping[str, Callable[[Row], Any]]] = {
    "name": lambda row: row.name,
    "price": lambda row: -(row.usd_per_hour or 0.0),
    "cpu": lambda row: row.cpu_fill,
    "memory": lambda row: row.memory_fill,
    "pods": lambda row: -row.pods,
    "age": lambda row: -row.age_seconds,
    "type": lambda row: row.instance_type,
    "zone": lambda row: row.zone,
    "pool": lambda row: row.nodepool,
    "state": lambda row: (row.state == READY, row.state),
}
"""Dearest, emptiest, fullest of pods, oldest and most troubled first; ties end in the name."""


def rows(machines: Iterable[Machine], price: PriceOf, discount: float, now: datetime) -> list[Row]:
    """A line for each machine.

    Args:
        machines: Nodes and NodeClaims.
        price: What an offering costs.
        discount: Share that is taken off every price, such as 0.15.
        now: The time.
    """
    return [_row(machine, price, discount, now) for machine in machines]


def arrange(
    found: Iterable[Row], sort: str, *, reverse: bool, chosen: Mapping[str, str], text: str = ""
) -> list[Row]:
    """The lines that are admitted, sorted.

    Args:
        found: All lines.
        sort: One of `SORTS`.
        reverse: The other way round.
        chosen: Field of a row -> a part of its text.
        text: Words of which each is in one of the columns of `FILTERS`, or in the one before its `=`.
    """
    words = text.split()
    admitted = [
        row
        for row in found
        if all(part in str(getattr(row, field)) for field, part in chosen.items())
        and all(_has(row, word) for word in words)
    ]
    admitted.sort(key=lambda row: row.name)
    return sorted(admitted, key=SORTS[sort], reverse=reverse)


def _has(row: Row, word: str) -> bool:
    column, separator, part = word.partition("=")
    if separator and column in FILTERS:
        return part in getattr(row, FILTERS[column])
    return any(word in getattr(row, field) for field in FILTERS.values())


def totals(found: Sequence[Row], waiting: int) -> Totals:
    """What the lines come to."""
    kinds: dict[str, tuple[int, float | None]] = {}
    for row in found:
        nodes, usd = kinds.get(row.capacity_type, (0, None))
        more = row.usd_per_hour
        kinds[row.capacity_type] = nodes + 1, usd if more is None else more + (usd or 0.0)
    return Totals(
        nodes=len(found),
        ready=sum(1 for row in found if row.state == READY),
        pods=sum(row.pods for row in found),
        waiting=waiting,
        cpu_fill=_share(found, "cpu"),
        memory_fill=_share(found, "memory"),
        usd_per_hour=sum(row.usd_per_hour or 0.0 for row in found),
        unpriced=sum(1 for row in found if row.usd_per_hour is None),
        by_capacity_type=dict(sorted(kinds.items())),
    )


def price_table(catalogue: Catalogue) -> PriceOf:
    """Prices of a catalogue; an offering costs the same in every node class."""
    known = prices.in_any_class(catalogue)
    return lambda instance_type, zone, capacity_type: known.get(
        (instance_type, zone, capacity_type)
    )


def to_json(found: Sequence[Row], sums: Totals) -> dict[str, Any]:
    """Stable JSON: plain integers (millicores, bytes, seconds), dollars as they are."""
    return {
        "nodes": [{_camel(key): value for key, value in asdict(row).items()} for row in found],
        "totals": {
            "nodes": sums.nodes,
            "ready": sums.ready,
            "pods": sums.pods,
            "waitingPods": sums.waiting,
            "cpuFill": round(sums.cpu_fill, 4),
            "memoryFill": round(sums.memory_fill, 4),
            "usdPerHour": round(sums.usd_per_hour, 6),
            "usdPerMonth": round(sums.usd_per_month, 2),
            "nodesWithoutPrice": sums.unpriced,
            "byCapacityType": {
                kind or "unknown": {"nodes": nodes, "usdPerHour": round(usd or 0.0, 6)}
                for kind, (nodes, usd) in sums.by_capacity_type.items()
            },
        },
    }


def _row(machine: Machine, price: PriceOf, discount: float, now: datetime) -> Row:
    node, claim = machine.node, machine.claim
    known = {
        **(claim.meta.labels if claim is not None else {}),
        **(node.meta.labels if node is not None else {}),
    }
    instance_type, zone = known.get(labels.INSTANCE_TYPE, ""), known.get(labels.ZONE, "")
    capacity_type = (
        labels.capacity_type(known) if node is not None else known.get(labels.CAPACITY_TYPE, "")
    )
    usd = price(instance_type, zone, capacity_type)
    there = (node.allocatable if node is not None else None) or (
        claim.allocatable if claim is not None else {}
    )
    born = next((m.meta.created for m in (claim, node) if m is not None and m.meta.created), now)
    return Row(
        name=node.meta.name if node is not None else claim.meta.name if claim is not None else "",
        nodepool=known.get(labels.NODEPOOL, ""),
        node_claim=claim.meta.name if claim is not None else "",
        state=_state(machine),
        instance_type=instance_type,
        zone=zone,
        capacity_type=capacity_type,
        pods=machine.pods,
        pods_max=there.get(resources.PODS, 0),
        cpu_requests=machine.requests.get(resources.CPU, 0),
        cpu_allocatable=there.get(resources.CPU, 0),
        memory_requests=machine.requests.get(resources.MEMORY, 0),
        memory_allocatable=there.get(resources.MEMORY, 0),
        usd_per_hour=None if usd is None else round(usd * (1 - discount), 6),
        age_seconds=max(0, int((now - born).total_seconds())),
    )


def _state(machine: Machine) -> str:
    """The one word that says most: an end before a beginning before what is steady."""
    node, claim = machine.node, machine.claim
    if any(m is not None and m.meta.deleted is not None for m in (node, claim)):
        return "terminating"
    if claim is not None and not claim.provider_id:
        return "launching"
    if node is None:
        return "joining"
    if any(taint.key == labels.DISRUPTED_TAINT for taint in node.taints):
        return "disrupted"
    if not node.is_ready:
        return "not ready"
    if claim is not None and not condition.is_true(claim.conditions, "Initialized"):
        return "initializing"
    if node.unschedulable:
        return "cordoned"
    if claim is not None and condition.is_true(claim.conditions, "Drifted"):
        return "drifted"
    return READY


def _share(found: Sequence[Row], resource: str) -> float:
    there = sum(getattr(row, f"{resource}_allocatable") for row in found)
    return sum(getattr(row, f"{resource}_requests") for row in found) / there if there else 0.0


def _camel(name: str) -> str:
    first, *rest = name.split("_")
    return first + "".join(part.capitalize() for part in rest)
