"""A second opinion on everything that ends something: may this be deleted, evicted, let go?

Each rule is one sentence about one command and the snapshot, independent of how the command came about. A command that
breaks one is not carried out.
"""

from collections.abc import Iterator, Sequence
from datetime import datetime

from daiku.commands import (
    Command,
    DeleteNodeClaim,
    DeletePod,
    Evict,
    Launch,
    PatchNode,
    PatchNodeClaim,
    TerminateInstance,
)
from daiku.model import budget
from daiku.scheduling.audit import Violation
from daiku.state.snapshot import Snapshot

_EMPTY = "Empty"


def audit(commands: Sequence[Command], snapshot: Snapshot, now: datetime) -> tuple[Violation, ...]:
    """Every rule that `commands` break; empty when they are legal."""
    found = [
        Violation(
            command=command, rule=rule, message=f"{type(command).__name__} {command.key}: {message}"
        )
        for command in commands
        for rule, message in _rules(command, snapshot)
    ]
    return (*found, *_budgets(commands, snapshot, now))


def _rules(command: Command, snapshot: Snapshot) -> Iterator[tuple[str, str]]:
    match command:
        case DeleteNodeClaim() if command.reason == _EMPTY:
            state_node = snapshot.by_name.get(command.name)
            if state_node is None or any(p.is_reschedulable for p in state_node.pods):
                yield "Empty", "pods run on its node"
        case Launch():
            claim = command.node_claim
            if claim.provider_id or claim.meta.deleted is not None:
                yield "Launch", "it has an instance, or is being deleted"
            if any(
                (o.instance_type, o.zone, o.capacity_type) in snapshot.sold_out
                for o in command.options
            ):
                yield "Launch", "one of its options is sold out"
        case TerminateInstance():
            wanted = [
                s.claim_name
                for s in snapshot.state_nodes
                if s.claim is not None
                and s.claim.provider_id == command.provider_id
                and not _is_going(s.name, snapshot)
            ]
            if wanted:
                yield "Instance", f"NodeClaim {wanted[0]} still wants it"
        case Evict() | DeletePod():
            if not _is_on_leaving_node(command, snapshot):
                yield "Eviction", "its node is not being deleted"
        case PatchNode() if command.remove_finalizer:
            if not _is_going(command.name, snapshot):
                yield "Finalizer", "the Node is not being deleted"
        case PatchNodeClaim() if command.remove_finalizer:
            state_node = snapshot.by_name.get(command.name)
            if (
                state_node is None
                or state_node.claim is None
                or state_node.claim.meta.deleted is None
            ):
                yield "Finalizer", "the NodeClaim is not being deleted"
        case _:
            return


def _is_going(name: str, snapshot: Snapshot) -> bool:
    """Whether the NodeClaim or the Node of that name is being deleted."""
    state_node = snapshot.by_name.get(name)
    if state_node is None:
        return False
    halves = [half.meta.deleted for half in (state_node.claim, state_node.node) if half is not None]
    return any(deleted is not None for deleted in halves)


def _is_on_leaving_node(command: Evict | DeletePod, snapshot: Snapshot) -> bool:
    return any(
        pod.meta.uid == command.uid and _is_going(state_node.name, snapshot)
        for state_node in snapshot.state_nodes
        if state_node.is_deleting
        for pod in state_node.pods
    )


def _budgets(commands: Sequence[Command], snapshot: Snapshot, now: datetime) -> Iterator[Violation]:
    """No more empty nodes of a NodePool go than its budgets allow, those that are going already included."""
    for pool in snapshot.node_pools:
        ours = [
            s
            for s in snapshot.state_nodes
            if s.nodepool == pool.meta.name and s.claim is not None and s.is_initialized
        ]
        allowed = budget.allowed(pool.budgets, _EMPTY, len(ours), now)
        going = sum(1 for s in ours if s.is_leaving)
        names = {s.claim_name: True for s in ours}
        for command in commands:
            if (
                isinstance(command, DeleteNodeClaim)
                and command.reason == _EMPTY
                and command.name in names
            ):
                going += 1
                if allowed is not None and going > allowed:
                    message = f"NodePool {pool.meta.name} allows {allowed} disruptions, this is the {going}th"
                    yield Violation(command=command, rule="Budget", message=message)
