"""Machines in a capacity reservation: what becomes of them when it ends.

EC2 ends the machines of a capacity block with it, so they are left in time: from 40 minutes before its end its entry in
the node class's status says so. Any other reservation leaves its machines behind as ordinary ones, paid for from then
on; their labels follow, because prices and what may replace them are read from there.

Source: Karpenter's capacityreservation.expiration and capacityreservation.capacitytype.
"""

from collections.abc import Mapping, Sequence
from datetime import timedelta
from typing import Any, Final, cast

from daiku import reasons
from daiku.cloud.provider import Instance
from daiku.commands import Announce, DeleteNodeClaim, PatchNode
from daiku.lifecycle.draft import Draft
from daiku.lifecycle.node_class_drift import RESERVATION
from daiku.model import labels
from daiku.model.condition import find
from daiku.model.node import Node
from daiku.state.snapshot import Snapshot
from daiku.state.statenode import StateNode

KIND: Final = "karpenter.k8s.aws/capacity-reservation-type"
INTERRUPTIBLE: Final = "karpenter.k8s.aws/capacity-reservation-interruptible"
BLOCK: Final = "capacity-block"
ENDING: Final = reasons.ENDED_CAPACITY_BLOCK
"""Why such a NodeClaim is deleted, for metrics."""
ORDINARY: Final[Mapping[str, str | None]] = {
    labels.CAPACITY_TYPE: labels.ON_DEMAND,
    RESERVATION: None,
    KIND: None,
    INTERRUPTIBLE: None,
}
"""What the labels of a machine become whose reservation is over."""
_SETTLED: Final = timedelta(minutes=1)
"""What was launched this long ago is described as it is."""


def advance(
    draft: Draft, state_node: StateNode, snapshot: Snapshot, instances: Mapping[str, Instance]
) -> None:
    """Leave a capacity block before it ends; call a machine ordinary whose reservation is over.

    Args:
        draft: Of a NodeClaim that is not being deleted.
        state_node: The same, with its Node.
        snapshot: For the status of its node class, and when the cloud was asked.
        instances: By provider id, as the cloud last listed them.
    """
    known = draft.claim.meta.labels
    node = state_node.node
    if known.get(labels.CAPACITY_TYPE) == labels.RESERVED:
        if known.get(KIND) == BLOCK and _is_ending(draft, snapshot):
            _leave(draft, node)
            return
        if not _is_over(draft, snapshot, instances):
            return
        draft.labels |= ORDINARY
        draft.announce(
            "Normal",
            reasons.CAPACITY_RESERVATION_ENDED,
            f"its capacity reservation {known.get(RESERVATION, '')} has ended: it is an on-demand instance now",
        )
        draft.commands += _relabelled(node)
    elif (
        known.get(labels.CAPACITY_TYPE) == labels.ON_DEMAND
        and node is not None
        and node.meta.labels.get(labels.CAPACITY_TYPE) == labels.RESERVED
    ):
        # The NodeClaim was written, and then something failed.
        draft.commands += _relabelled(node)


def _is_ending(draft: Draft, snapshot: Snapshot) -> bool:
    node_class = snapshot.node_classes.get(draft.claim.node_class)
    listed = node_class.status.get("capacityReservations") if node_class is not None else None
    return any(
        each.get("id") == draft.claim.meta.labels.get(RESERVATION)
        and each.get("state") == "expiring"
        for each in cast("Sequence[Mapping[str, Any]]", listed or ())
    )


def _leave(draft: Draft, node: Node | None) -> None:
    meta = draft.claim.meta
    message = (
        f"drains: its capacity block {meta.labels.get(RESERVATION, '')} ends within 40 minutes"
    )
    draft.announce("Warning", reasons.CAPACITY_BLOCK_ENDING, message)
    if node is not None:
        draft.commands.append(
            Announce.on(
                "Node",
                node.meta,
                type_="Warning",
                reason=reasons.CAPACITY_BLOCK_ENDING,
                message=message,
            )
        )
    draft.commands.append(DeleteNodeClaim(name=meta.name, uid=meta.uid, reason=ENDING))
    draft.ended = True


def _is_over(draft: Draft, snapshot: Snapshot, instances: Mapping[str, Instance]) -> bool:
    launched = find(draft.claim.conditions, "Launched")
    if snapshot.instances is None or launched is None or launched.last_transition is None:
        return False
    instance = instances.get(draft.claim.provider_id)
    settled = snapshot.instances.asked > launched.last_transition + _SETTLED
    return settled and instance is not None and not instance.terminating and not instance.reserved


def _relabelled(node: Node | None) -> list[PatchNode]:
    if node is None or node.meta.labels.get(labels.CAPACITY_TYPE) != labels.RESERVED:
        return []
    return [
        PatchNode(name=node.meta.name, resource_version=node.meta.resource_version, labels=ORDINARY)
    ]
