"""Static NodePools keep their number of nodes, whatever pods ask for.

Source: Karpenter's suites of static.provisioning and static.deprovisioning, row by row.
"""

import itertools
from collections import Counter
from dataclasses import replace
from datetime import timedelta

import pytest
from tests import build
from tests.build import NOW
from tests.unit.daiku.tiny_world import World

from daiku.cloud.errors import Throttled
from daiku.commands import CreateNodeClaim, DeleteNodeClaim
from daiku.events import Failed, Object
from daiku.model import labels
from daiku.model.condition import Condition
from daiku.model.nodeclaim import NodeClaim
from daiku.model.nodepool import NodePool
from daiku.model.pod import Pod
from daiku.provisioning import static
from daiku.settings import Settings

ON = Settings(extra={"StaticCapacity": "true"})


def pool(replicas: int | None = 3, **fields: object) -> NodePool:
    return build.node_pool(replicas=replicas, **fields)


def nodes(count: int, **fields: object) -> list[Object]:
    made: list[Object] = []
    for number in range(count):
        claim = build.node_claim(f"default-{number}", **fields)
        made += [claim, build.node(claim=claim)]
    return made


def plan(*objects: Object, settings: Settings = ON) -> static.Static:
    cluster = build.cluster(*objects, build.node_class())
    return static.plan(cluster.snapshot(NOW), cluster.catalogue, settings, NOW)


def made(found: static.Static) -> list[NodeClaim]:
    return [c.node_claim for c in found.commands if isinstance(c, CreateNodeClaim)]


def gone(found: static.Static) -> list[str]:
    return [c.name for c in found.commands if isinstance(c, DeleteNodeClaim)]


@pytest.mark.parametrize(
    ("replicas", "there", "new", "less"),
    [
        pytest.param(3, 0, 3, 0, id="from nothing"),
        pytest.param(3, 2, 1, 0, id="topped up"),
        pytest.param(3, 3, 0, 0, id="as many as wanted"),
        pytest.param(3, 5, 0, 2, id="scaled down"),
        pytest.param(0, 2, 0, 2, id="to zero"),
        pytest.param(0, 0, 0, 0, id="nothing wanted"),
        pytest.param(60, 0, 60, 0, id="many"),
        pytest.param(None, 0, 0, 0, id="not static"),
    ],
)
def test_it_has_as_many_nodes_as_replicas_say(
    replicas: int | None, there: int, new: int, less: int
) -> None:
    found = plan(pool(replicas), *nodes(there))

    assert (len(made(found)), len(gone(found))) == (new, less)


@pytest.mark.parametrize(
    ("limit", "there", "new"),
    [
        pytest.param("10", 0, 3, id="far"),
        pytest.param("2", 0, 2, id="near"),
        pytest.param("2", 2, 0, id="reached"),
    ],
)
def test_the_limit_of_nodes_holds(limit: str, there: int, new: int) -> None:
    assert len(made(plan(pool(limits={"nodes": limit}), *nodes(there)))) == new


def test_nodes_on_their_way_out_count_for_the_limit_and_not_for_the_number() -> None:
    going = nodes(2, deleted=NOW)

    assert len(made(plan(pool(3), *going))) == 3
    assert len(made(plan(pool(3, limits={"nodes": "4"}), *going))) == 2


def test_a_node_that_a_disruption_has_chosen_is_not_counted() -> None:
    claim, node = nodes(1)
    assert isinstance(claim, NodeClaim)
    chosen = Condition(
        type="DisruptionReason", status="True", reason="Drifted", last_transition=NOW
    )
    claim = replace(claim, conditions=(*claim.conditions, chosen))

    assert len(made(plan(pool(1), claim, node))) == 1


@pytest.mark.parametrize(
    "pool_of",
    [
        pytest.param(pool(deleted=NOW), id="it is being deleted"),
        pytest.param(pool(invalid="wrong taint"), id="it is invalid"),
        pytest.param(
            pool(requirements=build.needs(build.require(labels.ARCH, "In", "riscv64"))),
            id="nothing it allows is for sale",
        ),
        pytest.param(
            pool(
                requirements=build.needs(build.require("team", "In", "y")),
                template_labels={"team": "x"},
            ),
            id="its labels contradict its requirements",
        ),
    ],
)
def test_a_pool_that_cannot_have_nodes_makes_no_claims(pool_of: NodePool) -> None:
    assert plan(pool_of).commands == []


def test_without_a_node_class_none_are_made() -> None:
    cluster = build.cluster(pool())

    assert static.plan(cluster.snapshot(NOW), cluster.catalogue, ON, NOW).commands == []


def test_the_gate_is_closed_by_default() -> None:
    assert plan(pool(), *nodes(1), settings=Settings()) == static.Static()


def test_after_a_refusal_it_waits_before_it_asks_again() -> None:
    cluster = build.cluster(pool(), build.node_class())
    first = static.plan(cluster.snapshot(NOW), cluster.catalogue, ON, NOW)
    cluster.apply(Failed(first.commands[0], Throttled("slow down"), NOW))

    again = static.plan(cluster.snapshot(NOW), cluster.catalogue, ON, NOW)

    assert again.commands == []
    assert min(again.wakes) > NOW


def test_its_claims_carry_the_template_and_leave_the_type_open() -> None:
    (claim,) = made(
        plan(pool(1, template_labels={"team": "a"}, termination_grace_period=timedelta(30)))
    )

    assert claim.meta.labels["team"] == "a"
    assert claim.meta.labels[labels.NODEPOOL] == "default"
    assert claim.termination_grace_period == timedelta(30)
    assert not claim.requirements.get(labels.INSTANCE_TYPE).values
    assert claim.meta.owners[0].kind == "NodePool"


def test_names_of_one_plan_differ() -> None:
    assert max(Counter(claim.meta.name for claim in made(plan(pool(60)))).values()) == 1


def on(number: int, name: str, **fields: object) -> Pod:
    return build.pod(name, node=f"node-default-{number}", **fields)


def test_who_costs_least_goes_first() -> None:
    held = {labels.DO_NOT_DISRUPT: "true"}
    unlaunched = build.node_claim("default-9", launched=False, registered=False, initialized=False)
    there = [
        *nodes(5),
        unlaunched,
        on(0, "held", annotations=held),
        on(1, "many-1"), on(1, "many-2"),
        on(2, "one"),
        on(3, "agent", owner="DaemonSet"),
    ]  # fmt: skip

    order = [gone(plan(pool(replicas), *there)) for replicas in (5, 4, 3, 2, 1, 0)]

    assert order[-1] == [
        "default-9", "default-3", "default-4", "default-2", "default-1", "default-0",
    ]  # fmt: skip
    assert all(more[: len(less)] == less for less, more in itertools.pairwise(order))


def test_in_a_living_world_it_comes_and_goes() -> None:
    world = World(now=NOW, catalogue=build.catalogue(), settings=ON)
    world.put(build.node_class())
    world.put(pool(3))
    world.restart()
    world.run(60)
    assert len(world.all(NodeClaim)) == 3
    assert all(claim.is_true("Initialized") for claim in world.all(NodeClaim))

    (there,) = world.all(NodePool)
    world.put(replace(there, replicas=1))
    world.run(60)

    assert len(world.all(NodeClaim)) == 1
    assert len(world.instances) == 1
