"""Random histories in the tiny world: pods come and go, people and the cloud delete things, the controller dies.

Once the faults stop, every pod runs, no node is left without pods, and nothing is left behind in the end.
"""

import random
from dataclasses import replace
from datetime import timedelta

import pytest
from tests import build
from tests.unit.daiku.tiny_world import World

from daiku.cloud.errors import InsufficientCapacity, LaunchRefused, Unreachable
from daiku.model.node import Node
from daiku.model.nodeclaim import NodeClaim
from daiku.model.pod import Pod

SOLD_OUT = InsufficientCapacity("none left", sold_out=(("c-1x", "zone-a", "on-demand"),))
REFUSALS = (
    SOLD_OUT,
    InsufficientCapacity("none left"),
    Unreachable("no answer"),
    LaunchRefused("wrong"),
)


def happen(world: World, chance: random.Random, number: int) -> None:
    """One thing that nobody asked the controller about, or none."""
    dice = chance.random()
    pods, claims, nodes = world.all(Pod), world.all(NodeClaim), world.all(Node)
    if dice < 0.15:
        for i in range(chance.randint(1, 6)):
            world.put(build.pod(f"pod-{number}-{i}", cpu=chance.choice(["250m", "1", "2", "3"])))
    elif dice < 0.25:
        for pod in chance.sample(pods, min(len(pods), chance.randint(1, 5))):
            world.delete(Pod, pod.meta.key)
    elif dice < 0.28 and claims:
        world.delete(NodeClaim, chance.choice(claims).meta.name)
    elif dice < 0.30 and nodes:
        world.delete(Node, chance.choice(nodes).meta.name)
    elif dice < 0.33 and world.instances:
        lost = chance.choice(sorted(world.instances))
        del world.instances[lost]
        for node in nodes:
            if node.provider_id == lost:
                world.put(replace(node, conditions=(replace(node.conditions[0], status="False"),)))
    elif dice < 0.36:
        world.refusals["any"] = chance.choice(REFUSALS)
    elif dice < 0.40:
        world.refusals.clear()


def settle(world: World, steps: int) -> None:
    for _ in range(steps):
        world.step()
        world.now += timedelta(seconds=2)
        world.live()


def plan_of(world: World) -> list[str]:
    """Disruptions under way, or about to begin."""
    resting = world.step().report.proposals
    going = [c.meta.name for c in world.all(NodeClaim) if c.is_true("DisruptionReason")]
    return [*going, *(p.id for p in resting)]


@pytest.mark.parametrize("seed", range(20))
def test_after_any_history_pods_run_and_nothing_is_left_behind(seed: int) -> None:
    chance = random.Random(seed)
    world = World(now=build.NOW, catalogue=build.catalogue())
    world.put(build.node_class())
    world.put(build.node_pool())
    world.restart()

    for number in range(120):
        happen(world, chance, number)
        if chance.random() < 0.3:
            world.step(crash_after=chance.randint(0, 4))
        notes = world.step().report.notes
        assert not [note for note in notes if note.startswith("audit")]
        world.now += timedelta(seconds=chance.choice([1, 1, 1, 2, 5]))
        world.live()
    world.refusals.clear()
    settle(world, 200)
    while any(plan_of(world)):
        settle(world, 50)
        assert world.now < build.NOW + timedelta(hours=2), "moves never come to an end"

    used = {pod.node_name for pod in world.all(Pod)}
    assert "" not in used
    assert {node.meta.name for node in world.all(Node)} == used
    assert len(world.instances) == len(world.all(NodeClaim)) == len(world.all(Node))

    for pod in world.all(Pod):
        world.delete(Pod, pod.meta.key)
    settle(world, 60)

    assert (world.all(NodeClaim), world.all(Node), world.instances) == ([], [], {})
