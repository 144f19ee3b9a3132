"""A pod's replacement is ready before the pod goes: consolidation, expiry, drift, and everything that comes between."""

import itertools
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest
from tests import build
from tests.unit.daiku import surging_world
from tests.unit.daiku.moving_world import running
from tests.unit.daiku.surging_world import Surging, deployment, surging, web_pod

from daiku.model import labels
from daiku.model.namespace import Namespace
from daiku.model.node import Node
from daiku.model.volume import PersistentVolume, PersistentVolumeClaim

ASKS = {labels.SURGE: "true"}
STAYS = {labels.DO_NOT_DISRUPT: "true"}


@pytest.fixture(autouse=True)
def numbers(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(surging_world, "_numbers", itertools.count(1))


def two_nodes(*more: Any, **pod: Any) -> Surging:
    """The web pod on a node of its own, and a node beside it that has room."""
    asks = pod.pop("annotations", ASKS)
    return surging(
        *running("a"),
        *running("b"),
        web_pod("web-5d4c-0", node="node-a", cpu="500m", annotations=asks, **pod),
        build.pod("other", node="node-b", cpu="2", annotations=STAYS),
        deployment(),
        *more,
    )


def test_the_new_pod_is_ready_before_the_old_one_goes_when_its_node_is_consolidated() -> None:
    world = two_nodes()
    world.run(240)
    assert (len(world.nodes()), world.fewest, world.web().replicas) == (1, 1, 1)
    assert labels.SURGING not in world.web().meta.labels
    assert labels.SURGE_STATE not in world.web().meta.annotations


def test_without_the_annotation_there_is_a_moment_without_a_ready_pod() -> None:
    world = two_nodes(annotations={})
    world.run(240)
    assert (len(world.nodes()), world.fewest) == (1, 0)


@pytest.mark.parametrize("asked_by", ["namespace", "nodepool"])
def test_a_namespace_or_a_nodepool_asks_for_all_of_its_pods(asked_by: str) -> None:
    space = Namespace(meta=build.meta("default", annotations=ASKS))
    pool = build.node_pool()
    pool = replace(pool, meta=replace(pool.meta, annotations=ASKS))
    world = two_nodes(space if asked_by == "namespace" else pool, annotations={})
    world.run(240)
    assert (len(world.nodes()), world.fewest) == (1, 1)


def test_a_budget_that_allows_nothing_does_not_keep_a_pod_that_can_have_a_surge() -> None:
    world = two_nodes(build.pdb(match={"app": "web"}))
    world.run(240)
    assert (len(world.nodes()), world.fewest) == (1, 1)


def test_drift_waits_for_the_new_pod_too() -> None:
    claim, node = running("a", annotations={labels.NODEPOOL_HASH: "old"})
    world = surging(
        claim, node, web_pod("web-5d4c-0", node="node-a", annotations=ASKS), deployment()
    )
    world.run(400)
    assert "node-a" not in world.nodes()
    assert (world.fewest, world.web().replicas) == (1, 1)


def test_expiry_waits_for_the_new_pod_too() -> None:
    claim, node = running("a", expire_after=timedelta(minutes=16))
    world = surging(
        claim, node, web_pod("web-5d4c-0", node="node-a", annotations=ASKS), deployment()
    )
    world.run(400)
    assert "node-a" not in world.nodes()
    assert (world.fewest, world.web().replicas) == (1, 1)


def test_a_new_pod_counts_when_it_has_been_ready_for_as_long_as_its_deployment_asks() -> None:
    world = two_nodes()
    world.put(deployment(min_ready=timedelta(seconds=60)))
    first = None
    for _ in range(300):
        world.run(1)
        mine = world.mine()
        if len(mine) == 2 and all(p.ready for p in mine):
            first = first or world.now
        if first is not None and len(mine) == 1:
            break
    assert first is not None
    assert timedelta(seconds=60) <= world.now - first < timedelta(seconds=75)


def test_a_new_pod_that_never_gets_ready_is_taken_back_and_the_node_stays() -> None:
    world = two_nodes()
    world.starts = 10_000
    world.run(900, step=2)
    assert (len(world.nodes()), world.fewest, world.web().replicas) == (2, 1, 1)
    assert world.tainted() == []
    assert [p.meta.name for p in world.mine()] == ["web-5d4c-0"]
    assert labels.POD_DELETION_COST not in world.mine()[0].meta.annotations
    assert "not ready within 10 minutes" in world.web().meta.annotations[labels.SURGE_STOPPED]
    world.run(1200, step=5)
    assert world.web().replicas == 1
    assert world.fewest == 1


def test_whoever_sets_the_replicas_back_is_named_and_the_node_stays() -> None:
    world = two_nodes()
    world.starts, world.tampers = 60, "argocd-controller"
    world.run(300)
    assert (len(world.nodes()), world.fewest, world.web().replicas) == (2, 1, 1)
    said = world.web().meta.annotations[labels.SURGE_STOPPED]
    assert "set back from 2 to 1 by argocd-controller" in said
    assert labels.SURGING not in world.web().meta.labels


def test_whoever_scales_to_another_number_meanwhile_is_right() -> None:
    world = two_nodes()
    world.starts = 30
    while world.web().replicas != 2:
        world.run(1)
    world.put(replace(world.web(), replicas=4))
    world.run(240)
    assert (world.web().replicas, world.fewest) == (4, 1)
    assert labels.SURGING not in world.web().meta.labels
    assert all(labels.POD_DELETION_COST not in p.meta.annotations for p in world.mine())


@pytest.mark.parametrize(
    ("more", "why"),
    [
        ({"scaler": "web-hpa"}, "HorizontalPodAutoscaler web-hpa"),
        ({"owner": "StatefulSet"}, "only Deployments"),
        ({"volume_claims": ("data",)}, "volume data can be mounted on one node only"),
    ],
)
def test_who_cannot_have_a_surge_moves_as_without_and_is_told_why(
    more: dict[str, Any], why: str
) -> None:
    bound = PersistentVolume(meta=build.meta("data"))
    data = PersistentVolumeClaim(meta=build.meta("data", namespace="default"), volume="data")
    pod = {"volume_claims": more["volume_claims"]} if "volume_claims" in more else {}
    world = two_nodes(bound, data, **pod)
    world.scaler = more.get("scaler", "")
    if "owner" in more:
        (pod,) = world.mine()
        owners = tuple(replace(o, kind="StatefulSet", name="web") for o in pod.meta.owners)
        world.put(replace(pod, meta=replace(pod.meta, owners=owners)))
    world.run(120)
    assert any(t.startswith("SurgeRefused web-5d4c-0") and why in t for t in world.announced)
    assert world.evicted == 1


def test_a_guarded_pod_that_cannot_have_a_surge_keeps_its_node() -> None:
    world = two_nodes(build.pdb(match={"app": "web"}))
    world.scaler = "web-hpa"
    world.run(600, step=2)
    assert (len(world.nodes()), world.evicted, world.fewest) == (2, 0, 1)
    assert world.tainted() == []


def test_a_rollout_under_way_is_waited_for() -> None:
    world = two_nodes()
    world.put(deployment(is_settled=False))
    world.run(100)
    assert (len(world.nodes()), world.web().replicas) == (2, 1)
    world.put(replace(world.web(), is_settled=True))
    world.run(240)
    assert (len(world.nodes()), world.fewest) == (1, 1)


def test_a_shared_volume_is_no_obstacle() -> None:
    data = PersistentVolumeClaim(meta=build.meta("data", namespace="default"), is_shared=True)
    world = two_nodes(data, volume_claims=("data",))
    world.step()
    assert not [t for t in world.announced if t.startswith("SurgeRefused")]


@pytest.mark.parametrize("after", range(1, 120, 7))
def test_a_controller_that_dies_at_any_time_is_followed_by_one_that_finishes(after: int) -> None:
    world = two_nodes()
    world.run(after)
    world.step(crash_after=1)
    world.run(5)
    world.restart()
    world.run(300)
    assert (len(world.nodes()), world.fewest, world.web().replicas) == (1, 1, 1)
    assert labels.SURGING not in world.web().meta.labels


def test_a_surge_whose_move_is_called_off_is_taken_back() -> None:
    world = two_nodes()
    world.starts = 40
    while world.web().replicas != 2:
        world.run(1)
    node = world.objects[Node, "node-a"]
    world.put(replace(node, meta=replace(node.meta, annotations=STAYS)))
    world.run(120)
    assert (len(world.nodes()), world.fewest, world.web().replicas) == (2, 1, 1)
    assert labels.SURGING not in world.web().meta.labels


def test_two_replicas_on_two_nodes_that_go_together_are_never_both_away() -> None:
    pods = (web_pod(f"web-5d4c-{n}", node=f"node-{n}", cpu="500m", annotations=ASKS) for n in "ab")
    full = build.pod("full", node="node-c", cpu="2500m", annotations=STAYS)
    world = surging(
        *running("a"), *running("b"), *running("c"), *pods, full, deployment(replicas=2)
    )
    world.run(400)
    assert (len(world.nodes()), world.web().replicas) == (1, 2)
    assert world.fewest >= 1
