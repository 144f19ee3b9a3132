"""Pods that a workload has announced wait like those that exist."""

from dataclasses import replace
from datetime import timedelta

import pytest
from tests import build
from tests.build import NOW

from daiku import events
from daiku.commands import CreateNodeClaim
from daiku.model.meta import Meta, Owner
from daiku.model.pod import Pod
from daiku.model.pod_owner import Job, PodOwner, ReplicaSet, StatefulSet
from daiku.provisioning import plan
from daiku.settings import Settings
from daiku.state import scale_outs
from daiku.state.cluster import Cluster

SECOND = timedelta(seconds=1)


def owner(wanted: int, name: str = "web", kind: type[PodOwner] = ReplicaSet) -> PodOwner:
    meta = Meta(name=name, namespace="default", uid=f"uid-{name}", resource_version=str(wanted))
    ref = Owner(api_version="", kind=kind.__name__, name=name, uid=meta.uid, controller=True)
    template = build.pod("template", cpu="1")
    template = replace(template, meta=replace(template.meta, name="", uid="", owners=(ref,)))
    return kind(meta=meta, wanted=wanted, template=template if wanted else None)


def pod_of(of: PodOwner, number: int, **fields: object) -> Pod:
    pod = build.pod(f"{of.meta.name}-{number}", cpu="1", unschedulable=False, **fields)
    assert of.template is not None
    return replace(pod, meta=replace(pod.meta, owners=of.template.meta.owners))


def world(*objects: events.Object) -> Cluster:
    return build.cluster(*objects, build.node_pool(), build.node_class())


def waiting(cluster: Cluster, after: timedelta = timedelta(0)) -> list[str]:
    pods = cluster.snapshot(NOW + after).waiting
    assert all(p.unschedulable for p in pods)
    return [p.meta.name for p in pods]


@pytest.mark.parametrize("kind", [ReplicaSet, StatefulSet, Job])
def test_replicas_that_do_not_exist_yet_wait(kind: type[PodOwner]) -> None:
    cluster = world()
    cluster.apply(events.Seen(owner(3, kind=kind)))

    assert waiting(cluster) == ["web~00000", "web~00001", "web~00002"]


def test_a_pod_that_comes_takes_the_place_of_an_announced_one_before_it_is_tried() -> None:
    cluster, web = world(), owner(3)
    cluster.apply(events.Seen(web))
    cluster.snapshot(NOW)
    cluster.apply(events.Seen(pod_of(web, 7)))

    assert waiting(cluster) == ["web-7", "web~00000", "web~00001"]


def test_one_plan_is_made_for_all_replicas_and_none_when_they_come() -> None:
    cluster, web = world(), owner(3)
    cluster.apply(events.Seen(web))
    cluster.snapshot(NOW)
    at = NOW + SECOND
    snapshot = cluster.snapshot(at)
    made = plan.plan(snapshot, cluster.catalogue, Settings(), at)
    created = [c for c in made.commands if isinstance(c, CreateNodeClaim)]
    for command in created:
        cluster.begin(command, at)
    assert sum(len(c.pods) for c in created) == 3

    for number in range(3):
        cluster.apply(events.Seen(pod_of(web, number)))
        at += SECOND
        again = plan.plan(cluster.snapshot(at), cluster.catalogue, Settings(), at)
        assert not [c for c in again.commands if isinstance(c, CreateNodeClaim)]


def test_replicas_that_were_wanted_before_the_first_list_are_not_announced() -> None:
    cluster = world(owner(3))

    assert waiting(cluster) == []


def test_a_quota_keeps_nodes_from_being_made_for_long() -> None:
    cluster = world()
    cluster.apply(events.Seen(owner(3)))
    cluster.snapshot(NOW)

    assert len(waiting(cluster, scale_outs.PATIENCE - SECOND)) == 3
    assert cluster.again_at == NOW + scale_outs.PATIENCE
    assert waiting(cluster, scale_outs.PATIENCE) == []


def test_a_workload_is_waited_for_while_others_get_their_pods() -> None:
    cluster, other = world(), owner(100, "other")
    cluster.apply(events.Seen(owner(1)))
    cluster.apply(events.Seen(other))
    cluster.snapshot(NOW)
    for second in range(1, 59):
        cluster.apply(events.Seen(pod_of(other, second)))
        assert "web~00000" in waiting(cluster, second * SECOND)

    cluster.apply(events.Seen(pod_of(other, 99)))
    assert "web~00000" not in waiting(cluster, scale_outs.PATIENCE_MOST)


@pytest.mark.parametrize("wanted", [2, 0])
def test_a_scale_in_takes_back_what_was_announced(wanted: int) -> None:
    cluster = world()
    cluster.apply(events.Seen(owner(5)))
    cluster.apply(events.Seen(owner(wanted)))

    assert len(waiting(cluster)) == wanted


def test_a_workload_that_is_gone_announces_nothing() -> None:
    cluster, web = world(), owner(5)
    cluster.apply(events.Seen(web))
    cluster.apply(events.Gone(ReplicaSet, web.meta.key))

    assert waiting(cluster) == []


def test_an_evicted_pod_announces_nothing_because_its_successor_comes_by_itself() -> None:
    web = owner(1)
    pod = pod_of(web, 1, node="n")
    cluster = world(web, pod, build.node("n"))
    cluster.apply(events.Seen(replace(pod, meta=replace(pod.meta, deleted=NOW))))

    assert waiting(cluster) == []


def test_a_gated_pod_does_not_wait_for_a_node() -> None:
    cluster, web = world(), owner(1)
    cluster.apply(events.Seen(web))
    cluster.apply(events.Seen(replace(pod_of(web, 1), gated=True)))

    assert not any(p.is_provisionable for p in cluster.snapshot(NOW).waiting)


def test_nodes_made_in_a_scale_out_are_left_alone_until_its_pods_run() -> None:
    cluster, web = world(), owner(1)
    cluster.apply(events.Seen(web))
    assert cluster.snapshot(NOW).scale_out_since == NOW

    cluster.apply(events.Seen(pod_of(web, 1, node="n")))
    assert cluster.snapshot(NOW + SECOND).scale_out_since == NOW
    assert cluster.snapshot(NOW + SECOND + scale_outs.PATIENCE).scale_out_since is None
