"""A simulated controller sees scale-outs as it does in a cluster: who makes pods says first how many it wants."""

from dataclasses import replace
from datetime import timedelta

import pytest
from tests import build

from daiku import events
from daiku.events import Event
from daiku.model.meta import Owner
from daiku.model.pod import Pod
from daiku.model.pod_owner import Job, PodOwner, ReplicaSet
from daiku.settings import Settings
from daiku.simulation.scenario import Arrival, Scenario, Service
from daiku.simulation.world import World


def template(name: str, kind: str) -> Pod:
    owner = Owner(api_version="v1", kind=kind, name=name, uid=name, controller=True)
    pod = build.pod(name, cpu="1", unschedulable=False)
    return replace(pod, meta=replace(pod.meta, owners=(owner,)))


def told(
    scenario: Scenario, monkeypatch: pytest.MonkeyPatch
) -> tuple[World, list[PodOwner | Pod | events.Gone]]:
    """The world at its end, and what its controller was told of pods and of those who make them."""
    world = World(scenario, [build.node_pool(), build.node_class()], build.catalogue(), Settings())
    found: list[PodOwner | Pod | events.Gone] = []
    apply = world._cluster.apply

    def noting(event: Event) -> bool:
        if isinstance(event, events.Seen) and isinstance(event.object, PodOwner | Pod):
            found.append(event.object)
        elif isinstance(event, events.Gone) and event.kind is Job:
            found.append(event)
        return apply(event)

    monkeypatch.setattr(world._cluster, "apply", noting)
    world.run()
    return world, found


def test_a_replica_set_announces_its_pods_before_they_come(monkeypatch: pytest.MonkeyPatch) -> None:
    pod = template("web", "ReplicaSet")
    web = Service(name="web", template=pod, targets=((0.0, 4), (60.0, 9), (120.0, 2)))
    day = Scenario(name="a", start=build.NOW, lasts=300.0, seed=1, services=(web,))

    _, found = told(day, monkeypatch)

    said = [each for each in found if isinstance(each, ReplicaSet)]
    assert [each.wanted for each in said] == [4, 9, 2]
    assert {each.meta.uid for each in said} == {"web"}
    assert isinstance(found[0], ReplicaSet)


def test_pods_that_come_at_once_are_one_job_until_the_last_is_done(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    pod = template("batch", "Job")
    come = tuple(
        Arrival(at=at, workload="batch", template=pod, lasts=60.0) for at in (0.0, 0.0, 0.0, 30.0)
    )
    day = Scenario(name="a", start=build.NOW, lasts=600.0, seed=1, arrivals=come)

    world, found = told(day, monkeypatch)

    jobs = [each for each in found if isinstance(each, Job)]
    first, last = sorted({each.meta.name for each in jobs})
    assert [each.wanted for each in jobs if each.meta.name == first] == [3, 2, 1]
    assert [each.wanted for each in jobs if each.meta.name == last] == [1]
    assert sorted(e.key for e in found if isinstance(e, events.Gone)) == [
        f"default/{first}",
        f"default/{last}",
    ]
    assert len([each for each in found if isinstance(each, Pod) and each.node_name]) >= 4
    assert world._cluster.snapshot(build.NOW + timedelta(seconds=600)).waiting == ()


def test_no_pod_is_planned_twice_while_a_scale_out_goes_on(monkeypatch: pytest.MonkeyPatch) -> None:
    pod = template("web", "ReplicaSet")
    web = Service(name="web", template=pod, targets=((0.0, 4),))
    day = Scenario(name="a", start=build.NOW, lasts=300.0, seed=1, services=(web,))

    world, _ = told(day, monkeypatch)

    assert world.ledger.launched == 1
    assert world.ledger.pods == 4
