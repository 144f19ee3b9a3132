"""Which NodePools and NodeClaims are ours: those whose node classes our cloud understands.

Controllers of several clouds may share a cluster; what belongs to another one does not exist here.

Source: Karpenter's nodeclaim and nodepool utilities, IsManaged.
"""

from daiku.events import Object
from daiku.model import labels
from daiku.model.node import Node
from daiku.model.nodeclaim import NodeClaim
from daiku.model.nodepool import NodePool
from daiku.settings import Settings


def is_ours(seen: Object, settings: Settings) -> bool:
    """Whether an object is not another controller's."""
    match seen:
        case NodeClaim():
            ref = seen.node_class
        case NodePool():
            ref = seen.template.node_class
        case _:
            return True
    return settings.node_class_kind in {None, (ref.group, ref.kind)}


def is_of_ours(node: Node, settings: Settings) -> bool:
    """Whether a Node was made for a NodeClaim of ours, by the label that names its node class."""
    kind = settings.node_class_kind
    return kind is None or labels.node_class_label(*kind) in node.meta.labels
