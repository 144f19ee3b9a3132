"""What a NodePool says about itself."""

from dataclasses import replace

import pytest
from tests import build
from tests.build import NOW

from daiku.commands import PatchNodePool
from daiku.events import Object
from daiku.lifecycle import nodepools
from daiku.model import labels, nodepool_hash
from daiku.model.condition import find
from daiku.model.nodepool import NodePool

CATALOGUE = build.catalogue(build.instance_type())


def patch(pool: NodePool, *objects: Object) -> PatchNodePool | None:
    snapshot = build.cluster(pool, *objects).snapshot(NOW)
    return next(nodepools.patches(snapshot, CATALOGUE, NOW), None)


def wanted(pool: NodePool, *objects: Object) -> PatchNodePool:
    found = patch(pool, *objects)
    assert found is not None
    return found


def test_it_counts_its_nodes_and_what_they_have() -> None:
    claim = build.node_claim()

    made = wanted(build.node_pool(), claim, build.node(claim=claim), build.node("stranger"))

    assert made.nodes == 1
    assert made.resources == {
        "cpu": 4000,
        "memory": 8 * 2**30,
        "pods": 110,
        "ephemeral-storage": 0,
        "nodes": 1,
    }


def test_it_carries_the_hash_of_its_template() -> None:
    pool = build.node_pool()

    assert wanted(pool).annotations == {
        labels.NODEPOOL_HASH: nodepool_hash.of(pool.template),
        labels.NODEPOOL_HASH_VERSION: "v3",
    }


@pytest.mark.parametrize(
    ("pool", "objects", "kind", "reason", "ready"),
    [
        pytest.param(
            build.node_pool(),
            [build.node_class()],
            "NodeClassReady",
            "NodeClassReady",
            "True",
            id="all well",
        ),
        pytest.param(
            build.node_pool(),
            [],
            "NodeClassReady",
            "NodeClassNotFound",
            "False",
            id="no node class",
        ),
        pytest.param(
            build.node_pool(),
            [build.node_class(ready=False, why_not_ready="no subnet")],
            "NodeClassReady",
            "NodeClassReadinessUnknown",
            "False",
            id="node class not ready",
        ),
        pytest.param(
            build.node_pool(invalid="wrong taint"),
            [build.node_class()],
            "ValidationSucceeded",
            "NodePoolValidationFailed",
            "False",
            id="invalid",
        ),
        pytest.param(
            build.node_pool(requirements=build.needs(build.require(labels.ARCH, "In", "riscv64"))),
            [build.node_class()],
            "ValidationSucceeded",
            "NoCompatibleInstanceTypes",
            "False",
            id="no instance type",
        ),
    ],
)
def test_it_says_whether_it_can_be_used(
    pool: NodePool, objects: list[Object], kind: str, reason: str, ready: str
) -> None:
    conditions = wanted(pool, *objects).conditions

    said, root = find(conditions, kind), find(conditions, "Ready")
    assert said is not None
    assert root is not None
    assert (said.reason, root.status) == (reason, ready)


def test_nothing_is_written_when_nothing_changed() -> None:
    pool = build.node_pool()
    made = wanted(pool, build.node_class())
    written = replace(
        pool,
        meta=replace(pool.meta, annotations=made.annotations or {}),
        conditions=made.conditions,
        status_nodes=made.nodes,
        status_resources=made.resources,
        status_class_generation=made.class_generation,
    )

    assert patch(written, build.node_class()) is None


def test_a_pool_that_is_going_is_left_alone() -> None:
    assert patch(build.node_pool(deleted=NOW)) is None


def test_a_pool_that_no_instance_type_suits_says_which_wish_is_to_blame() -> None:
    pool = build.node_pool(
        requirements=build.needs(
            build.require(labels.OS, "In", "linux"),
            build.require(labels.ARCH, "In", "riscv64"),
        )
    )

    said = find(wanted(pool, build.node_class()).conditions, "ValidationSucceeded")

    assert said is not None
    assert "without kubernetes.io/arch In [riscv64] there would be 1" in said.message
