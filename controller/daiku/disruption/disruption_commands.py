"""Disruptions that have been decided: how they are written on the cluster, read off it, carried on and undone.

The problem: from the decision to the end of the old nodes minutes pass, in which the controller may die. The idea: the
decision is written on the NodeClaims that take part before anything is done about it, in an annotation that names them
all. Whoever leads next reads it and goes on, or calls it off; nothing of it lives in memory alone. The record comes
first, then the taint: what is written on the NodeClaim is the decision, and everything else follows from it on
whichever tick sees it.

Beside it stand what Karpenter writes too: the condition DisruptionReason on the NodeClaim, and the taint
`karpenter.sh/disrupted` on its Node. Source: Karpenter's disruption queue, which keeps the record in memory.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from datetime import datetime, timedelta
from functools import lru_cache
from typing import Any, Final, cast

from daiku import reasons
from daiku.commands import Announce, Command, DeleteNodeClaim, PatchNode, PatchNodeClaim
from daiku.model import labels, taints
from daiku.model.condition import Condition, Status, find
from daiku.model.nodeclaim import NodeClaim
from daiku.reason import Reason
from daiku.report import Proposal
from daiku.state.snapshot import Snapshot
from daiku.state.statenode import StateNode

CONDITION: Final = "DisruptionReason"
REPLACEMENT_FAILED: Final = reasons.REPLACEMENT_FAILED
"""Why a disruption was called off: a new node did not come up."""
SURGE_STOPPED: Final = reasons.SURGE_STOPPED
"""Why a disruption was called off: a pod's replacement did not come up, or somebody set the replicas back."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Record:
    """What is written in the annotation."""

    id: str
    reason: Reason
    """Empty, Drifted or Underutilized."""
    method: str
    """empty, drift, static, repack or single."""
    claims: tuple[str, ...]
    """NodeClaims that go, in order."""
    replacements: tuple[str, ...] = ()
    """NodeClaims that come in their place, once they are asked for; in order."""
    surged: bool = False
    """Pods of theirs have been replaced already, on nodes that are there; no more nodes are made for it."""


def of_proposal(proposal: Proposal) -> Record:
    """The record with which `proposal` begins."""
    return Record(
        id=proposal.id, reason=proposal.reason, method=proposal.method, claims=proposal.claims
    )


def write(record: Record) -> str:
    """The annotation's value."""
    return json.dumps(asdict(record), sort_keys=True, separators=(",", ":"))


def read(claim: NodeClaim) -> Record | None:
    """The record on `claim`; None when there is none, or none that can be read."""
    return parse(claim.meta.annotations.get(labels.DISRUPTION_COMMAND))


@lru_cache(maxsize=4096)
def parse(written: str | None) -> Record | None:
    """The record that the annotation says; None when that is none."""
    if not written:
        return None
    try:
        found: object = json.loads(written)
    except ValueError:
        return None
    if not isinstance(found, dict):
        return None
    known = cast("dict[str, Any]", found)
    texts = [known.get(key) for key in ("id", "reason", "method")]
    lists = [known.get(key) for key in ("claims", "replacements")]
    if not all(isinstance(text, str) for text in texts) or not all(
        isinstance(names, list) and all(isinstance(n, str) for n in cast("list[Any]", names))
        for names in lists
    ):
        return None
    return Record(
        id=known["id"],
        reason=Reason(known["reason"]),
        method=known["method"],
        claims=tuple(known["claims"]),
        replacements=tuple(known["replacements"]),
        surged=known.get("surged") is True,
    )


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
        written = read(state_node.claim) if state_node.claim is not None else None
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
        and (is_tainted(s) or s.claim.is_true(CONDITION))
        # A change that is under way may be the very one that gives it a part, or takes the marks off.
        and not snapshot.is_held(f"NodeClaim/{s.claim_name}")
    ]


def is_tainted(state_node: StateNode) -> bool:
    """Whether pods are kept away from it."""
    return state_node.node is not None and taints.includes(state_node.node.taints, taints.DISRUPTED)


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
    told = [find(s.claim.conditions, CONDITION) for s in members if s.claim is not None]
    times = [
        c.last_transition
        for c in told
        if c is not None and c.status == "True" and c.last_transition
    ]
    return min(times, default=None)


def begin(members: Sequence[StateNode], decided: Record, now: datetime) -> Iterator[Command]:
    """Write the decision on every node that goes, or bring it up to date."""
    for state_node in members:
        claim = state_node.claim
        if claim is None:
            continue
        told = claim.is_true(CONDITION)
        yield PatchNodeClaim(
            name=claim.meta.name,
            resource_version=claim.meta.resource_version,
            annotations={labels.DISRUPTION_COMMAND: write(decided)},
            conditions=()
            if told
            else (_condition(state_node, "True", decided.reason, decided.reason, now),),
        )


def keep_pods_away(members: Sequence[StateNode]) -> Iterator[Command]:
    """Taint the nodes that are not tainted yet."""
    for state_node in members:
        node = state_node.node
        if node is None or is_tainted(state_node):
            continue
        others = tuple(t for t in node.taints if t.key != labels.DISRUPTED_TAINT)
        yield PatchNode(
            name=node.meta.name,
            resource_version=node.meta.resource_version,
            taints=(*others, taints.DISRUPTED),
        )


def let_off(
    members: Sequence[StateNode], reason: Reason, message: str, now: datetime
) -> Iterator[Command]:
    """Take every mark off again, and say why."""
    for state_node in members:
        claim, node = state_node.claim, state_node.node
        if claim is not None and (
            labels.DISRUPTION_COMMAND in claim.meta.annotations or claim.is_true(CONDITION)
        ):
            yield PatchNodeClaim(
                name=claim.meta.name,
                resource_version=claim.meta.resource_version,
                annotations={labels.DISRUPTION_COMMAND: None}
                if labels.DISRUPTION_COMMAND in claim.meta.annotations
                else None,
                conditions=(_condition(state_node, "False", reason, message, now),),
            )
        if node is not None and is_tainted(state_node):
            yield PatchNode(
                name=node.meta.name,
                resource_version=node.meta.resource_version,
                taints=taints.without(node.taints, (taints.DISRUPTED,)),
            )


def end(members: Sequence[StateNode], reason: Reason) -> Iterator[Command]:
    """Have the nodes go."""
    for state_node in members:
        claim = state_node.claim
        if claim is None:
            continue
        yield from announce(
            state_node, reasons.DISRUPTION_TERMINATING, "Disrupting {kind}: " + reason
        )
        yield DeleteNodeClaim(name=claim.meta.name, uid=claim.meta.uid, reason=reason)


def announce(
    state_node: StateNode, reason: Reason, message: str, *, kind: str = "Normal"
) -> Iterator[Announce]:
    """Tell those who look at the Node and those who look at the NodeClaim; `{kind}` in the message becomes which."""
    halves = (("Node", state_node.node), ("NodeClaim", state_node.claim))
    for of, half in halves:
        if half is not None:
            said = message.replace("{kind}", of)
            yield Announce.on(of, half.meta, type_=kind, reason=reason, message=said)


def _condition(
    state_node: StateNode, status: Status, reason: Reason, message: str, now: datetime
) -> Condition:
    generation = state_node.claim.meta.generation if state_node.claim is not None else 0
    return Condition(
        type=CONDITION,
        status=status,
        reason=reason,
        message=message,
        last_transition=now,
        observed_generation=generation,
    )
