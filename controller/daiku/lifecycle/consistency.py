"""Whether a node has what it was bought for.

A machine whose kubelet reports less than nine tenths of what its instance type promises (a lying image, a broken
module, a wrong catalogue) takes fewer pods than were planned for it; that is said, and left to people.

Source: Karpenter's nodeclaim.consistency.
"""

from typing import Final

from daiku import reasons
from daiku.lifecycle.draft import Draft
from daiku.model import units
from daiku.state.statenode import StateNode

KIND: Final = "ConsistentStateFound"
_LEAST_PERCENT: Final = 90


def advance(draft: Draft, state_node: StateNode) -> None:
    """Compare what was asked for with what is there."""
    node, claim = state_node.node, draft.claim
    if node is None or not draft.is_true("Initialized"):
        return
    wrong = [
        (resource, claim.capacity[resource], node.capacity.get(resource, 0))
        for resource in sorted(claim.requests)
        if claim.requests[resource]
        and node.capacity.get(resource, 0) * 100 < claim.capacity.get(resource, 0) * _LEAST_PERCENT
    ]
    if not wrong:
        draft.set(KIND, "True")
        return
    said = "; ".join(
        f"expected {units.format_quantity(r, wanted)} of resource {r}, but found "
        f"{units.format_quantity(r, found)} ({found * 100 / wanted:.1f}% of expected)"
        for r, wanted, found in wrong
    )
    known = draft.condition(KIND)
    if known is None or known.status != "False":
        draft.announce("Warning", reasons.FAILED_CONSISTENCY_CHECK, said)
    draft.set(KIND, "False", reasons.CONSISTENCY_CHECK_FAILED, f"Consistency Check Failed: {said}")
