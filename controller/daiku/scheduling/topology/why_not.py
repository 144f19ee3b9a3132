"""Which constraint between pods left a class without a place, in numbers.

The counts of the finished solve are read: where they stand is what the class ran into.
"""

from collections.abc import Iterator

from daiku import reasons
from daiku.model import labels
from daiku.reason import Reason
from daiku.report import Blocker
from daiku.scheduling import blockers
from daiku.scheduling.topology.place import Placer
from daiku.scheduling.topology.rules import SpreadRule

_SHOWN: int = 6
"""Domains that are named with their counts."""


def of_class(placer: Placer, row: int, own: tuple[Blocker, ...]) -> tuple[Blocker, ...]:
    """What kept the class from a place, with what constraints between pods have to do with it.

    Args:
        placer: The finished solve.
        row: The class.
        own: What keeps it from each NodePool, constraints between pods aside.
    """
    rules = placer.topology.rules[row]
    if rules.is_free or not placer.templates.usable(row):
        return own
    found = [*_near(placer, row), *_spread(placer, row), *_apart(placer, row)]
    # Where a new node would do, what withholds it is the nearer cause.
    nearer = (
        [b for b in own if b.reason == reasons.LIMIT_EXCEEDED] if _would_do(placer, row) else []
    )
    return (*nearer, *found) or own


def _would_do(placer: Placer, row: int) -> bool:
    """Whether constraints between pods let the class have a new node somewhere."""
    rules = placer.topology.rules[row]
    if placer.topology.host_rules[row].above_zero or placer.ledger.starts(rules) is None:
        return False
    growing = frozenset(placer.templates.growing(row))
    return any(not growing.isdisjoint(among) for among, _ in placer.division.divide(row, 1, {}))


def _near(placer: Placer, row: int) -> Iterator[Blocker]:
    topology = placer.topology
    for rule in topology.rules[row].near:
        for index in rule.counters:
            key = topology.counters[index].key
            if not placer.ledger.totals.get(index, 0):
                offered = "no such pod runs or is planned anywhere"
            else:
                offered = f"such pods are in {_where(placer, index)}, where there is no room for it"
            yield _blocker(
                reasons.POD_AFFINITY_NOT_MET,
                f"a pod that its affinity matches in its {key}",
                offered,
            )


def _spread(placer: Placer, row: int) -> Iterator[Blocker]:
    for rule in placer.topology.rules[row].spread:
        counter = placer.topology.counters[rule.counter]
        asked = f"spread over {counter.key} maxSkew {rule.spread.max_skew}"
        if rule.spread.min_domains > 1:
            asked += f" minDomains {rule.spread.min_domains}"
        yield _blocker(reasons.TOPOLOGY_SPREAD_NOT_MET, asked, _skew(placer, row, rule))


def _skew(placer: Placer, row: int, rule: SpreadRule) -> str:
    position = placer.ledger.position.get(rule.counter)
    if position is None:
        return f"every node that it could be on has {rule.spread.max_skew} already"
    names, key = _names(placer, position), placer.topology.counters[rule.counter].key
    if not names:
        return f"no node that it could be on has label {key}"
    counts = placer.ledger.counts[rule.counter]
    cells = [placer.cells[i][position] for i in placer.templates.openable(row)]
    domains = sorted(placer.ledger.existing[rule.counter] | {c for c in cells if c >= 0})
    shown = ", ".join(f"{names[d]} has {counts.get(d, 0)}" for d in domains[:_SHOWN])
    open_to = sorted({placer.cells[i][position] for i in placer.templates.usable(row)} - {-1})
    allowed = ", ".join(names[d] for d in open_to[:_SHOWN])
    gone = _sold_out(placer, row, position) if key == labels.ZONE else ""
    return f"{shown or 'no domain'}; there is room at most in {allowed or 'none of them'}{gone}"


def _sold_out(placer: Placer, row: int, position: int) -> str:
    """Zones in which nodes would do and cannot be had now."""
    names = _names(placer, position)
    growing = [names.get(placer.cells[i][position]) for i in placer.templates.growing(row)]
    found: dict[str, None] = {}
    for template in placer.problem.templates:
        zones = blockers.offerings_gone(template, template.hostings[row])
        found |= dict.fromkeys(zone for each in zones.values() for zone in each)
    gone = [zone for zone in sorted(found) if zone not in growing]
    return f"; sold out in {', '.join(gone)}" if gone else ""


def _apart(placer: Placer, row: int) -> Iterator[Blocker]:
    topology = placer.topology
    for index in topology.rules[row].apart:
        counter = topology.counters[index]
        if counter.sort == "port":
            port = counter.what
            yield _blocker(
                reasons.HOST_PORT_TAKEN,
                f"host port {getattr(port, 'port', '')}",
                "it is taken wherever the pod could be",
            )
        elif placer.ledger.totals.get(index, 0):
            words = (
                "no pod that its anti-affinity matches"
                if counter.sort == "matching"
                else "no pod whose anti-affinity matches it"
            )
            yield _blocker(
                reasons.POD_ANTI_AFFINITY_NOT_MET,
                f"{words} in its {counter.key}",
                f"such pods are in {_where(placer, index)}",
            )


def _where(placer: Placer, index: int) -> str:
    position = placer.ledger.position.get(index)
    if position is None:
        return f"nodes with {placer.ledger.totals.get(index, 0)} such pods"
    names = _names(placer, position)
    held = [(d, n) for d, n in sorted(placer.ledger.counts[index].items()) if n]
    return ", ".join(f"{names[d]} ({n})" for d, n in held[:_SHOWN])


def _names(placer: Placer, position: int) -> dict[int, str]:
    return {number: value for value, number in placer.ledger.numbers[position].items()}


def _blocker(reason: Reason, asked: str, offered: str) -> Blocker:
    return Blocker(nodepool="", reason=reason, asked=asked, offered=offered)
