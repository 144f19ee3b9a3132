"""NodeClaims and Nodes of an older version, or made by hand, get what newer ones are born with.

The label that names the node class; and the version of the hash by which drift is judged. When the way of hashing
changes, the hashes of old NodeClaims say nothing any more: they are taken to be made from the NodePool as it is, unless
they are known to have drifted, and only when all of them are is the NodePool's own version written.

Source: Karpenter's nodeclaim.hydration, node.hydration and nodepool.hash.
"""

from collections.abc import Mapping

from daiku.commands import PatchNode
from daiku.lifecycle.draft import Draft
from daiku.model import labels, nodepool_hash
from daiku.model.nodepool import NodePool
from daiku.state.snapshot import Snapshot
from daiku.state.statenode import StateNode


def advance(draft: Draft, state_node: StateNode, snapshot: Snapshot) -> None:
    """Add what is missing."""
    claim, node = draft.claim, state_node.node
    ref = claim.node_class
    key = labels.node_class_label(ref.group, ref.kind)
    if claim.meta.labels.get(key) != ref.name:
        draft.labels[key] = ref.name
    if (
        node is not None
        and node.meta.deleted is None
        and node.is_registered
        and node.meta.labels.get(key) != ref.name
    ):
        draft.commands.append(
            PatchNode(
                name=node.meta.name,
                resource_version=node.meta.resource_version,
                labels={key: ref.name},
                before=node,
            )
        )
    pool = snapshot.node_pool(claim.nodepool)
    if pool is not None and _is_old(pool.meta.annotations) and _is_old(claim.meta.annotations):
        draft.annotations[labels.NODEPOOL_HASH_VERSION] = nodepool_hash.VERSION
        if not claim.is_true("Drifted"):
            draft.annotations[labels.NODEPOOL_HASH] = nodepool_hash.of(pool.template)


def is_done(pool: NodePool, snapshot: Snapshot) -> bool:
    """Whether no NodeClaim of `pool` carries a hash of another version."""
    return not _is_old(pool.meta.annotations) or not any(
        s.claim is not None and s.nodepool == pool.meta.name and _is_old(s.claim.meta.annotations)
        for s in snapshot.state_nodes
    )


def _is_old(annotations: Mapping[str, str]) -> bool:
    return annotations.get(labels.NODEPOOL_HASH_VERSION) != nodepool_hash.VERSION
