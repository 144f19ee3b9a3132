"""Waiting for volumes to be detached, so that the next node can attach them at once and none is torn away in use.

Volumes of pods that stay on the node to its end (static ones, those that tolerate the drain, those that do not end)
are not waited for: they are detached only with the machine. The NodeClaim's deadline ends the wait, and so does the
time after which Kubernetes' own attach-detach controller would have detached them by force.

Source: Karpenter's node.termination, awaitVolumeDetachment.
"""

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

from daiku import reasons
from daiku.lifecycle import drain
from daiku.model.condition import Status
from daiku.reason import NO_REASON, Reason
from daiku.state.snapshot import Snapshot
from daiku.state.statenode import StateNode

LONGEST: Final = timedelta(minutes=10)
"""How long volumes may take without a deadline: more than the six minutes after which Kubernetes uses force."""
_NAMED_MOST: Final = 5


@dataclass(frozen=True, slots=True, kw_only=True)
class Detachment:
    """Where it stands."""

    condition: tuple[Status, Reason, str]
    """Status, reason and message of the condition VolumesDetached."""
    is_over: bool
    """Whether nothing is waited for any more."""
    message: str = ""
    """What to tell people now; empty: nothing."""
    wake_at: datetime | None = None


def look(
    state_node: StateNode,
    snapshot: Snapshot,
    since: datetime,
    deadline: datetime | None,
    now: datetime,
) -> Detachment:
    """Whether the volumes of a drained node are detached.

    Args:
        state_node: The node with the pods that are left.
        snapshot: Has the attachments.
        since: When its pods had left.
        deadline: When the node must be gone; None: when it can.
        now: The time.
    """
    staying = [pod for pod in state_node.pods if not drain.is_drainable(pod, now)]
    held = [a.meta.name for a in snapshot.volumes.held_by(state_node.name, staying)]
    if not held:
        return Detachment(condition=("True", NO_REASON, ""), is_over=True)
    more = f" and {len(held) - _NAMED_MOST} others" if len(held) > _NAMED_MOST else ""
    names = ", ".join(held[:_NAMED_MOST]) + more
    end = min(since + LONGEST, deadline) if deadline is not None else since + LONGEST
    if now < end:
        message = f"Awaiting deletion of bound volumeattachments ({names})"
        unknown: tuple[Status, Reason, str] = ("Unknown", reasons.AWAITING_DETACHMENT, message)
        return Detachment(condition=unknown, is_over=False, message=message, wake_at=end)
    reason = (
        reasons.DETACHMENT_GRACE_OVER
        if deadline is not None and deadline <= now
        else reasons.DETACHMENT_TIMED_OUT
    )
    return Detachment(
        condition=("False", reason, f"the machine ends with volumeattachments {names}"),
        is_over=True,
    )
