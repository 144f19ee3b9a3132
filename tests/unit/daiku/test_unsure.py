"""What was asked for and is not seen yet, or has no answer: nothing is decided as if it had not been asked for.

Each of these was found by the simulation (tests/simulation).
"""

from datetime import timedelta

import pytest
from tests import answers, build
from tests.build import NOW

from daiku.cloud.errors import InstanceNotFound, InstanceUnknown
from daiku.commands import DeleteNode, DeleteNodeClaim, TerminateInstance
from daiku.disruption import budgets, emptiness
from daiku.events import Done, Failed, InstancesListed, Launched
from daiku.lifecycle import collection
from daiku.model.budget import Budget
from daiku.scheduling import expected
from daiku.settings import Settings
from daiku.state.cluster import Cluster

SECOND = timedelta(seconds=1)
MINUTE = timedelta(minutes=1)


def names(cluster: Cluster, after: timedelta = timedelta(0)) -> list[str]:
    return [s.claim_name for s in cluster.snapshot(NOW + after).state_nodes]


@pytest.mark.parametrize(
    ("unsure", "after", "counts"),
    [
        pytest.param(False, SECOND, False, id="a refused claim does not exist"),
        pytest.param(True, SECOND, True, id="one that nobody answered for may"),
        pytest.param(True, MINUTE, False, id="but would have been seen by now"),
    ],
)
def test_a_claim_that_may_have_been_made_counts(
    after: timedelta, *, unsure: bool, counts: bool
) -> None:
    cluster = build.cluster()
    creation = answers.creation(build.node_claim(launched=False))
    cluster.begin(creation, NOW)

    cluster.apply(Failed(creation, RuntimeError("no answer"), NOW, unsure=unsure))

    assert (names(cluster, after) == ["default-aaaaa"]) is counts


def test_a_claim_whose_deletion_is_not_seen_yet_is_leaving_already() -> None:
    """Otherwise the next tick takes another one, and the budget is crossed."""
    first, second = build.node_claim("default-a"), build.node_claim("default-b")
    pool = build.node_pool(budgets=(Budget(nodes="1"),))
    cluster = build.cluster(pool, first, second, build.node(claim=first), build.node(claim=second))
    delete = DeleteNodeClaim(name="default-b", uid="uid-default-b", reason="Empty")

    cluster.begin(delete, NOW)
    cluster.apply(Done(delete, NOW))

    allowance = budgets.allowance(cluster.snapshot(NOW + SECOND), emptiness.REASON, NOW + SECOND)
    assert allowance.left == {"default": 0}


def test_it_still_counts_against_the_limits_until_it_is_seen_to_go() -> None:
    claim = build.node_claim()
    cluster = build.cluster(build.node_pool(), claim, build.node(claim=claim))

    cluster.begin(DeleteNodeClaim(name=claim.meta.name, uid="", reason="Empty"), NOW)

    snapshot = cluster.snapshot(NOW)
    assert expected.pool_usage(snapshot.state_nodes, "default", build.catalogue())["nodes"] == 1


@pytest.mark.parametrize(
    ("unsure", "leaving"),
    [
        pytest.param(False, False, id="a refused deletion does not happen"),
        pytest.param(True, True, id="one that nobody answered may"),
    ],
)
def test_a_deletion_that_failed(*, unsure: bool, leaving: bool) -> None:
    claim = build.node_claim()
    cluster = build.cluster(claim, build.node(claim=claim))
    delete = DeleteNodeClaim(name=claim.meta.name, uid=claim.meta.uid, reason="Empty")
    cluster.begin(delete, NOW)

    cluster.apply(Failed(delete, RuntimeError("no"), NOW, unsure=unsure))

    assert cluster.snapshot(NOW).by_name[claim.meta.name].is_leaving is leaving


@pytest.mark.parametrize(
    ("error", "after", "gone"),
    [
        pytest.param(InstanceNotFound("gone"), SECOND, True, id="the cloud says that it is gone"),
        pytest.param(InstanceUnknown("?"), SECOND, False, id="it may not know it yet"),
        pytest.param(InstanceUnknown("?"), MINUTE, True, id="it knows what is a minute old"),
    ],
)
def test_a_cloud_may_deny_an_instance_that_it_has_just_launched(
    error: InstanceNotFound, after: timedelta, *, gone: bool
) -> None:
    claim = build.node_claim(deleted=NOW)
    cluster = build.cluster(claim)
    end = TerminateInstance(provider_id=claim.provider_id, node_claim=claim.meta.name)

    cluster.apply(Failed(end, error, NOW + after))

    assert (claim.provider_id in cluster.snapshot(NOW + after).gone_instances) is gone


def test_an_instance_without_a_claim_is_drained_before_it_ends() -> None:
    """Its claim was removed by force; its pods still run."""
    cluster = build.cluster(build.node("lost", claim=build.node_claim()))
    cluster.apply(InstancesListed((answers.instance(),), NOW + MINUTE))

    found = list(collection.orphans(cluster.snapshot(NOW + MINUTE), Settings()))

    assert found == [DeleteNode(name="lost", uid="uid-lost")]


def test_an_instance_of_a_claim_that_was_removed_meanwhile_is_an_orphan() -> None:
    """The answer to its launch came after the claim had gone; nobody would ever end it otherwise."""
    cluster = build.cluster()
    cluster.apply(Launched("default-aaaaa", answers.launched()))
    cluster.apply(InstancesListed((answers.instance(),), NOW + MINUTE))

    found = list(collection.orphans(cluster.snapshot(NOW + MINUTE), Settings()))

    assert [end.provider_id for end in found if isinstance(end, TerminateInstance)] == [
        "kwok://default-aaaaa"
    ]
