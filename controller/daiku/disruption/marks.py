"""The commands that begin a disruption, keep pods away meanwhile, call it off, and end the old nodes.

The record comes first, then the taint: what is written on the NodeClaim is the decision, and everything else follows
from it on whichever tick sees it.
"""

from collections.abc import Iterator, Sequence
from datetime import datetime

from daiku import reasons
from daiku.commands import Announce, Command, DeleteNodeClaim, PatchNode, PatchNodeClaim
from daiku.disruption import moves, record
from daiku.disruption.record import Record
from daiku.model import labels, taints
from daiku.model.condition import Condition, Status
from daiku.reason import Reason
from daiku.state.statenode import StateNode


def begin(members: Sequence[StateNode], decided: Record, now: datetime) -> Iterator[Command]:
    """Write the decision on every node that goes, or bring it up to date."""
    for state_node in members:
        claim = state_node.claim
        if claim is None:
            continue
        told = claim.is_true(record.CONDITION)
        yield PatchNodeClaim(
            name=claim.meta.name,
            resource_version=claim.meta.resource_version,
            annotations={labels.DISRUPTION_COMMAND: record.write(decided)},
            conditions=()
            if told
            else (_condition(state_node, "True", decided.reason, decided.reason, now),),
        )


def keep_pods_away(members: Sequence[StateNode]) -> Iterator[Command]:
    """Taint the nodes that are not tainted yet."""
    for state_node in members:
        node = state_node.node
        if node is None or moves.is_tainted(state_node):
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
            labels.DISRUPTION_COMMAND in claim.meta.annotations or claim.is_true(record.CONDITION)
        ):
            yield PatchNodeClaim(
                name=claim.meta.name,
                resource_version=claim.meta.resource_version,
                annotations={labels.DISRUPTION_COMMAND: None}
                if labels.DISRUPTION_COMMAND in claim.meta.annotations
                else None,
                conditions=(_condition(state_node, "False", reason, message, now),),
            )
        if node is not None and moves.is_tainted(state_node):
            yield PatchNode(
                name=node.meta.name,
                resource_version=node.meta.resource_version,
                taints=moves.untainted(node.taints),
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
        type=record.CONDITION,
        status=status,
        reason=reason,
        message=message,
        last_transition=now,
        observed_generation=generation,
    )
