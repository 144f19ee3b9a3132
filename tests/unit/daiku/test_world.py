"""The whole core against a tiny world: pods come, nodes come; pods go, nodes go; at any time the controller may die."""

from dataclasses import replace
from datetime import timedelta

import pytest
from tests import build
from tests.unit.daiku.tiny_world import World

from daiku.cloud.errors import InsufficientCapacity
from daiku.model.node import Node
from daiku.model.nodeclaim import NodeClaim
from daiku.model.nodepool import NodePool
from daiku.model.pod import Pod
from daiku.settings import Settings


def world(*, replicas: int = 5, settings: Settings | None = None) -> World:
    made = World(now=build.NOW, catalogue=build.catalogue(), settings=settings or Settings())
    made.put(build.node_class())
    made.put(build.node_pool())
    made.restart()
    for pod in build.pods(replicas):
        made.put(pod)
    return made


def running(made: World) -> int:
    return sum(1 for pod in made.all(Pod) if pod.node_name)


def scale_to_zero(made: World) -> None:
    for pod in made.all(Pod):
        made.delete(Pod, pod.meta.key)


def assert_nothing_is_left(made: World) -> None:
    assert made.all(NodeClaim) == []
    assert made.all(Node) == []
    assert made.instances == {}


def test_pending_pods_become_running_pods() -> None:
    made = world()

    made.run(40)

    assert running(made) == 5
    assert [claim.is_true("Ready") for claim in made.all(NodeClaim)] == [True] * len(
        made.all(NodeClaim)
    )


def test_five_pods_of_one_cpu_share_nodes_and_cost_close_to_the_bound() -> None:
    made = world()
    made.run(2)

    plan = made.step()

    assert plan.report.usd_per_hour > 0 or plan.commands
    assert len(made.all(NodeClaim)) <= 2


def test_nodes_go_when_their_pods_are_gone() -> None:
    made = world()
    made.run(40)

    scale_to_zero(made)
    made.run(80)

    assert_nothing_is_left(made)


def test_a_quiet_world_asks_for_nothing() -> None:
    made = world()
    made.run(60)
    made.log.clear()

    made.run(20)

    assert made.log == []


def test_no_second_node_is_made_while_the_first_comes_up() -> None:
    made = world()

    made.run(3)
    claims = len(made.all(NodeClaim))
    made.run(40)

    assert len(made.all(NodeClaim)) == claims
    assert len(made.launches) == claims


@pytest.mark.parametrize("crash_at", range(0, 60, 1))
def test_a_crash_on_the_way_up_changes_nothing_in_the_end(crash_at: int) -> None:
    made = world()
    made.run(crash_at)

    made.step(crash_after=1)
    made.restart()
    made.run(60)

    assert running(made) == 5
    assert len(made.instances) == len(made.all(NodeClaim)) == len(made.all(Node))
    assert len(made.launches) == len(made.all(NodeClaim))


@pytest.mark.parametrize("crash_at", range(0, 60, 1))
def test_a_crash_on_the_way_down_leaves_nothing_behind(crash_at: int) -> None:
    made = world()
    made.run(40)
    scale_to_zero(made)
    made.run(crash_at)

    made.step(crash_after=1)
    made.restart()
    made.run(120)

    assert_nothing_is_left(made)


def test_a_crash_between_any_two_commands_is_survived() -> None:
    for crash_after in range(6):
        made = world()
        for _ in range(40):
            made.step(crash_after=crash_after)
            made.run(1)
        scale_to_zero(made)
        for _ in range(80):
            made.step(crash_after=crash_after)
            made.run(1)

        made.run(120)

        assert_nothing_is_left(made)


def test_sold_out_capacity_is_planned_around() -> None:
    made = world()
    sold_out = tuple((t.name, "zone-a", "on-demand") for t in build.family()) + tuple(
        (t.name, "zone-b", "on-demand") for t in build.family() if t.name != "c-1x"
    )
    made.refusals["any"] = InsufficientCapacity("none left", sold_out=sold_out)
    made.run(3)
    made.refusals.clear()

    made.run(60)

    assert running(made) == 5
    assert {i.instance_type for i in made.launches.values()} == {"c-1x"}


def test_a_node_deleted_by_hand_takes_its_claim_and_instance_along_and_is_replaced() -> None:
    made = world(replicas=1)
    made.run(40)
    (node,) = made.all(Node)

    made.delete(Node, node.meta.name)
    made.run(30)

    assert all(each.meta.name != node.meta.name for each in made.all(Node))
    assert all(node.provider_id != provider_id for provider_id in made.instances)
    assert len(made.all(NodeClaim)) == len(made.instances)


def test_an_instance_terminated_by_hand_takes_its_claim_along() -> None:
    made = world(replicas=1)
    made.run(40)
    (node,) = made.all(Node)
    scale_to_zero(made)

    made.instances.clear()
    unready = replace(node.conditions[0], status="False")
    made.put(replace(node, conditions=(unready,)))
    made.run(60)

    assert_nothing_is_left(made)


def test_an_instance_without_a_claim_is_ended_after_its_grace() -> None:
    made = world(replicas=1)
    made.run(40)
    (claim,) = made.all(NodeClaim)
    made.drop(NodeClaim, claim.meta.name)
    for node in made.all(Node):
        made.drop(Node, node.meta.name)

    made.run(70)

    assert made.instances == {}


def test_a_deleted_claim_drains_its_pods_first() -> None:
    made = world(replicas=2)
    made.run(40)
    made.log.clear()

    made.delete(NodeClaim, made.all(NodeClaim)[0].meta.name)
    made.run(40)

    kinds = [entry.split()[0] for entry in made.log]
    assert kinds.index("DeleteNode") < kinds.index("Evict") < kinds.index("TerminateInstance")


def test_claims_of_a_pool_that_is_gone_can_still_end() -> None:
    made = world(replicas=1)
    made.run(40)
    made.drop(NodePool, "default")

    for claim in made.all(NodeClaim):
        made.delete(NodeClaim, claim.meta.name)
    made.run(60)

    assert_nothing_is_left(made)


def test_a_limit_on_nodes_is_never_crossed() -> None:
    made = World(now=build.NOW, catalogue=build.catalogue(*build.family(sizes=(2,))))
    made.put(build.node_class())
    made.put(build.node_pool(limits={"nodes": "2", "cpu": "100"}))
    made.restart()
    for pod in build.pods(9):
        made.put(pod)

    made.run(90)

    assert len(made.all(NodeClaim)) == 2
    assert running(made) == 4


def test_a_node_that_never_comes_is_given_up_and_tried_again() -> None:
    made = world(replicas=1, settings=Settings(registration_ttl=timedelta(seconds=30)))
    made.boot = timedelta(hours=1)
    made.run(10)
    (first,) = made.all(NodeClaim)

    made.run(60)

    assert all(claim.meta.name != first.meta.name for claim in made.all(NodeClaim))
    assert len(made.all(NodeClaim)) == 1
