"""Whether a node has been quiet for long enough to be consolidated: the time of its last pod, and its condition.

Source: Karpenter's nodeclaim.podevents and the Consolidatable part of nodeclaim.disruption.
"""

from datetime import timedelta
from typing import Final

from daiku import reasons
from daiku.lifecycle.draft import Draft
from daiku.model import waking
from daiku.model.condition import find
from daiku.state.snapshot import Snapshot
from daiku.state.statenode import StateNode

_WRITE_EVERY: Final = timedelta(seconds=10)
"""The time of the last pod is written at most this often; in memory it is exact."""
_CALM: Final = timedelta(seconds=5)
"""It is written when no pod has come or gone for so long: what the next one overwrites is not worth a write."""
_WRITE_LATEST: Final = timedelta(minutes=1)
"""It is written this often at least while pods keep coming."""


def advance(draft: Draft, state_node: StateNode, snapshot: Snapshot) -> None:
    """Write down when a pod last came or went, and whether that is long ago."""
    claim, event = draft.claim, state_node.pod_event
    if event is not None and (
        claim.last_pod_event is None or event - claim.last_pod_event >= _WRITE_EVERY
    ):
        since = claim.last_pod_event or claim.meta.created
        if draft.now - event >= _CALM or (since is not None and event - since >= _WRITE_LATEST):
            draft.last_pod_event = event
        else:
            draft.wakes.append(waking.shared(event + _CALM, _CALM))
    pool = snapshot.node_pool(claim.nodepool)
    due = state_node.consolidatable_at(pool) if pool is not None and pool.replicas is None else None
    if due is not None and due <= draft.now and draft.is_true("Initialized"):
        draft.set("Consolidatable", "True")
        return
    if due is not None and pool is not None:
        draft.wakes.append(waking.shared(due, pool.consolidate_after))
    if find(claim.conditions, "Consolidatable") is not None:
        draft.set(
            "Consolidatable",
            "False",
            reasons.NOT_CONSOLIDATABLE,
            reasons.means(reasons.NOT_CONSOLIDATABLE),
        )
