"""Whose pods a ReplicaSet gives up first: all of one node before any of the next, where that is asked for."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest
from tests import build
from tests.unit.daiku.moving_world import Moving, running, world

from daiku.commands import Evict, PatchPod
from daiku.disruption import eviction_cost, scale_in
from daiku.events import Failed
from daiku.model import labels
from daiku.model.namespace import Namespace
from daiku.model.pod import Pod
from daiku.model.requirements import Requirements
from daiku.model.topology import AffinityTerm, Preferred, Spread

ASKS = {labels.SCALE_IN_BY_NODE: "true"}
WEB = Requirements.from_labels({"app": "web"})
ZONES = Spread(key=labels.ZONE, max_skew=1, hard=False, selector=WEB)
NEAR = AffinityTerm(key=labels.ZONE, selector=WEB, namespaces=("default",))
WISH = Preferred(weight=1, pods=NEAR)


def pool(**annotations: str) -> Any:
    made = build.node_pool()
    return replace(made, meta=replace(made.meta, annotations=annotations))


def written(*objects: Any, asked: Any = None) -> list[PatchPod]:
    """What is to be written on pods, by a controller that has just come."""
    known = build.cluster(build.node_class(), asked or pool(**ASKS), *objects)
    now = build.NOW + scale_in.REST
    return scale_in.plan(known.snapshot(now), now).commands


def costs(pods: Sequence[Pod]) -> dict[str, set[str | None]]:
    """Node -> deletion costs of its pods."""
    found: dict[str, set[str | None]] = {}
    for pod in pods:
        said = pod.meta.annotations.get(labels.POD_DELETION_COST)
        found.setdefault(pod.node_name, set()).add(said)
    return found


def full(*pods: Pod, kind: type[Moving] = Moving) -> Moving:
    """Two nodes that are full enough to stay."""
    return world(*running("a"), *running("b"), *pods, pool=pool(**ASKS), kind=kind)


def test_pods_on_one_node_cost_the_same_and_on_another_node_something_else() -> None:
    there = full(
        *(build.pod(f"a{i}", node="node-a", cpu="900m") for i in range(4)),
        *(build.pod(f"b{i}", node="node-b", cpu="900m") for i in range(4)),
    )
    there.run(5)
    found = costs(there.all(Pod))
    assert found == {
        "node-a": {str(scale_in.cost_on("node-a"))},
        "node-b": {str(scale_in.cost_on("node-b"))},
    }
    assert found["node-a"] != found["node-b"]


def test_a_pod_is_written_once() -> None:
    there = full(*(build.pod(f"a{i}", node="node-a", cpu="900m") for i in range(4)))
    there.run(60)
    there.restart()
    there.run(60)
    assert sum(line.startswith("PatchPod") for line in there.log) == 4


def test_a_few_are_written_at_a_time_and_all_of_them_in_the_end() -> None:
    pods = [
        build.pod(f"p{i}", node="node-a", cpu="10m", memory="1Mi")
        for i in range(3 * scale_in.AT_ONCE)
    ]
    there = full(*pods, build.pod("big", node="node-b", cpu="3"))
    counts: list[int] = []
    for _ in range(5):
        before = len(there.log)
        there.run(1)
        counts.append(sum(line.startswith("PatchPod") for line in there.log[before:]))
    assert max(counts) == scale_in.AT_ONCE
    assert sum(counts) == len(pods) + 1


def test_a_pod_that_has_just_come_is_written_a_minute_later() -> None:
    now = build.NOW + scale_in.REST
    old = build.pod("old", node="node-a", scheduled=now - scale_in.REST)
    new = build.pod("new", node="node-a", scheduled=now)
    known = build.cluster(build.node_class(), pool(**ASKS), *running("a"), old, new)
    made = scale_in.plan(known.snapshot(now), now)
    assert [c.name for c in made.commands] == ["old"]
    assert made.wakes == [now + scale_in.REST]
    assert len(scale_in.plan(known.snapshot(made.wakes[0]), made.wakes[0]).commands) == 2


def test_those_that_are_being_written_count() -> None:
    pods = [build.pod(f"p{i}", node="node-a", cpu="10m") for i in range(3 * scale_in.AT_ONCE)]
    known = build.cluster(build.node_class(), pool(**ASKS), *running("a"), *pods)
    now = build.NOW + scale_in.REST
    first = scale_in.plan(known.snapshot(now), now)
    for command in first.commands:
        known.begin(command, now)
    second = scale_in.plan(known.snapshot(now), now)
    assert (len(first.commands), len(second.commands)) == (scale_in.AT_ONCE, 0)
    assert second.wakes


def test_evictions_that_are_refused_keep_nobody_from_being_written() -> None:
    pods = [build.pod(f"p{i}", node="node-a", cpu="10m") for i in range(scale_in.AT_ONCE + 1)]
    known = build.cluster(build.node_class(), pool(**ASKS), *running("a"), *pods)
    now = build.NOW + scale_in.REST
    for each in pods[1:]:
        refused = Evict(namespace="default", name=each.meta.name, uid=each.meta.uid)
        known.begin(refused, now)
        known.apply(Failed(refused, RuntimeError("budget"), now))
    (command,) = scale_in.plan(known.snapshot(now), now).commands
    assert command.name == "p0"


@pytest.mark.parametrize("by", ["pod", "namespace", "nodepool"])
def test_a_pod_a_namespace_or_a_nodepool_asks(by: str) -> None:
    space = Namespace(meta=build.meta("default", annotations=ASKS if by == "namespace" else {}))
    web = build.pod(node="node-a", annotations=ASKS if by == "pod" else {})
    asked = pool(**(ASKS if by == "nodepool" else {}))
    assert len(written(*running("a"), web, space, asked=asked)) == 1


def test_nothing_is_written_unasked() -> None:
    unasked = pool(**{labels.SCALE_IN_BY_NODE: "false"})
    assert written(*running("a"), build.pod(node="node-a"), asked=unasked) == []


def test_costs_are_taken_back_where_it_is_asked_no_more_and_those_of_others_are_left() -> None:
    ours = {labels.POD_DELETION_COST: str(scale_in.cost_on("node-a"))}
    theirs = {labels.POD_DELETION_COST: "5"}
    pods = (
        build.pod("ours", node="node-a", annotations=ours),
        build.pod("asks", node="node-a", annotations=ours | ASKS),
        build.pod("theirs", node="node-a", annotations=theirs),
    )
    (command,) = written(*running("a"), *pods, asked=pool())
    assert command == PatchPod.with_deletion_cost(pods[0].meta, None)


def test_asked_and_asked_no_more_every_pod_is_as_it_was() -> None:
    there = full(*(build.pod(f"a{i}", node="node-a", cpu="900m") for i in range(4)))
    there.run(5)
    assert costs(there.all(Pod)) == {"node-a": {str(scale_in.cost_on("node-a"))}}
    there.put(pool())
    there.run(65)
    assert costs(there.all(Pod)) == {"node-a": {None}}
    there.run(60)
    assert sum(line.startswith("PatchPod") for line in there.log) == 8


@pytest.mark.parametrize("mode", ["dry-run", "paused"])
def test_nothing_is_written_on_nodes_of_a_nodepool_that_does_not_act(mode: str) -> None:
    asked = pool(**ASKS, **{labels.DISRUPTION_MODE: mode})
    assert written(*running("a"), build.pod(node="node-a"), asked=asked) == []


@pytest.mark.parametrize(
    "fields",
    [
        {"owner": "StatefulSet"},
        {"owner": "Job"},
        {"owner": "DaemonSet"},
        {"owner": ""},
        {"annotations": {labels.POD_DELETION_COST: "5"}},
        {"spread": (ZONES,)},
        {"pod_affinity": (NEAR,)},
        {"pod_anti_affinity": (NEAR,)},
        {"preferred_pod_affinity": (WISH,)},
        {"preferred_pod_anti_affinity": (WISH,)},
        {"phase": "Succeeded"},
        {"deleted": build.NOW},
    ],
    ids=lambda fields: "-".join(f"{k}={v or 'none'}"[:40] for k, v in fields.items()),
)
def test_a_pod_that_no_replica_set_would_choose_so_or_that_says_where_it_belongs_is_left(
    fields: dict[str, Any],
) -> None:
    assert written(*running("a"), build.pod(node="node-a", **fields)) == []


def test_pods_on_nodes_of_others_are_left_and_stay_longest() -> None:
    assert written(build.node("fixed"), build.pod(node="fixed")) == []
    assert scale_in.cost_on("node-a") < 0


def test_pods_on_a_node_that_is_going_are_left() -> None:
    claim, node = running("a", deleted=build.NOW)
    assert written(claim, node, build.pod(node="node-a")) == []


def test_no_pod_is_much_dearer_to_evict_for_it() -> None:
    least = {labels.POD_DELETION_COST: str(-scale_in.PLACES)}
    dear, plain = build.pod(annotations=least), build.pod()
    assert eviction_cost.of_eviction(dear) == pytest.approx(
        eviction_cost.of_eviction(plain), rel=1e-4
    )


class ScaledIn(Moving):
    """Its ReplicaSet, of which there is one, is scaled in as Kubernetes does it."""

    def scale_in(self, staying: int) -> None:
        pods = [p for p in self.all(Pod) if p.meta.deleted is None]
        crowd: dict[str, int] = {}
        for pod in pods:
            crowd[pod.node_name] = crowd.get(pod.node_name, 0) + 1
        # What is alike otherwise goes in no order that has to do with nodes.
        pods.sort(key=lambda p: (p.deletion_cost, -crowd[p.node_name], p.meta.name[1:]))
        for pod in pods[: len(pods) - staying]:
            self.drop(Pod, pod.meta.key)


@pytest.mark.parametrize(("asked", "evicted"), [(True, 0), (False, 4)])
def test_a_scale_in_empties_a_node_and_nobody_has_to_move(asked: bool, evicted: int) -> None:
    pods = [build.pod(f"{n}{i}", node=f"node-{n}", cpu="450m") for n in "ab" for i in range(8)]
    there = world(
        *running("a"), *running("b"), *pods,
        pool=pool(**(ASKS if asked else {})), kind=ScaledIn,
    )  # fmt: skip
    assert isinstance(there, ScaledIn)
    there.run(30)
    there.scale_in(8)
    there.run(240)
    assert (len(there.nodes()), there.evicted) == (1, evicted)
