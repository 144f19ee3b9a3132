"""Which pods leave first when many move at once: the large ones.

Nodes that go at the same time are emptied together, so that it is the large ones of all of them.
"""

from dataclasses import replace
from datetime import timedelta

from tests import build
from tests.build import NOW

from daiku.commands import Command, Evict
from daiku.lifecycle import drain
from daiku.model import taints
from daiku.model.node import Node
from daiku.state.snapshot import Snapshot

SIZES = {"small": "100m", "large": "2", "medium": "200m", "largest": "3"}


def marked(node: Node) -> Node:
    """The Node with all that keeps pods and load balancers away."""
    return replace(node, meta=replace(node.meta, labels={**node.meta.labels, **drain.MARKS}))


def leaving(after: timedelta = timedelta()) -> tuple[list[Command], Snapshot]:
    """A node that goes, and evictions of its pods."""
    claim = build.node_claim("default-old", deleted=NOW)
    node = marked(build.node("node-old", claim=claim, deleted=NOW, taints=[taints.DISRUPTED]))
    pods = [build.pod(name, cpu=cpu, node="node-old") for name, cpu in SIZES.items()]
    cluster = build.cluster(claim, node, *pods, build.node_pool(), build.node_class())
    evictions: list[Command] = [
        Evict(namespace="default", name=p.meta.name, uid=p.meta.uid, reason="Underutilized")
        for p in pods
    ]
    return evictions, cluster.snapshot(NOW + after)


def turn(evictions: list[Command], snapshot: Snapshot) -> tuple[list[str], bool]:
    """Who goes now, in order, and whether the others are looked at again."""
    made, wakes = drain.in_turn(evictions, snapshot, snapshot.at)
    return [c.name for c in made if isinstance(c, Evict)], bool(wakes)


def test_the_largest_pods_leave_first() -> None:
    assert turn(*leaving()) == (["largest", "large", "medium", "small"], False)


def beside(after: timedelta, *, told: bool) -> tuple[list[str], bool]:
    """The same with another node that goes, which has begun to or not yet."""
    evictions, _ = leaving()
    other = build.node_claim("default-other", deleted=NOW)
    machine = build.node("node-other", claim=other, deleted=NOW, taints=[taints.DISRUPTED])
    machine = marked(machine) if told else machine
    claim = build.node_claim("default-old", deleted=NOW)
    node = marked(build.node("node-old", claim=claim, deleted=NOW, taints=[taints.DISRUPTED]))
    pods = [build.pod(name, cpu=cpu, node="node-old") for name, cpu in SIZES.items()]
    objects = [claim, node, other, machine, *pods, build.node_pool(), build.node_class()]
    return turn(evictions, build.cluster(*objects).snapshot(NOW + after))


def test_pods_wait_until_other_nodes_that_go_have_begun_to() -> None:
    at_once = timedelta(seconds=0.5)

    assert beside(at_once, told=False) == ([], True)
    assert beside(at_once, told=True)[0] == ["largest", "large", "medium", "small"]


def test_they_do_not_wait_longer_than_two_seconds_for_them() -> None:
    assert beside(timedelta(seconds=2), told=False)[0] == ["largest", "large", "medium", "small"]
