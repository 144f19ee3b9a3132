"""Random clusters that could be fewer nodes, and what goes wrong while they become it.

A pod that was moved waits for seconds at most, unless a person or the cloud took its node away; in the end nothing is
left of any move, the nodes cost no more than before, and nobody was moved again and again.
"""

import random
from collections import Counter
from dataclasses import replace
from datetime import timedelta

import pytest
from tests import build
from tests.unit.daiku.moving_world import Moving, running, world

from daiku import commands
from daiku.commands import Command
from daiku.disruption import disruption_commands
from daiku.events import Object
from daiku.model.budget import Budget
from daiku.model.node import Node
from daiku.model.nodeclaim import NodeClaim
from daiku.model.pod import Pod
from daiku.state.past import RESIDENCY
from daiku.state.places import OPEN_AFTER

OLD = build.NOW - timedelta(hours=2)
SIZES = {"c-4x": "4", "c-8x": "8", "c-16x": "16"}


def cluster(chance: random.Random) -> list[Object]:
    """Four to ten nodes that are about half empty."""
    there: list[Object] = []
    for number in range(chance.randint(4, 10)):
        kind = chance.choice(sorted(SIZES))
        there += running(f"default-{number:05d}", kind, cpu=SIZES[kind])
        left = int(SIZES[kind]) * chance.uniform(0.2, 0.7)
        for i in range(6):
            cpu = chance.choice([0.5, 1, 2, 3])
            if cpu > left:
                break
            left -= cpu
            pod = build.pod(
                f"p-{number}-{i}", cpu=f"{int(cpu * 1000)}m", node=f"node-default-{number:05d}"
            )
            there.append(replace(pod, scheduled=OLD))
    return there


def pool(nodes: str) -> Object:
    return build.node_pool(budgets=[Budget(nodes=nodes)])


def nothing(_made: Moving, _chance: random.Random) -> None:
    """Nothing goes wrong."""


def never_ready(made: Moving, _chance: random.Random) -> None:
    """Machines that are launched from now on do not come up for a while."""
    made.boot = timedelta(minutes=12)


def budget_closes(made: Moving, _chance: random.Random) -> None:
    made.put(pool("0"))


def node_dies(made: Moving, chance: random.Random) -> None:
    """A node that has a part in a move goes, or else any."""
    claims = made.all(NodeClaim)
    parts = [c for c in claims if disruption_commands.read(c) is not None] or claims
    made.delete(NodeClaim, chance.choice(parts).meta.name)


def leader_changes(made: Moving, chance: random.Random) -> None:
    made.step(crash_after=chance.randint(0, 6))


def more_pods(made: Moving, chance: random.Random) -> None:
    for number in range(chance.randint(1, 5)):
        made.put(build.pod(f"late-{made.now:%H%M%S}-{number}", cpu="2"))


FAULTS = (nothing, never_ready, budget_closes, node_dies, leader_changes, more_pods)


def twice_moved(made: Moving) -> list[str]:
    """Watch evictions from now on; pods that consolidation moves again too soon are put on the list."""
    found: list[str] = []
    carry_out = made.carry_out

    def watched(command: Command) -> None:
        if isinstance(command, commands.Evict):
            pod = made.objects[Pod, f"{command.namespace}/{command.name}"]
            assert isinstance(pod, Pod)
            again = pod.meta.name.startswith("again") and pod.scheduled is not None
            young = again and made.now - (pod.scheduled or made.now) < RESIDENCY
            if young and command.reason == "Underutilized":
                found.append(f"{pod.meta.name} at {made.now:%H:%M:%S}")
        carry_out(command)

    made.carry_out = watched  # pyright: ignore[reportAttributeAccessIssue]
    return found


@pytest.mark.parametrize("seed", range(12))
def test_whatever_happens_in_the_middle_the_cluster_is_whole_and_no_dearer(seed: int) -> None:
    chance = random.Random(seed)
    fault = FAULTS[seed % len(FAULTS)]
    made = world(*cluster(chance), pool=pool(chance.choice(["100%", "50%", "2"])))
    made.run(1)
    before = made.price()
    twice = twice_moved(made)

    made.run(chance.randint(16, 50))
    fault(made, chance)
    waits: Counter[str] = Counter()
    for _ in range(90):
        made.run(1)
        waits.update(pod.meta.name for pod in made.all(Pod) if not pod.node_name)
    if fault in {nothing, never_ready, budget_closes, leader_changes}:
        # As long as it takes to open the nodes that were made for them, and never until one is bought.
        assert max(waits.values(), default=0) <= OPEN_AFTER / timedelta(seconds=1)
    made.boot = timedelta(seconds=20)
    made.put(pool("100%"))
    made.run(40 * 60, step=10)

    # A pod that was moved may be moved again for a saving that is worth four times as much.
    assert len(twice) <= max(2, made.evicted // 2)
    assert made.tainted() == []
    assert all(pod.node_name for pod in made.all(Pod))
    assert len(made.all(Node)) == len(made.all(NodeClaim)) == len(made.instances)
    if fault is not more_pods:
        assert made.price() <= before + 1e-9


def test_in_these_histories_nodes_really_are_repacked() -> None:
    methods: set[tuple[str, bool]] = set()
    for seed in range(0, 12, len(FAULTS)):
        made = world(*cluster(random.Random(seed)), pool=pool("100%"))
        for _ in range(60):
            made.run(1)
            methods |= {(p.method, p.new_nodes > 0) for p in made.last.report.proposals}

    assert {("repack", True)} <= methods
