"""What is kept true of NodeClaims and NodePools: labels, hashes, capacity, registration health, whose they are."""

from dataclasses import replace

import pytest
from tests import build
from tests.build import NOW, REF

from daiku.commands import (
    Announce,
    Command,
    DeleteNodeClaim,
    PatchNode,
    PatchNodeClaim,
    PatchNodePool,
)
from daiku.events import Object, Seen
from daiku.lifecycle import plan
from daiku.model import labels, nodepool_hash
from daiku.model.condition import Condition, Status, find
from daiku.model.meta import Owner
from daiku.model.nodeclaim import NodeClaim
from daiku.model.nodepool import NodePool
from daiku.settings import Settings
from daiku.state.cluster import Cluster

OLD = {labels.NODEPOOL_HASH: "1", labels.NODEPOOL_HASH_VERSION: "v2"}
POOL = build.node_pool()
OWNER = Owner(api_version="karpenter.sh/v1", kind="NodePool", name="default", uid=POOL.meta.uid)


def commands(cluster: Cluster, settings: Settings | None = None) -> list[Command]:
    chosen = settings or Settings()
    return plan.plan(cluster.snapshot(NOW), cluster.catalogue, chosen, NOW).commands


def decide(*objects: Object) -> list[Command]:
    return commands(build.cluster(*objects, build.node_class()))


def claim_patch(made: list[Command]) -> PatchNodeClaim | None:
    return next((c for c in made if isinstance(c, PatchNodeClaim)), None)


def pool_patch(made: list[Command]) -> PatchNodePool | None:
    return next((c for c in made if isinstance(c, PatchNodePool)), None)


def with_annotations(pool: NodePool, **annotations: str) -> NodePool:
    return replace(pool, meta=replace(pool.meta, annotations=annotations))


def owned(name: str, **fields: object) -> NodeClaim:
    claim = build.node_claim(name, **fields)
    return replace(claim, meta=replace(claim.meta, owners=(OWNER,)))


# Source: karpenter-core 1.11 and the suite of nodepool.hash.


def test_claims_get_the_new_version_before_their_pool_does() -> None:
    pool = replace(POOL, meta=replace(POOL.meta, annotations=OLD))
    old = build.node_claim(annotations=OLD)

    made = decide(pool, old, build.node(claim=old))

    patch, own = claim_patch(made), pool_patch(made)
    assert patch is not None
    assert patch.annotations == {
        labels.NODEPOOL_HASH_VERSION: "v3",
        labels.NODEPOOL_HASH: nodepool_hash.of(pool.template),
    }
    assert own is None or own.annotations is None


def test_a_pool_gets_the_new_version_when_its_claims_have_it() -> None:
    pool = replace(POOL, meta=replace(POOL.meta, annotations=OLD))
    own = pool_patch(decide(pool, build.node_claim()))

    assert own is not None
    assert own.annotations is not None
    assert own.annotations[labels.NODEPOOL_HASH_VERSION] == "v3"


def test_a_drifted_claim_keeps_its_hash() -> None:
    pool = replace(POOL, meta=replace(POOL.meta, annotations=OLD))
    claim = build.node_claim(annotations=OLD)
    drifted = Condition(type="Drifted", status="True", last_transition=NOW, observed_generation=1)
    patch = claim_patch(decide(pool, replace(claim, conditions=(*claim.conditions, drifted))))

    assert patch is not None
    assert patch.annotations == {labels.NODEPOOL_HASH_VERSION: "v3"}


def test_a_claim_s_hash_stays_while_the_versions_match() -> None:
    current = {labels.NODEPOOL_HASH: "another", labels.NODEPOOL_HASH_VERSION: "v3"}
    pool = replace(POOL, meta=replace(POOL.meta, annotations=current))
    made = decide(pool, build.node_claim(annotations={labels.NODEPOOL_HASH: "1"}))

    patch = claim_patch(made)
    assert patch is None or patch.annotations is None


# Source: the suites of nodeclaim.hydration and node.hydration.


def test_the_label_of_the_node_class_is_added_where_it_is_missing() -> None:
    key = labels.node_class_label(REF.group, REF.kind)
    claim = build.node_claim()
    bare = replace(claim, meta=replace(claim.meta, labels={labels.NODEPOOL: "default"}))

    made = decide(POOL, bare, build.node(claim=bare))

    patch = claim_patch(made)
    assert patch is not None
    assert patch.labels == {key: "default"}
    assert [c.labels for c in made if isinstance(c, PatchNode)] == [{key: "default"}]


# Source: the suite of nodeclaim.consistency.


@pytest.mark.parametrize(
    ("memory", "status"),
    [("8Gi", "True"), ("7.3Gi", "True"), ("7Gi", "False"), ("4Gi", "False")],
)
def test_a_node_that_has_less_than_nine_tenths_of_what_was_bought_is_told(
    memory: str, status: Status
) -> None:
    claim = build.node_claim(requests={"cpu": 1000, "memory": 2**30})
    plain = replace(
        claim, conditions=tuple(c for c in claim.conditions if c.type != "ConsistentStateFound")
    )
    node = build.node(claim=claim, capacity=build.resources.parse({"cpu": "4", "memory": memory}))

    made = decide(POOL, plain, node)

    patch = claim_patch(made)
    assert patch is not None
    said = find(patch.conditions, "ConsistentStateFound")
    assert said is not None
    assert said.status == status
    events = [c for c in made if isinstance(c, Announce) and c.reason == "FailedConsistencyCheck"]
    assert len(events) == (status == "False")


def test_a_lie_is_told_once() -> None:
    claim = build.node_claim(requests={"memory": 2**30})
    node = build.node(claim=claim, capacity={"cpu": 4000, "memory": 2**30})
    first = claim_patch(decide(POOL, claim, node))
    assert first is not None
    known = {c.type: c for c in (*claim.conditions, *first.conditions)}

    again = decide(POOL, replace(claim, conditions=tuple(known.values())), node)

    assert not [c for c in again if isinstance(c, Announce)]


# Source: the suites of nodepool.registrationhealth and nodeclaim.lifecycle, liveness and registration.


def health(cluster: Cluster) -> Condition | None:
    patch = pool_patch(commands(cluster))
    return find(patch.conditions, "NodeRegistrationHealthy") if patch is not None else None


def fail(cluster: Cluster, name: str) -> None:
    claim = owned(name, registered=False, initialized=False)
    cluster.apply(Seen(claim))
    gone = DeleteNodeClaim(name=name, uid=claim.meta.uid, reason="registration_timeout")
    cluster.begin(gone, NOW)
    cluster.begin(gone, NOW)


def succeed(cluster: Cluster, name: str) -> None:
    cluster.apply(Seen(owned(name, registered=False, initialized=False)))
    cluster.apply(Seen(owned(name)))


@pytest.mark.parametrize(
    ("results", "status"),
    [
        pytest.param("", "Unknown", id="nothing known"),
        pytest.param("+", "True", id="a node registered"),
        pytest.param("-", "Unknown", id="one failure"),
        pytest.param("--", "False", id="two failures"),
        pytest.param("--+", "False", id="a success after two failures"),
        pytest.param("--+++", "True", id="the older failure is forgotten"),
        pytest.param("+++--", "False", id="two failures after successes"),
    ],
)
def test_a_pool_is_as_healthy_as_its_last_four_launches(results: str, status: str) -> None:
    cluster = build.cluster(POOL, build.node_class())
    for number, result in enumerate(results):
        (succeed if result == "+" else fail)(cluster, f"default-{number}")

    found = health(cluster)

    assert found is not None
    assert found.status == status
    if status == "False":
        assert (found.reason, found.message) == ("RegistrationFailed", "Failed to register node")


def test_a_change_of_the_pool_or_of_its_class_begins_anew() -> None:
    changed = replace(POOL, meta=replace(POOL.meta, generation=2, resource_version="9001"))
    other = build.node_class()
    other = replace(other, meta=replace(other.meta, generation=2, resource_version="9002"))
    for change in (changed, other):
        cluster = build.cluster(POOL, build.node_class())
        fail(cluster, "default-0")
        fail(cluster, "default-1")

        cluster.apply(Seen(change))

        found = health(cluster)
        assert found is not None
        assert found.status == "Unknown"


def test_after_a_restart_the_condition_is_remembered() -> None:
    said = Condition(
        type="NodeRegistrationHealthy", status="False", reason="RegistrationFailed",
        message="Failed to register node", last_transition=NOW, observed_generation=1,
    )  # fmt: skip
    cluster = build.cluster(
        replace(POOL, conditions=(said,), status_class_generation=1), build.node_class()
    )
    assert health(cluster) is None

    succeed(cluster, "default-0")

    assert health(cluster) is None


# Whose they are. Source: karpenter-core, "managed".


def test_what_belongs_to_another_kind_of_node_class_does_not_exist_here() -> None:
    settings = Settings(node_class_kind=("karpenter.k8s.aws", "EC2NodeClass"))
    claim = build.node_claim(launched=False, registered=False, initialized=False)
    going = build.node_claim("default-bbbbb", deleted=NOW)
    node = build.node(claim=going, deleted=NOW)
    node = replace(node, meta=replace(node.meta, labels={}))
    cluster = build.cluster(POOL, claim, going, node, settings=settings)

    assert commands(cluster, settings) == []


def test_a_claim_made_by_hand_is_launched_and_looked_after() -> None:
    claim = build.node_claim("mine", pool="", launched=False, registered=False, initialized=False)
    bare = replace(
        claim,
        meta=replace(claim.meta, labels={}, finalizers=()),
        requirements=build.needs(build.require(labels.INSTANCE_TYPE, "In", "c-4x")),
    )

    made = decide(bare)

    patch = claim_patch(made)
    assert patch is not None
    assert patch.add_finalizer
    assert "Launch" in [type(c).__name__ for c in made]
