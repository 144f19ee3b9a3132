"""Who leaves first when many pods move at once: the large ones, and those that are to land on nodes that are open.

Nodes that go at the same time are emptied together, so that it is the large ones of all of them.
"""

from dataclasses import replace
from datetime import timedelta

from tests import build
from tests.build import NOW

from daiku.commands import Command, CreateNodeClaim, Evict
from daiku.events import Seen
from daiku.lifecycle import drain
from daiku.model import labels, taints
from daiku.model.node import Node
from daiku.model.pod import Pod
from daiku.state.snapshot import Snapshot

SIZES = {"small": "100m", "large": "2", "kept-small": "200m", "kept-large": "3"}


def marked(node: Node) -> Node:
    """The Node with all that keeps pods and load balancers away."""
    return replace(node, meta=replace(node.meta, labels={**node.meta.labels, **drain.MARKS}))


def leaving(*extra: Pod, after: timedelta = timedelta()) -> tuple[list[Command], Snapshot]:
    """A node that goes, and evictions of its pods; for two of them a closed node has places."""
    claim = build.node_claim("default-old", deleted=NOW)
    node = marked(build.node("node-old", claim=claim, deleted=NOW, taints=[taints.DISRUPTED]))
    pods = [build.pod(name, cpu=cpu, node="node-old") for name, cpu in SIZES.items()]
    new = build.node_claim("default-new", annotations={labels.AWAITING_PODS: "true"})
    fresh = build.node("node-new", claim=new, taints=[taints.AWAITING_PODS])
    cluster = build.cluster(claim, node, *pods, *extra, build.node_pool(), build.node_class())
    kept = tuple(f"default/{name}" for name in SIZES if name.startswith("kept"))
    cluster.begin(CreateNodeClaim(node_claim=new, pods=kept), NOW)
    for each in (new, fresh):
        cluster.apply(Seen(each))
    snapshot = cluster.snapshot(NOW + after)
    evictions: list[Command] = [
        Evict(namespace="default", name=p.meta.name, uid=p.meta.uid, reason="Underutilized")
        for p in pods
    ]
    return evictions, snapshot


def turn(evictions: list[Command], snapshot: Snapshot) -> tuple[list[str], bool]:
    """Who goes now, in order, and whether the others are looked at again."""
    made, wakes = drain.in_turn(evictions, snapshot, snapshot.at)
    return [c.name for c in made if isinstance(c, Evict)], bool(wakes)


def test_pods_for_whom_places_are_kept_let_the_others_go_first() -> None:
    assert turn(*leaving()) == (["large", "small"], True)


def test_they_go_when_the_others_have_been_placed() -> None:
    evictions, snapshot = leaving(after=timedelta(seconds=4))

    assert turn(evictions[2:], snapshot) == (["kept-large", "kept-small"], False)


def test_they_wait_a_little_longer_while_one_of_the_others_is_being_placed() -> None:
    fresh = build.pod("again", cpu="100m", unschedulable=False)
    evictions, snapshot = leaving(fresh, after=timedelta(seconds=4))

    assert turn(evictions[2:], snapshot) == ([], True)


def test_nobody_is_waited_for_longer_than_some_seconds() -> None:
    evictions, snapshot = leaving(after=timedelta(seconds=7))

    assert turn(evictions, snapshot) == (["kept-large", "large", "kept-small", "small"], False)


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
    assert beside(at_once, told=True)[0] == ["kept-large", "large", "kept-small", "small"]


def test_they_do_not_wait_longer_than_two_seconds_for_them() -> None:
    assert beside(timedelta(seconds=2), told=False)[0] == [
        "kept-large",
        "large",
        "kept-small",
        "small",
    ]
