"""A second opinion on every node that is about to go by the controller's own choice.

Each rule is worked out from the snapshot alone, without the code that decided. A command that breaks one is not carried
out.
"""

import json
from collections.abc import Iterator, Sequence
from datetime import datetime
from typing import Final

from daiku import reasons
from daiku.commands import Command, DeleteNodeClaim
from daiku.model import budget, labels
from daiku.scheduling.audit import Violation
from daiku.state.snapshot import Snapshot
from daiku.state.statenode import StateNode

VOLUNTARY: Final = (reasons.EMPTY, reasons.DRIFTED, reasons.UNDERUTILIZED)


def audit(commands: Sequence[Command], snapshot: Snapshot, now: datetime) -> tuple[Violation, ...]:
    """Every rule that `commands` break; empty when they are legal."""
    ends = [c for c in commands if isinstance(c, DeleteNodeClaim) and c.reason in VOLUNTARY]
    found = [
        Violation(command=command, rule=rule, message=f"DeleteNodeClaim {command.key}: {message}")
        for command in ends
        for rule, message in _rules(command, snapshot)
    ]
    return (*found, *_budgets(ends, snapshot, now))


def _rules(command: DeleteNodeClaim, snapshot: Snapshot) -> Iterator[tuple[str, str]]:
    state_node = snapshot.by_name.get(command.name)
    if state_node is None or state_node.claim is None:
        return
    written = state_node.claim.meta.annotations.get(labels.DISRUPTION_COMMAND)
    if written is None:
        yield "Written", "its disruption is not written down"
        return
    if state_node.node is not None and not any(
        t.key == labels.DISRUPTED_TAINT for t in state_node.node.taints
    ):
        yield "Taint", "pods can still come to its node"
    for half in (state_node.claim, state_node.node):
        if half is not None and half.meta.annotations.get(labels.DO_NOT_DISRUPT) == "true":
            yield "DoNotDisrupt", f"{half.meta.name} forbids it"
    if command.reason == reasons.EMPTY and state_node.reschedulable:
        yield "Empty", "pods run on its node"
    for name in json.loads(written)["replacements"]:
        coming = snapshot.by_name.get(name)
        if coming is None or not coming.is_initialized:
            yield "Replacement", f"{name}, which comes in its place, is not ready"


def _budgets(
    ends: Sequence[DeleteNodeClaim], snapshot: Snapshot, now: datetime
) -> Iterator[Violation]:
    """No more nodes of a NodePool go than its budgets allow, those that are going already included."""
    if not ends:
        return
    for pool in snapshot.node_pools:
        ours = [s for s in snapshot.state_nodes if s.nodepool == pool.meta.name and _counts(s)]
        going = sum(1 for s in ours if s.is_leaving)
        names = {s.claim_name: True for s in ours}
        for command in ends:
            if command.name not in names:
                continue
            going += 1
            allowed = budget.allowed(pool.budgets, command.reason, len(ours), now)
            if allowed is not None and going > allowed:
                message = (
                    f"NodePool {pool.meta.name} allows {allowed} disruptions, this is the {going}th"
                )
                yield Violation(command=command, rule="Budget", message=message)


def _counts(state_node: StateNode) -> bool:
    return (
        state_node.claim is not None
        and state_node.is_initialized
        and not state_node.claim.is_true("InstanceTerminating")
    )
