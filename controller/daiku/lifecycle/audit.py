"""A second opinion on everything that ends something: may this be deleted, evicted, let go?

Each rule is one sentence about one command and the snapshot, independent of how the command came about. A command that
breaks one is not carried out.
"""

from collections.abc import Iterator, Sequence

from daiku.commands import (
    Command,
    DeletePod,
    Evict,
    Launch,
    PatchNode,
    PatchNodeClaim,
    TerminateInstance,
)
from daiku.model import labels
from daiku.scheduling.audit import Violation
from daiku.state.snapshot import Snapshot


def audit(commands: Sequence[Command], snapshot: Snapshot) -> tuple[Violation, ...]:
    """Every rule that `commands` break; empty when they are legal."""
    return tuple(
        Violation(
            command=command, rule=rule, message=f"{type(command).__name__} {command.key}: {message}"
        )
        for command in commands
        for rule, message in _rules(command, snapshot)
    )


def _rules(command: Command, snapshot: Snapshot) -> Iterator[tuple[str, str]]:
    match command:
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
                and snapshot.instance_of(s.claim) == command.provider_id
                and not _is_going(s.name, snapshot)
            ]
            if wanted:
                yield "Instance", f"NodeClaim {wanted[0]} still wants it"
            held = [
                node.meta.name
                for node in snapshot.nodes_of.get(command.provider_id, ())
                if labels.TERMINATION_FINALIZER in node.meta.finalizers
                and node.meta.deleted is None
            ]
            if held and not wanted:
                yield "Instance", f"Node {held[0]} has not begun to drain"
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
