"""Disruptions under way, read off the cluster: who goes, who comes in their place, and since when.

Source: Karpenter's disruption queue, which keeps the same in memory.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from daiku.disruption import record
from daiku.disruption.record import Record
from daiku.model import taints
from daiku.model.condition import find
from daiku.model.taints import Taint
from daiku.state.snapshot import Snapshot
from daiku.state.statenode import StateNode


@dataclass(frozen=True, slots=True, kw_only=True)
class Move:
    """One decision that is being carried out."""

    record: Record
    members: tuple[StateNode, ...]
    """Nodes that go and are still there, in the order of their NodeClaims' names."""
    replacements: tuple[StateNode, ...]
    """Nodes that come in their place, those that were only asked for included."""
    since: datetime | None
    """When it began; None when that has not been written yet."""

    @property
    def staying(self) -> tuple[StateNode, ...]:
        """Members whose deletion nobody has asked for yet."""
        return tuple(s for s in self.members if not s.is_leaving)

    @property
    def pods(self) -> frozenset[str]:
        """namespace/name of the pods that have to leave."""
        return frozenset(p.meta.key for s in self.staying for p in s.reschedulable)

    @property
    def missing(self) -> tuple[str, ...]:
        """Replacements that were asked for and are not there."""
        there = {s.claim_name: True for s in self.replacements}
        return tuple(name for name in self.record.replacements if name not in there)

    def is_younger_than(self, most: timedelta, now: datetime) -> bool:
        """Whether it began less than `most` ago."""
        return self.since is None or now - self.since < most

    @property
    def is_repack(self) -> bool:
        """Whether it is a step of a repack."""
        return self.record.method == "repack"

    @property
    def pools(self) -> tuple[str, ...]:
        """NodePools of its members, in order."""
        return tuple(sorted(dict.fromkeys(s.nodepool for s in self.members)))


def under_way(snapshot: Snapshot) -> list[Move]:
    """Every move, the oldest first, then by id. One whose members are all gone is over."""
    members: dict[str, list[StateNode]] = {}
    replacements: dict[str, list[StateNode]] = {}
    records: dict[str, Record] = {}
    for state_node in snapshot.state_nodes:
        written = record.read(state_node.claim) if state_node.claim is not None else None
        if written is None:
            continue
        if state_node.claim_name not in written.claims:
            replacements.setdefault(written.id, []).append(state_node)
            continue
        members.setdefault(written.id, []).append(state_node)
        known = records.setdefault(written.id, written)
        if len(written.replacements) > len(known.replacements):
            records[written.id] = written
    found = [
        Move(
            record=_joined(records[id_], replacements.get(id_, ())),
            members=tuple(sorted(each, key=lambda s: s.claim_name)),
            replacements=tuple(sorted(replacements.get(id_, ()), key=lambda s: s.claim_name)),
            since=_since(each),
        )
        for id_, each in members.items()
    ]
    return sorted(found, key=lambda m: (m.since or snapshot.at, m.record.id))


def moving(moves: Sequence[Move]) -> dict[str, str]:
    """NodeClaims that have a part in a move -> which part, for people."""
    parts: dict[str, str] = {}
    for move in moves:
        coming = ", ".join(move.record.replacements)
        waits = f"; waits for {coming}" if coming else ""
        for s in move.members:
            parts[s.claim_name] = f"it is being disrupted ({move.record.reason}){waits}"
        for s in move.replacements:
            going = ", ".join(move.record.claims)
            parts.setdefault(s.claim_name, f"it comes in the place of {going}")
    return parts


def strays(snapshot: Snapshot, parts: Mapping[str, str]) -> list[StateNode]:
    """Nodes that carry the marks of a disruption in which they have no part (any more)."""
    return [
        s
        for s in snapshot.state_nodes
        if s.claim is not None
        and s.claim_name not in parts
        and s.is_initialized
        and not (s.is_leaving or s.expected)
        and (is_tainted(s) or s.claim.is_true(record.CONDITION))
        # A change that is under way may be the very one that gives it a part, or takes the marks off.
        and not snapshot.is_held(f"NodeClaim/{s.claim_name}")
    ]


def is_tainted(state_node: StateNode) -> bool:
    """Whether pods are kept away from it."""
    return state_node.node is not None and taints.includes(state_node.node.taints, taints.DISRUPTED)


def untainted(marks: Sequence[Taint]) -> tuple[Taint, ...]:
    """`marks` without the one of disruption."""
    return taints.without(marks, (taints.DISRUPTED,))


def as_if_gone(snapshot: Snapshot, names: frozenset[str]) -> Snapshot:
    """The snapshot in which the named NodeClaims are on their way out: their pods need places, and they offer none."""
    if not names:
        return snapshot
    nodes = tuple(
        replace(s, ending=True) if s.claim_name in names else s for s in snapshot.state_nodes
    )
    by_name = {s.claim_name: s for s in nodes if s.claim is not None} | {s.name: s for s in nodes}
    return replace(snapshot, state_nodes=nodes, by_name=by_name)


def _joined(written: Record, coming: Sequence[StateNode]) -> Record:
    """The record with every replacement that is there, written down already or not."""
    known = (*written.replacements, *(s.claim_name for s in coming))
    return replace(written, replacements=tuple(sorted(dict.fromkeys(known))))


def _since(members: Sequence[StateNode]) -> datetime | None:
    told = [find(s.claim.conditions, record.CONDITION) for s in members if s.claim is not None]
    times = [
        c.last_transition
        for c in told
        if c is not None and c.status == "True" and c.last_transition
    ]
    return min(times, default=None)
