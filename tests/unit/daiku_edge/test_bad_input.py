"""What nobody should write, and somebody does: each is handled, said once, and makes no hot loop."""

import json
from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest
from tests import build
from tests.build import NOW
from tests.unit.daiku.tiny_world import World

from daiku import commands
from daiku.api import decode, kinds
from daiku.events import Object
from daiku.model import labels
from daiku.model.condition import Condition, find
from daiku.model.instance_type import NodeClassRef
from daiku.model.meta import Owner
from daiku.model.node import Node
from daiku.model.nodeclaim import NodeClaim
from daiku.model.nodepool import NodePool
from daiku.model.pod import Pod
from daiku.model.requirements import Requirements

MIB = 2**20


def world(*objects: Object, pods: int = 3) -> World:
    made = World(now=NOW, catalogue=build.catalogue())
    for each in (build.node_class(), build.node_pool(), *objects):
        made.put(each)
    made.restart()
    for pod in build.pods(pods):
        made.put(pod)
    return made


def quiet(made: World) -> list[str]:
    """What is still done when everything has had its time; saying something again is not doing."""
    made.run(120)
    before = len(made.log)
    made.run(120)
    return [line for line in made.log[before:] if not line.startswith("Announce")]


def running(made: World) -> int:
    return sum(bool(pod.node_name) for pod in made.all(Pod))


@pytest.mark.parametrize(
    "invalid",
    [
        build.node_pool("bad", invalid="taint 'a' has effect 'Soon'", weight=100),
        build.node_pool("bad", ref=replace(build.REF, name="missing"), weight=100),
        build.node_pool(
            "bad", requirements=build.needs(build.require(labels.ARCH, "In", "z80")), weight=100
        ),
        build.node_pool("bad", limits={"cpu": "0"}, weight=100),
    ],
    ids=["a mistake", "a class that there is not", "an impossible wish", "a limit of nothing"],
)
def test_an_unusable_pool_beside_a_good_one_costs_nothing_but_itself(invalid: NodePool) -> None:
    made = world(invalid)

    assert quiet(made) == []
    assert running(made) == 3
    assert {claim.nodepool for claim in made.all(NodeClaim)} == {"default"}
    assert made.log.count("PatchNodePool NodePool/bad") <= 2


def ended(made: World, instance_id: str) -> None:
    """An instance is terminated by hand, and its kubelet is heard no more."""
    del made.instances[instance_id]
    for node in made.all(Node):
        if node.provider_id == instance_id:
            silent = Condition(type="Ready", status="Unknown", last_transition=made.now)
            made.put(replace(node, conditions=(silent,)))


def deleted(made: World, instance_id: str) -> None:
    """A Node is deleted by hand."""
    for node in made.all(Node):
        if node.provider_id == instance_id:
            made.delete(Node, node.meta.name)


def torn_out(made: World, instance_id: str) -> None:
    """A Node is deleted by hand, and its finalizers are taken off, and its kubelet has died."""
    for node in made.all(Node):
        if node.provider_id == instance_id:
            made.drop(Node, node.meta.name)
    made.launches = {k: v for k, v in made.launches.items() if v.provider_id != instance_id}


@pytest.mark.parametrize("happens", [ended, deleted, torn_out])
def test_what_is_taken_away_by_hand_is_replaced_and_given_up_once(
    happens: Callable[[World, str], None],
) -> None:
    made = world(pods=1)
    made.run(90)
    (claim,) = made.all(NodeClaim)
    happens(made, claim.provider_id)
    made.run(120)
    for pod in build.pods(1):
        made.put(pod)

    assert quiet(made) == []
    assert running(made) == 1
    (other,) = made.all(NodeClaim)
    assert other.meta.name != claim.meta.name
    assert list(made.instances) == [other.provider_id]
    assert made.log.count(f"DeleteNodeClaim NodeClaim/{claim.meta.name}") == 1
    assert made.log.count(f"TerminateInstance Instance/{claim.provider_id}") <= 2


def test_a_claim_made_by_hand_becomes_a_node_and_stays_quiet() -> None:
    claim = build.node_claim("mine", pool="", launched=False, registered=False, initialized=False)
    bare = replace(
        claim,
        meta=replace(claim.meta, labels={}, finalizers=(), annotations={}),
        requirements=Requirements.of(build.require(labels.INSTANCE_TYPE, "In", "c-4x")),
    )
    made = world(bare, pods=0)

    assert quiet(made) == []
    (found,) = made.all(NodeClaim)
    assert found.is_true("Initialized")
    assert labels.TERMINATION_FINALIZER in found.meta.finalizers


@pytest.mark.parametrize(
    ("ref", "wish", "said"),
    [
        (replace(build.REF, name="missing"), "c-4x", "NodeClassNotReady"),
        (build.REF, "z80", "InsufficientCapacityError"),
    ],
    ids=["a class that there is not", "an impossible wish"],
)
def test_a_claim_made_by_hand_that_cannot_be_is_given_up_and_said_once(
    ref: NodeClassRef, wish: str, said: str
) -> None:
    claim = build.node_claim("mine", pool="", launched=False, registered=False, initialized=False)
    wrong = replace(
        claim,
        node_class=ref,
        requirements=Requirements.of(build.require(labels.INSTANCE_TYPE, "In", wish)),
    )
    made = world(wrong, pods=0)

    assert quiet(made) == []
    assert made.all(NodeClaim) == []
    assert [line.split(" ")[0] for line in made.announced] == [said]


def test_owners_that_nobody_knows_change_nothing() -> None:
    stranger = Owner(api_version="example.com/v1", kind="Robot", name="x", uid="uid-x")
    made = world()
    made.run(60)
    for claim in made.all(NodeClaim):
        owners = (*claim.meta.owners, stranger)
        made.put(replace(claim, meta=replace(claim.meta, owners=owners)))

    assert quiet(made) == []
    assert running(made) == 3


def test_a_node_that_lies_is_told_once() -> None:
    made = world()
    made.run(60)
    for node in made.all(Node):
        made.put(replace(node, capacity={**node.capacity, "cpu": 1}))

    assert quiet(made) == []
    told = [line for line in made.log if line.startswith("Announce") and "Consistency" in line]
    assert len(told) == len(made.all(NodeClaim)) > 0
    assert all(
        (said := find(claim.conditions, "ConsistentStateFound")) is not None
        and said.status == "False"
        for claim in made.all(NodeClaim)
    )


def body(**more: Any) -> dict[str, Any]:
    container = {"name": "main", "resources": {"requests": {"cpu": "1"}}, **more}
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {
            "name": "huge",
            "namespace": "default",
            "uid": "uid-huge",
            "annotations": {"example.com/blob": "x" * MIB, labels.DO_NOT_DISRUPT: "true"},
        },
        "spec": {"containers": [container]},
        "status": {
            "conditions": [{"type": "PodScheduled", "status": "False", "reason": "Unschedulable"}]
        },
    }


def test_a_pod_of_a_mebibyte_is_read_planned_and_not_kept_whole() -> None:
    env = [{"name": f"V{i}", "value": "y" * 1000} for i in range(1000)]

    pod = decode.guarded(kinds.PODS.decode, json.dumps(body(env=env)).encode())

    assert isinstance(pod, Pod)
    assert pod.meta.annotations == {labels.DO_NOT_DISRUPT: "true"}
    made = world(pods=0)
    made.put(pod)
    made.run(60)
    assert running(made) == 1


def test_a_long_name_or_message_never_makes_an_event_that_is_refused() -> None:
    long = ", ".join(f"example.com/key-{i} In [{'v' * 60}]" for i in range(400))
    made = world(build.node_pool("wide", invalid=long), pods=0)
    made.put(build.pod("lost", cpu="1000"))
    told: list[commands.Announce] = []
    for _ in range(20):
        told += [c for c in made.step().commands if isinstance(c, commands.Announce)]
        made.now += timedelta(seconds=1)

    assert told
    assert all(len(c.message) <= 1024 for c in told)


@pytest.mark.parametrize("kind", ["NodePool", "NodeClaim", "Pod", "Node"])
def test_fields_that_nobody_knows_are_passed_over(kind: str) -> None:
    found = kinds.BY_NAME[kind].decode(
        json.dumps(
            {
                "metadata": {"name": "x", "colour": "red", "managedFields": [{"a": 1}]},
                "spec": {"brandNew": {"deep": [1, 2]}, "template": {"spec": {"novel": True}}},
                "status": {"unheard": "of"},
                "extra": None,
            }
        ).encode()
    )

    assert found.meta.name == "x"
