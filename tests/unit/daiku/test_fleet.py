"""What is believed of the cloud: what was launched, what is gone, and what is sold out."""

from dataclasses import replace
from datetime import timedelta

import pytest
from tests import answers, build
from tests.build import NOW

from daiku.cloud.errors import (
    InstanceNotFound,
    InsufficientCapacity,
    LaunchRefused,
    NodeClassNotReady,
)
from daiku.commands import (
    Launch,
    TerminateInstance,
)
from daiku.events import (
    Failed,
    InstancesListed,
    Launched,
    LaunchFailed,
    Seen,
)
from daiku.lifecycle import collection
from daiku.model import labels
from daiku.model.instance_type import LaunchOption
from daiku.model.nodeclaim import NodeClaim

SECOND = timedelta(seconds=1)


@pytest.mark.parametrize(
    ("registered", "zones"),
    [
        pytest.param(False, ("zone-a", "zone-b"), id="a Node that joined before the launch was written"),
        pytest.param(True, ("zone-a",), id="a restored backup knows the Node, and not the launch"),
    ],
)  # fmt: skip
def test_a_claim_that_does_not_name_its_instance_is_one_with_the_node_of_what_the_cloud_lists(
    registered: bool, zones: tuple[str, ...]
) -> None:
    asked = build.needs(build.require(labels.ZONE, "In", "zone-a", "zone-b"))
    claim = build.node_claim(
        launched=False, registered=False, initialized=False, requirements=asked
    )
    cluster = build.cluster(claim, build.node(claim=build.node_claim(), registered=registered))
    cluster.apply(InstancesListed((answers.instance(),), NOW))

    (state_node,) = cluster.snapshot(NOW).state_nodes

    assert state_node.claim == claim
    assert state_node.name == "node-default-aaaaa"
    known = state_node.requirements.get(labels.ZONE)
    assert tuple(z for z in ("zone-a", "zone-b", "zone-c") if known.has(z)) == zones


def test_what_is_sold_out_is_remembered_for_three_minutes() -> None:
    cluster = build.cluster(build.node_claim())
    pool = ("c-4x", "zone-a", "spot")

    cluster.apply(LaunchFailed("default-aaaaa", InsufficientCapacity("none", sold_out=(pool,))))

    assert pool in cluster.snapshot(NOW).sold_out
    assert pool in cluster.snapshot(NOW + 179 * SECOND).sold_out
    assert pool not in cluster.snapshot(NOW + 181 * SECOND).sold_out


def test_pools_that_said_no_on_the_way_to_a_launch_are_sold_out_too() -> None:
    cluster = build.cluster(build.node_claim(launched=False))
    pool = ("c-4x", "zone-a", "spot")

    cluster.apply(Launched("default-aaaaa", answers.launched(sold_out=(pool,))))

    assert pool in cluster.snapshot(NOW).sold_out


def test_without_a_word_on_which_pools_all_that_were_tried_are_sold_out() -> None:
    option = LaunchOption(
        instance_type="c-4x", zone="zone-a", capacity_type="spot", price_usd_per_hour=1.0
    )
    launch = Launch(node_claim=build.node_claim(launched=False), options=(option,))
    cluster = build.cluster()

    cluster.apply(Failed(launch, InsufficientCapacity("none"), NOW))

    assert ("c-4x", "zone-a", "spot") in cluster.snapshot(NOW).sold_out


def test_a_node_class_that_cannot_launch_pauses_its_pool() -> None:
    launch = Launch(node_claim=build.node_claim(launched=False), options=())
    cluster = build.cluster()

    cluster.apply(Failed(launch, NodeClassNotReady("no subnet"), NOW))

    assert cluster.snapshot(NOW).is_held("Create/default")


def test_a_launch_is_remembered_until_the_claim_says_so_itself() -> None:
    cluster = build.cluster(build.node_claim(launched=False))

    cluster.apply(Launched("default-aaaaa", answers.launched()))
    assert "default-aaaaa" in cluster.snapshot(NOW).launched

    cluster.apply(Seen(build.node_claim()))
    assert cluster.snapshot(NOW).launched == {}


def test_a_launch_that_begins_again_forgets_why_the_last_one_failed() -> None:
    claim = build.node_claim(launched=False)
    cluster = build.cluster(claim)
    cluster.apply(LaunchFailed("default-aaaaa", LaunchRefused("no")))

    cluster.begin(Launch(node_claim=claim, options=()), NOW)

    assert cluster.snapshot(NOW).launch_failures == {}


def test_an_instance_that_the_cloud_does_not_know_is_gone() -> None:
    claim = build.node_claim(deleted=NOW)
    cluster = build.cluster(claim)
    end = TerminateInstance(provider_id=claim.provider_id, node_claim=claim.meta.name)

    cluster.apply(Failed(end, InstanceNotFound("gone"), NOW))

    assert claim.provider_id in cluster.snapshot(NOW).gone_instances


RESERVED = answers.relabelled(build.node_claim(), {labels.CAPACITY_TYPE: labels.RESERVED})


@pytest.mark.parametrize(
    ("claims", "listed", "is_news"),
    [
        pytest.param([build.node_claim()], ["default-aaaaa"], False, id="each of the other, as before"),
        pytest.param([build.node_claim()], ["default-aaaaa", "gone"], True, id="an orphan grows older"),
        pytest.param([build.node_claim()], [], True, id="a claim misses its instance"),
        pytest.param([build.node_claim(launched=False)], ["default-aaaaa"], True, id="a claim does not know its own"),
        pytest.param([RESERVED], ["default-aaaaa"], True, id="it runs outside of its reservation"),
    ],
)  # fmt: skip
def test_a_list_of_instances_like_the_one_before_is_news_only_where_time_matters(
    claims: list[NodeClaim], listed: list[str], is_news: bool
) -> None:
    cluster = build.cluster(*claims)
    found = tuple(answers.instance(name) for name in listed)
    assert cluster.apply(InstancesListed(found, NOW))

    assert cluster.apply(InstancesListed(found, NOW + SECOND)) is is_news


def test_a_list_that_tells_of_another_subnet_is_news() -> None:
    cluster = build.cluster(build.node_claim())
    cluster.apply(InstancesListed((answers.instance(),), NOW))

    assert cluster.apply(InstancesListed((replace(answers.instance(), subnet="subnet-1"),), NOW))


def test_an_instance_that_the_cloud_has_denied_since_its_list_is_not_ended_once_more() -> None:
    cluster = build.cluster()
    long_ago = NOW - timedelta(hours=1)
    listed = InstancesListed((answers.instance(launched=long_ago),), NOW)
    cluster.apply(listed)
    (end,) = collection.orphans(cluster.snapshot(NOW), cluster.settings)

    cluster.apply(Failed(end, InstanceNotFound("it is gone"), NOW))
    assert list(collection.orphans(cluster.snapshot(NOW), cluster.settings)) == []

    cluster.apply(replace(listed, asked=NOW + SECOND))
    assert list(collection.orphans(cluster.snapshot(NOW), cluster.settings)) == [end]
