"""From a NodeClaim to an instance: what is asked for, and what becomes of the answers."""

from datetime import timedelta

import pytest
from tests import answers, build
from tests.build import NOW

from daiku import tick
from daiku.cloud.errors import CloudError, InsufficientCapacity, LaunchRefused, NodeClassNotReady
from daiku.commands import (
    Announce,
    Command,
    CreateNodeClaim,
    DeleteNodeClaim,
    Launch,
    PatchNodeClaim,
)
from daiku.events import (
    CatalogueRefreshed,
    Failed,
    Gone,
    InstancesListed,
    Launched,
    LaunchFailed,
    Object,
    Seen,
)
from daiku.lifecycle import plan
from daiku.model import labels
from daiku.model.condition import find
from daiku.model.instance_type import InstanceType
from daiku.model.nodeclaim import NodeClaim
from daiku.model.pod import Pod
from daiku.model.requirements import Requirement
from daiku.settings import Settings
from daiku.state.cluster import Cluster

BOTH = ("on-demand", "spot")


def young(*requirements: Requirement, **fields: object) -> NodeClaim:
    asked = build.needs(build.require(labels.NODEPOOL, "In", "default"), *requirements)
    return build.node_claim(
        launched=False, registered=False, initialized=False, requirements=asked, **fields
    )


def cluster_of(
    claim: NodeClaim, *objects: Object, types: list[InstanceType] | None = None
) -> Cluster:
    return build.cluster(
        claim,
        *(objects or (build.node_class(),)),
        catalogue_of=build.catalogue(*(types or build.family())),
    )


def commands(
    cluster: Cluster, settings: Settings | None = None, *, after: timedelta = timedelta(0)
) -> list[Command]:
    return plan.plan(
        cluster.snapshot(NOW + after), cluster.catalogue, settings or Settings(), NOW + after
    ).commands


def launch(cluster: Cluster, settings: Settings | None = None) -> Launch:
    (found,) = [c for c in commands(cluster, settings) if isinstance(c, Launch)]
    return found


def test_a_new_claim_is_launched_with_the_cheapest_first() -> None:
    options = launch(cluster_of(young())).options

    assert options[0].instance_type == "c-1x"
    assert [o.price_usd_per_hour for o in options] == sorted(o.price_usd_per_hour for o in options)


def test_nothing_is_written_of_a_claim_before_its_launch_has_been_answered() -> None:
    cluster = cluster_of(young(conditions=()))

    assert [type(c) for c in commands(cluster) if not _of_pools(c)] == [Launch]
    told = [
        c for c in commands(cluster, after=timedelta(seconds=11)) if isinstance(c, PatchNodeClaim)
    ]

    assert {c.type: c.status for c in told[0].conditions}["Launched"] == "Unknown", "it takes long"


def _of_pools(command: Command) -> bool:
    return command.key.startswith("NodePool/")


def test_only_types_that_hold_what_is_asked_are_offered() -> None:
    options = launch(cluster_of(young(requests={"cpu": 7000}))).options

    assert [o.instance_type for o in options[::2]] == ["c-8x", "c-16x", "c-32x"]


def test_only_zones_that_are_asked_for_are_offered() -> None:
    options = launch(cluster_of(young(build.require(labels.ZONE, "In", "zone-b")))).options

    assert {o.zone for o in options} == {"zone-b"}


def test_spot_is_taken_when_it_is_allowed() -> None:
    options = launch(cluster_of(young(), types=build.family(capacity_types=BOTH))).options

    assert {o.capacity_type for o in options} == {"spot"}


def test_on_demand_is_taken_when_spot_is_not_allowed() -> None:
    claim = young(build.require(labels.CAPACITY_TYPE, "In", "on-demand"))

    options = launch(cluster_of(claim, types=build.family(capacity_types=BOTH))).options

    assert {o.capacity_type for o in options} == {"on-demand"}


def test_spot_that_is_dearer_than_the_cheapest_on_demand_is_no_option() -> None:
    options = launch(cluster_of(young(), types=build.family(capacity_types=BOTH))).options

    assert max(o.price_usd_per_hour for o in options) < 0.048


def test_a_launch_offers_no_more_types_than_it_may() -> None:
    options = launch(cluster_of(young()), Settings(instance_types_per_launch_max=2)).options

    assert {o.instance_type for o in options} == {"c-1x", "c-2x"}


def test_while_a_launch_is_under_way_there_is_no_second_one() -> None:
    cluster = cluster_of(young())
    cluster.begin(launch(cluster), NOW)

    assert not any(isinstance(c, Launch) for c in commands(cluster, after=timedelta(minutes=1)))


def test_what_was_launched_is_written_down() -> None:
    cluster = cluster_of(young())
    cluster.apply(Launched("default-aaaaa", answers.launched()))

    (patch,) = [c for c in commands(cluster) if isinstance(c, PatchNodeClaim)]

    assert patch.provider_id == "kwok://default-aaaaa"
    assert patch.image_id == "ami-1"
    assert patch.labels == {labels.INSTANCE_TYPE: "c-4x", labels.ZONE: "zone-a"}
    assert patch.annotations == {"cloud": "yes"}
    assert patch.capacity is not None
    launched = find(patch.conditions, "Launched")
    assert launched is not None
    assert launched.status == "True"


def test_what_the_cloud_made_wins_over_labels_that_are_left_of_an_instance_before_it() -> None:
    """Labels were written, the rest was not, and the instance ended: the next is another (simulated seed 5951)."""
    claim = build.node_claim(launched=False, registered=False, initialized=False)
    left = {**claim.meta.labels, labels.ZONE: "zone-z", "example.com/team": "mine"}
    cluster = cluster_of(answers.relabelled(claim, left))
    cluster.apply(Launched("default-aaaaa", answers.launched()))

    (patch,) = [c for c in commands(cluster) if isinstance(c, PatchNodeClaim)]

    assert patch.labels == {labels.INSTANCE_TYPE: "c-4x", labels.ZONE: "zone-a"}


@pytest.mark.parametrize(
    ("error", "reason"),
    [
        (InsufficientCapacity("none left"), "insufficient_capacity"),
        (NodeClassNotReady("no subnet"), "nodeclass_not_ready"),
    ],
)
def test_a_claim_that_cannot_be_had_is_given_up_and_says_why(
    error: CloudError, reason: str
) -> None:
    cluster = cluster_of(young())
    cluster.apply(LaunchFailed("default-aaaaa", error))

    made = commands(cluster)

    assert [c.reason for c in made if isinstance(c, DeleteNodeClaim)] == [reason]
    assert any(str(error) in c.message for c in made if isinstance(c, Announce))


def test_another_error_is_shown_and_tried_again() -> None:
    cluster = cluster_of(young())
    cluster.apply(LaunchFailed("default-aaaaa", LaunchRefused("wrong parameter " + "x" * 400)))

    made = commands(cluster)

    assert any(isinstance(c, Launch) for c in made)
    (patch,) = [c for c in made if isinstance(c, PatchNodeClaim)]
    launched = find(patch.conditions, "Launched")
    assert launched is not None
    assert (launched.status, launched.reason, len(launched.message)) == (
        "Unknown",
        "LaunchFailed",
        303,
    )


def test_a_claim_is_given_up_when_everything_it_allows_is_sold_out() -> None:
    cluster = cluster_of(young(), types=[build.instance_type("only", zones=("zone-a",))])
    other = LaunchFailed(
        "other", InsufficientCapacity("none", sold_out=(("only", "zone-a", "on-demand"),))
    )
    cluster.apply(other)

    assert [c.reason for c in commands(cluster) if isinstance(c, DeleteNodeClaim)] == [
        "insufficient_capacity"
    ]


@pytest.mark.parametrize(
    "objects", [(build.node_pool(),), (build.node_class(ready=False),)], ids=["gone", "not ready"]
)
def test_a_claim_whose_node_class_cannot_launch_is_given_up(objects: tuple[Object, ...]) -> None:
    made = commands(cluster_of(young(), *objects))

    assert [c.reason for c in made if isinstance(c, DeleteNodeClaim)] == ["nodeclass_not_ready"]


WAITING = build.pod("waits")


def made_for(pod: Object) -> Cluster:
    """A NodeClaim was made for a pod, and its launch was refused for a while."""
    cluster = build.cluster(pod, build.node_class(), build.node_pool())
    cluster.begin(CreateNodeClaim(node_claim=young(), pods=(pod.meta.key,)), NOW)
    cluster.apply(Seen(young()))
    (asked,) = [c for c in commands(cluster) if isinstance(c, Launch)]
    cluster.begin(asked, NOW)
    return cluster


def refuse(cluster: Cluster) -> None:
    cluster.apply(
        Failed(Launch(node_claim=young(), options=()), LaunchRefused("bad template"), NOW)
    )


def given_up(cluster: Cluster) -> list[str]:
    return [c.reason for c in commands(cluster) if isinstance(c, DeleteNodeClaim)]


def test_a_claim_whose_pods_landed_elsewhere_before_its_launch_is_cancelled() -> None:
    cluster = made_for(WAITING)
    refuse(cluster)
    assert given_up(cluster) == []

    cluster.apply(Seen(build.pod("waits", node="other")))

    assert given_up(cluster) == ["unneeded"]


def test_a_claim_whose_pods_are_gone_is_cancelled() -> None:
    cluster = made_for(WAITING)
    refuse(cluster)

    cluster.apply(Gone(Pod, WAITING.meta.key))

    assert given_up(cluster) == ["unneeded"]


def test_a_claim_whose_instance_runs_already_is_not_given_up_but_finds_it() -> None:
    """It does not know it after a crash or a restored backup; neither missing pods nor missing capacity end it."""
    cluster = made_for(WAITING)
    refuse(cluster)
    cluster.apply(Gone(Pod, WAITING.meta.key))
    too_small = build.instance_type("tiny", cpu="0.5", memory="1Gi")
    cluster.apply(CatalogueRefreshed(build.catalogue(too_small, version=2)))
    cluster.apply(InstancesListed((answers.instance(),), NOW))

    made = commands(cluster, after=timedelta(minutes=1))

    assert [c.options for c in made if isinstance(c, Launch)] == [()]
    assert [c for c in made if isinstance(c, DeleteNodeClaim)] == []


def test_a_launch_that_is_under_way_is_not_cancelled() -> None:
    cluster = made_for(WAITING)

    cluster.apply(Gone(Pod, WAITING.meta.key))

    assert given_up(cluster) == []


def test_after_a_restart_nobody_knows_for_whom_a_claim_was_made_so_it_stays() -> None:
    assert given_up(cluster_of(young())) == []


def test_a_claim_that_cannot_be_launched_keeps_no_other_from_being_made() -> None:
    cluster = made_for(WAITING)
    refuse(cluster)
    for name in ("late-1", "late-2"):
        cluster.apply(Seen(build.pod(name, cpu="30")))
    cluster.snapshot(NOW)
    later = NOW + timedelta(seconds=5)

    made = tick.tick(cluster.snapshot(later), cluster.catalogue, Settings(), later)

    pods = [pod for c in made.commands if isinstance(c, CreateNodeClaim) for pod in c.pods]
    assert sorted(pods) == ["default/late-1", "default/late-2"]


def test_before_the_catalogue_is_known_a_claim_waits() -> None:
    cluster = build.cluster(young(), build.node_class(), catalogue_of=answers.empty_catalogue())

    made = commands(cluster)

    assert not any(isinstance(c, Launch | DeleteNodeClaim) for c in made)


def test_a_claim_that_is_asked_for_but_not_seen_is_not_launched() -> None:
    cluster = build.cluster(build.node_class())
    cluster.begin(answers.creation(young()), NOW)

    assert not any(isinstance(c, Launch) for c in commands(cluster))
