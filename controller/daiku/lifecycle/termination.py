"""The end of a node, from either side: its NodeClaim is deleted, or its Node is.

The order, each step only when the one before it is seen to be done: the Node is told to go and its finalizer holds
it; a taint keeps new pods away; pods leave; their volumes are detached; the instance ends, and only the cloud's word
that it is gone counts; the Node's finalizer goes, then the NodeClaim's. A NodeClaim without a Node skips to the
instance. Every step is decided from what is there, so it goes on after a restart where it stood.

Nothing here can wait for ever for somebody who does not answer: pods that do not end, volumes that are not detached
and finalizers of others have their time, and then it is said and gone on without them. Only a pod that its owner
protects, and a machine that the cloud does not end, are waited for without limit.

Source: Karpenter's node.termination and the finalizer of nodeclaim.lifecycle.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Final

from daiku import reasons
from daiku.cloud import errors
from daiku.commands import (
    Announce,
    Command,
    DeleteNode,
    DeleteNodeClaim,
    Evict,
    PatchNode,
    TerminateInstance,
)
from daiku.lifecycle import detachment, drain, waits
from daiku.lifecycle.draft import Draft
from daiku.model import labels, taints
from daiku.model.condition import find
from daiku.model.node import Node
from daiku.model.nodeclaim import NodeClaim
from daiku.reason import NO_REASON, Reason
from daiku.state.snapshot import Snapshot
from daiku.state.statenode import StateNode
from daiku.surge import carry
from daiku.surge import hold as surge

_DRAIN_LEAST: Final = timedelta(seconds=5)
"""How long a drain takes at least: pods that were bound just before the taint still turn up."""
_VISIBLE: Final = timedelta(seconds=30)
"""How long an instance may take from its launch to the cloud's lists."""
_ABANDONED: Final = timedelta(minutes=5)
"""How long a Node without a machine may be held by finalizers of others before its NodeClaim goes without it."""
_FAILURES: Final = 3
"""How often the cloud must have refused to end an instance before people are told."""
_EXPIRING: Final = reasons.TERMINATION_EXPIRING


@dataclass(slots=True)
class Ending:
    """One Node that is going, and what one tick does about it. Made and used up within the tick."""

    state_node: StateNode
    node: Node
    draft: Draft | None
    """Changes to its NodeClaim; None when it has none."""
    snapshot: Snapshot
    now: datetime
    commands: list[Command] = field(default_factory=list[Command])
    wakes: list[datetime] = field(default_factory=list[datetime])

    @property
    def deadline(self) -> datetime | None:
        """When it must be gone; None: when its pods are."""
        return deadline_of(self.draft.claim) if self.draft is not None else None

    def tell(self, kind: str, reason: Reason, message: str) -> None:
        """Tell people who look at the Node."""
        self.commands.append(
            Announce.on("Node", self.node.meta, type_=kind, reason=reason, message=message)
        )


def of_claim(draft: Draft, snapshot: Snapshot) -> None:
    """Carry on with the end of a NodeClaim that is being deleted."""
    claim = draft.claim
    if labels.TERMINATION_FINALIZER not in claim.meta.finalizers:
        return
    grace = claim.termination_grace_period
    if grace is not None and claim.meta.deleted is not None:
        deadline = (claim.meta.deleted + grace).isoformat().replace("+00:00", "Z")
        if labels.TERMINATION_TIMESTAMP not in {**claim.meta.annotations, **draft.annotations}:
            draft.annotations[labels.TERMINATION_TIMESTAMP] = deadline
            draft.announce("Warning", _EXPIRING, f"All pods will be deleted by {deadline}")
    instance = snapshot.instance_of(claim)
    nodes = snapshot.nodes_of.get(instance, ()) if instance else ()
    wanted = [node for node in nodes if node.meta.deleted is None]
    if wanted:
        draft.commands += [_hold_or_delete(node) for node in wanted]
    if wanted or any(labels.TERMINATION_FINALIZER in node.meta.finalizers for node in nodes):
        return
    if not instance and not _was_never_launched(draft, snapshot):
        return
    if instance and not _end_instance(instance, claim, draft, snapshot):
        return
    if not nodes or all(_is_abandoned(node, draft) for node in nodes):
        draft.remove_finalizer = True


def _is_abandoned(node: Node, draft: Draft) -> bool:
    """Whether the Node, whose machine is gone, has been held by others for so long that nobody waits for it."""
    end = (node.meta.deleted or draft.now) + _ABANDONED
    if draft.now < end:
        draft.wakes.append(end)
        return False
    held = ", ".join(node.meta.finalizers) or "nobody"
    draft.announce(
        "Warning",
        reasons.FINALIZER_FORCED,
        f"Node {node.meta.name} has no machine any more and is still held by {held}: the NodeClaim goes without it",
    )
    return True


def _hold_or_delete(node: Node) -> PatchNode | DeleteNode:
    """A Node goes only when it is held by our finalizer, even one that was never registered.

    As long as its machine runs its kubelet may make it again, and it may have been registered, and got pods, a moment
    ago: holding it is refused if it is not as it was seen.
    """
    if labels.TERMINATION_FINALIZER in node.meta.finalizers:
        return DeleteNode(name=node.meta.name, uid=node.meta.uid)
    return PatchNode(
        name=node.meta.name, resource_version=node.meta.resource_version, add_finalizer=True
    )


def of_node(
    state_node: StateNode, node: Node, draft: Draft | None, snapshot: Snapshot, now: datetime
) -> Ending:
    """Carry on with the end of a Node that is being deleted.

    Args:
        state_node: The node with its pods.
        node: Its Node.
        draft: Changes to its NodeClaim; None when it has none.
        snapshot: Everything else.
        now: The time.
    """
    ending = Ending(state_node, node, draft, snapshot, now)
    if labels.TERMINATION_FINALIZER not in node.meta.finalizers:
        return ending
    claim = draft.claim if draft is not None else None
    if claim is not None and claim.meta.deleted is None:
        ending.commands.append(
            DeleteNodeClaim(
                name=claim.meta.name, uid=claim.meta.uid, reason=reasons.ENDED_NODE_DELETED
            )
        )
    born = node.meta.created or now
    if not node.is_ready and _is_gone(node.provider_id, node.meta.deleted, born, snapshot):
        ending.commands.append(_release(node))
        return ending
    marking = _mark(node)
    if marking is not None:
        ending.commands.append(marking)
        if ending.deadline is not None:
            by = ending.deadline.isoformat(timespec="seconds")
            ending.tell("Warning", _EXPIRING, f"All pods will be deleted by {by}")
        return ending
    if not (_drain(ending) and _detach(ending)):
        return ending
    if draft is None or _end_instance(node.provider_id, draft.claim, draft, snapshot):
        ending.commands.append(_release(node))
    return ending


def _mark(node: Node) -> PatchNode | None:
    """The command that keeps pods and load balancers away; None when that is done."""
    if drain.is_marked(node):
        return None
    others = tuple(t for t in node.taints if t.key != labels.DISRUPTED_TAINT)
    return PatchNode(
        name=node.meta.name,
        resource_version=node.meta.resource_version,
        labels=drain.MARKS,
        taints=(*others, taints.DISRUPTED),
    )


def _drain(ending: Ending) -> bool:
    """Ask pods to leave; whether all have left."""
    draft, now, pdbs = ending.draft, ending.now, ending.snapshot.pdbs
    reason = _reason(draft.claim) if draft is not None else drain.FORCEFUL
    drained = drain.plan(ending.state_node.pods, ending.deadline, now, reason)
    held = _wait_for_surges(ending)
    ending.commands += [
        c
        for c in drained.commands
        if not (isinstance(c, Evict) and f"{c.namespace}/{c.name}" in held)
    ]
    ending.wakes += [drained.wake_at] if drained.wake_at is not None else []
    why = waits.sentence(drained.waiting, pdbs, now)
    if waits.is_blocked(drained.waiting, pdbs, now):
        count = len(drained.waiting)
        told = f"Failed to drain node, {count} pods are waiting to be evicted: {why}"
        ending.tell("Warning", reasons.FAILED_DRAINING, told)
    if draft is None:
        return not drained.waiting
    if draft.is_true("Drained"):
        draft.set("Drained", "True")
        return not drained.waiting
    if drained.waiting:
        draft.set("Drained", "Unknown", reasons.DRAINING, why)
        return False
    started = find(draft.claim.conditions, "Drained")
    if started is None or started.last_transition is None:
        draft.set(
            "Drained", "Unknown", reasons.DRAINING, "no pod has to leave; waits for late arrivals"
        )
        return False
    if started.last_transition + _DRAIN_LEAST > now:
        ending.wakes.append(started.last_transition + _DRAIN_LEAST)
        return False
    draft.set("Drained", "True")
    return True


def _wait_for_surges(ending: Ending) -> Mapping[str, object]:
    """Pods that are not asked to leave yet, because their replacements come first.

    A node that expires is deleted before anybody has looked at its pods, so their surges begin here. One that does not
    work holds nothing up: the pod is evicted, as far as its PodDisruptionBudget lets it.
    """
    claim = ending.draft.claim if ending.draft is not None else None
    if claim is None or claim.meta.deleted is None or not _is_by_choice(claim):
        return {}
    held = surge.before((ending.state_node,), ending.snapshot, ending.now)
    ending.commands += held.commands
    over = claim.meta.deleted + carry.TIMEOUT
    if held.is_stopped or over <= ending.now:
        return held.waiting
    ending.wakes.append(over)
    return {**held.waiting, **held.blocked}


def _is_by_choice(claim: NodeClaim) -> bool:
    """Whether the controller itself chose to end it: to disrupt it, or because its time was over."""
    born, ends = claim.meta.created, claim.meta.deleted
    lasts = claim.expire_after
    if born is not None and ends is not None and lasts is not None and born + lasts <= ends:
        return True
    return _reason(claim) != drain.FORCEFUL


def _reason(claim: NodeClaim) -> str:
    """Why its pods have to leave."""
    chosen = find(claim.conditions, "DisruptionReason")
    return chosen.reason if chosen is not None and chosen.status == "True" else drain.FORCEFUL


def _detach(ending: Ending) -> bool:
    """Wait for the volumes of the pods that have left; whether they are detached, or their time is over."""
    draft, now = ending.draft, ending.now
    drained = draft.condition("Drained") if draft is not None else None
    since = (drained.last_transition if drained is not None else None) or ending.node.meta.deleted
    found = detachment.look(ending.state_node, ending.snapshot, since or now, ending.deadline, now)
    if draft is not None:
        draft.set("VolumesDetached", *found.condition)
    ending.wakes += [found.wake_at] if found.wake_at is not None else []
    if found.message:
        ending.tell("Normal", reasons.AWAITING_DETACHMENT, found.message)
    return found.is_over


def _end_instance(instance: str, claim: NodeClaim, draft: Draft, snapshot: Snapshot) -> bool:
    """Ask the cloud to end the instance; whether it is gone."""
    started = find(claim.conditions, "InstanceTerminating")
    asked = started.last_transition if started is not None and started.status == "True" else None
    launched = find(claim.conditions, "Launched")
    born = launched.last_transition if launched is not None and launched.status == "True" else None
    if _is_gone(instance, asked, born or draft.now, snapshot):
        return True
    command = TerminateInstance(provider_id=instance, node_claim=claim.meta.name)
    hold = snapshot.holds.get(command.key)
    refused = hold.why if hold is not None and hold.failures else ""
    draft.set(
        "InstanceTerminating",
        "True",
        reasons.TERMINATION_REFUSED if refused else NO_REASON,
        refused,
    )
    if hold is None:
        draft.commands.append(command)
    elif hold.until is not None:
        draft.wakes.append(hold.until)
        if hold.failures >= _FAILURES:
            draft.announce(
                "Warning", reasons.FAILED_TERMINATION, f"{instance} still runs: {hold.why}"
            )
    return False


def _is_gone(instance: str, since: datetime | None, born: datetime, snapshot: Snapshot) -> bool:
    """Whether the cloud says that it does not know the instance: when asked, or in a list made after `since`.

    A list says nothing about an instance that was born a moment ago.
    """
    if instance in snapshot.gone_instances:
        return True
    listed = snapshot.instances
    if listed is None or since is None or listed.asked <= max(since, born + _VISIBLE):
        return False
    return all(each.provider_id != instance for each in listed.instances)


def _was_never_launched(draft: Draft, snapshot: Snapshot) -> bool:
    """Whether it is sure that a NodeClaim without an instance has none.

    The cloud tried to launch one and had none left, or does not show one in a list that was made long enough after the
    deletion: a launch by a process that has died since may take a while to become visible. Any other refusal only says
    that the last call came to nothing.
    """
    claim = draft.claim
    hold = snapshot.holds.get(f"Launch/{claim.meta.name}")
    if hold is not None and hold.until is None:
        return False
    failure = snapshot.launch_failures.get(claim.meta.name)
    if isinstance(failure, errors.InsufficientCapacity):
        return True
    visible = (claim.meta.deleted or draft.now) + _VISIBLE
    if draft.now < visible:
        draft.wakes.append(visible)
        return False
    return snapshot.instances is not None and snapshot.instances.asked >= visible


def deadline_of(claim: NodeClaim) -> datetime | None:
    """When a NodeClaim that is being deleted must be gone; None when its pods may take their time."""
    written = claim.meta.annotations.get(labels.TERMINATION_TIMESTAMP)
    if written:
        try:
            return datetime.fromisoformat(written)
        except ValueError:
            pass
    if claim.termination_grace_period is None or claim.meta.deleted is None:
        return None
    return claim.meta.deleted + claim.termination_grace_period


def _release(node: Node) -> PatchNode:
    return PatchNode(
        name=node.meta.name, resource_version=node.meta.resource_version, remove_finalizer=True
    )
