"""What a change of NodePools and node classes does to nodes that run: which ones go, and whose pods then want a place.

A NodePool that is taken away takes its nodes with it. One whose template or node class changes sees its nodes drift
and be replaced; one that merely allows more sees nothing happen. A comparison of two configurations is about where that
ends, so the nodes that go are taken out of the second configuration, and their pods wait.
"""

from collections.abc import Mapping, Sequence

from daiku.events import Object
from daiku.model import labels, nodepool_hash
from daiku.model.instance_type import NodeClassRef
from daiku.model.node import Node
from daiku.model.nodeclaim import NodeClaim
from daiku.model.nodeclass import NodeClass
from daiku.model.nodepool import NodePool
from daiku.model.pod import Pod
from daiku.model.requirements import Requirements


def followed(first: Sequence[Object], second: Sequence[Object]) -> tuple[list[Object], list[str]]:
    """The second configuration once its nodes have followed it, and what that took, for people.

    Args:
        first: What the nodes were made by.
        second: What is wished for, with the same nodes.
    """
    pools, wished = _pools(first), _pools(second)
    classes, wished_classes = _classes(first), _classes(second)
    whys = {
        name: _why(pool, wished.get(name), classes, wished_classes) for name, pool in pools.items()
    }
    leaving: dict[str, str] = {}
    for each in second:
        if isinstance(each, Node) and (name := each.meta.labels.get(labels.NODEPOOL, "")) in pools:
            why = whys[name] or _unmet(each.meta.labels, pools[name], wished[name])
            if why:
                leaving[each.meta.name] = f"{name}: {why}"
    kept = [each for found in second for each in _after(found, leaving)]
    counts = {why: [*leaving.values()].count(why) for why in sorted({*leaving.values()})}
    said = [f"NodePool {why}; its nodes go: {count}" for why, count in counts.items()]
    return kept, said


def _after(found: Object, leaving: Mapping[str, str]) -> list[Object]:
    """What becomes of an object when these nodes go: it stays, goes with its node, or waits for another."""
    match found:
        case Node():
            return [] if found.meta.name in leaving else [found]
        case NodeClaim():
            return [] if found.node_name in leaving else [found]
        case Pod() if found.node_name in leaving:
            # A DaemonSet makes another one wherever there is a node.
            return [found.unbound()] if found.is_reschedulable else []
        case _:
            return [found]


def _why(
    pool: NodePool,
    wished: NodePool | None,
    classes: Mapping[NodeClassRef, NodeClass],
    wished_classes: Mapping[NodeClassRef, NodeClass],
) -> str:
    """Why all nodes of a NodePool go; empty when they do not for a reason that all of them share."""
    if wished is None:
        return "is taken away"
    if nodepool_hash.of(pool.template) != nodepool_hash.of(wished.template):
        return "has another template"
    was, now = (
        classes.get(pool.template.node_class),
        wished_classes.get(wished.template.node_class),
    )
    if was is None or now is None:
        return ""
    # What an API server has filled in, an author need not have written.
    other = sorted(key for key, value in now.spec.items() if was.spec.get(key) != value)
    return f"has another node class ({', '.join(other)})" if other else ""


def _unmet(known: Mapping[str, str], pool: NodePool, wished: NodePool) -> str:
    """What the NodePool newly asks for and a node with these labels does not meet; empty when it meets all."""
    have = Requirements.from_labels(dict(known))

    def problems(asked: Requirements) -> tuple[str, ...]:
        return have.compatible(Requirements.of(*(r for r in asked if r.key != labels.NODEPOOL)))

    before = problems(pool.template.requirements)
    return "; ".join(p for p in problems(wished.template.requirements) if p not in before)


def _pools(objects: Sequence[Object]) -> dict[str, NodePool]:
    return {each.meta.name: each for each in objects if isinstance(each, NodePool)}


def _classes(objects: Sequence[Object]) -> dict[NodeClassRef, NodeClass]:
    return {each.ref: each for each in objects if isinstance(each, NodeClass)}
