"""The end of a node: in order, with everyone's consent, and never stuck on what is gone already."""

from dataclasses import replace
from datetime import datetime, timedelta

import pytest
from tests import answers, build
from tests.build import NOW

from daiku.cloud.errors import (
    CloudError,
    InstanceNotFound,
    InsufficientCapacity,
    LaunchRefused,
    NodeClassNotReady,
    Throttled,
    Unreachable,
)
from daiku.commands import (
    Command,
    DeleteNode,
    DeleteNodeClaim,
    Evict,
    Launch,
    PatchNode,
    PatchNodeClaim,
    TerminateInstance,
)
from daiku.events import Failed, InstancesListed, Launched, LaunchFailed, Object
from daiku.lifecycle import plan
from daiku.model import labels, taints
from daiku.model.condition import Condition, find
from daiku.settings import Settings
from daiku.state.cluster import Cluster

SECOND = timedelta(seconds=1)
NODE = "node-default-aaaaa"
GOING = build.node_claim(deleted=NOW)
MARK = {labels.EXCLUDE_FROM_LOAD_BALANCERS: "karpenter"}
MARKED = build.node(claim=GOING, deleted=NOW, taints=[taints.DISRUPTED], labels_of=MARK)


def commands(cluster: Cluster, after: timedelta = timedelta(0)) -> list[Command]:
    made = plan.plan(cluster.snapshot(NOW + after), cluster.catalogue, Settings(), NOW + after)
    return [c for c in made.commands if type(c).__name__ != "PatchNodePool"]


def decide(*objects: Object, after: timedelta = timedelta(0)) -> list[Command]:
    return commands(build.cluster(*objects, build.node_pool(), build.node_class()), after)


def kinds(made: list[Command]) -> list[str]:
    return [type(c).__name__ for c in made]


def drained(at: datetime = NOW, status: str = "True") -> Condition:
    return Condition(
        type="Drained", status=status, reason="Drained", last_transition=at, observed_generation=1
    )  # type: ignore[arg-type]


def with_condition(*more: Condition) -> Object:
    return replace(GOING, conditions=(*GOING.conditions, *more))


def test_a_deleted_claim_takes_its_node_along() -> None:
    assert "DeleteNode" in kinds(decide(GOING, build.node(claim=GOING)))


def test_a_deleted_node_takes_its_claim_along() -> None:
    claim = build.node_claim()

    made = decide(claim, build.node(claim=claim, deleted=NOW))

    assert [c.reason for c in made if isinstance(c, DeleteNodeClaim)] == ["node_deleted"]


def test_a_going_node_is_closed_to_pods_and_load_balancers_first() -> None:
    made = decide(GOING, build.node(claim=GOING, deleted=NOW), build.pod(node=NODE))

    (patch,) = [c for c in made if isinstance(c, PatchNode)]
    assert patch.taints == (taints.DISRUPTED,)
    assert patch.labels == MARK
    assert not any(isinstance(c, Evict) for c in made)


def test_then_its_pods_are_asked_to_leave() -> None:
    made = decide(GOING, MARKED, build.pod(node=NODE))

    assert [c.name for c in made if isinstance(c, Evict)] == ["web-1"]
    assert not any(isinstance(c, TerminateInstance) for c in made)


def test_who_is_waited_for_is_said() -> None:
    (patch,) = [
        c for c in decide(GOING, MARKED, build.pod(node=NODE)) if isinstance(c, PatchNodeClaim)
    ]

    found = find(patch.conditions, "Drained")
    assert found is not None
    assert found.message == "waits for pods to leave (default/web-1)"


def test_an_empty_node_waits_a_moment_for_late_arrivals() -> None:
    claim = with_condition(drained(status="Unknown"))

    assert not any(
        isinstance(c, TerminateInstance) for c in decide(claim, MARKED, after=4 * SECOND)
    )
    assert any(isinstance(c, TerminateInstance) for c in decide(claim, MARKED, after=5 * SECOND))


def test_the_node_is_held_until_its_instance_is_gone() -> None:
    cluster = build.cluster(with_condition(drained()), MARKED, build.node_pool())
    (end,) = [c for c in commands(cluster) if isinstance(c, TerminateInstance)]
    assert not any(isinstance(c, PatchNode) for c in commands(cluster))

    cluster.apply(Failed(end, InstanceNotFound("gone"), NOW))

    assert [c.remove_finalizer for c in commands(cluster) if isinstance(c, PatchNode)] == [True]


def test_the_cloud_s_list_is_as_good_as_its_answer() -> None:
    ending = Condition(
        type="InstanceTerminating", status="True", last_transition=NOW, observed_generation=1
    )
    cluster = build.cluster(with_condition(drained(), ending), MARKED)

    cluster.apply(InstancesListed((), NOW))
    assert any(isinstance(c, TerminateInstance) for c in commands(cluster, SECOND))

    cluster.apply(InstancesListed((), NOW + 31 * SECOND))
    made = commands(cluster, 31 * SECOND)
    assert any(isinstance(c, PatchNode) and c.remove_finalizer for c in made)


def test_a_list_says_nothing_about_an_instance_that_was_launched_a_moment_ago() -> None:
    ending = Condition(
        type="InstanceTerminating", status="True", last_transition=NOW, observed_generation=1
    )
    cluster = build.cluster(with_condition(drained(), ending), MARKED)
    cluster.apply(InstancesListed((), NOW + 5 * SECOND))

    made = commands(cluster, 5 * SECOND)

    assert not any(isinstance(c, PatchNode) and c.remove_finalizer for c in made)


def test_an_instance_that_is_still_listed_is_not_gone() -> None:
    ending = Condition(
        type="InstanceTerminating", status="True", last_transition=NOW, observed_generation=1
    )
    cluster = build.cluster(with_condition(drained(), ending), MARKED)
    cluster.apply(InstancesListed((answers.instance(terminating=True),), NOW + SECOND))

    assert not any(isinstance(c, PatchNode) for c in commands(cluster, SECOND))


def test_a_dead_node_whose_instance_is_gone_is_let_go_without_a_drain() -> None:
    node = replace(MARKED, conditions=(replace(MARKED.conditions[0], status="False"),))
    cluster = build.cluster(GOING, node, build.pod(node=NODE))
    cluster.apply(InstancesListed((), NOW + 31 * SECOND))

    made = commands(cluster, 31 * SECOND)

    assert [c.remove_finalizer for c in made if isinstance(c, PatchNode)] == [True]


def test_without_a_node_the_claim_goes_straight_to_its_instance() -> None:
    assert "TerminateInstance" in kinds(decide(GOING))


def test_a_node_that_was_never_registered_is_held_until_its_machine_is_gone() -> None:
    """It may have been registered and got pods a moment ago: holding it is refused if it is not as it was seen."""
    claim = build.node_claim(registered=False, initialized=False, deleted=NOW)
    node = build.node(claim=claim, registered=False, initialized=False)

    made = decide(claim, node)

    (hold,) = [c for c in made if isinstance(c, PatchNode)]
    assert hold.add_finalizer
    assert hold.resource_version == node.meta.resource_version
    assert "TerminateInstance" not in kinds(made)
    assert "DeleteNode" not in kinds(made)


def removes_finalizer(made: list[Command]) -> bool:
    return any(isinstance(c, PatchNodeClaim) and c.remove_finalizer for c in made)


def test_a_claim_that_the_cloud_had_nothing_for_goes_at_once() -> None:
    claim = build.node_claim(launched=False, registered=False, initialized=False, deleted=NOW)
    cluster = build.cluster(claim)
    cluster.apply(LaunchFailed(claim.meta.name, InsufficientCapacity("sold out")))

    assert removes_finalizer(commands(cluster))


@pytest.mark.parametrize(
    ("asked", "goes"),
    [
        pytest.param(None, False, id="the cloud has not been asked yet"),
        pytest.param(20 * SECOND, False, id="a launch may not be visible yet"),
        pytest.param(30 * SECOND, True, id="a list that would show it does not"),
    ],
)
def test_a_claim_goes_only_when_it_is_sure_that_nobody_launched_anything_for_it(
    asked: timedelta | None, *, goes: bool
) -> None:
    """A process that has died since may have, and what it launched takes a while to be listed."""
    claim = build.node_claim(launched=False, registered=False, initialized=False, deleted=NOW)
    cluster = build.cluster(claim)
    if asked is not None:
        cluster.apply(InstancesListed((), NOW + asked))

    assert removes_finalizer(commands(cluster, 40 * SECOND)) is goes


@pytest.mark.parametrize(
    "failure",
    [
        Unreachable("no answer"),
        Throttled("RequestLimitExceeded"),
        LaunchRefused("InvalidParameterValue"),
        NodeClassNotReady("its subnets are gone"),
    ],
    ids=lambda failure: type(failure).__name__,
)
def test_a_launch_that_came_to_nothing_says_nothing_about_one_before(failure: CloudError) -> None:
    """A process that has died since may have launched it, and this one was refused before the cloud looked."""
    claim = build.node_claim(launched=False, registered=False, initialized=False, deleted=NOW)
    cluster = build.cluster(claim)
    cluster.apply(LaunchFailed(claim.meta.name, failure))

    assert not removes_finalizer(commands(cluster))


def test_a_claim_whose_launch_is_under_way_waits_for_the_answer_and_ends_what_came() -> None:
    claim = build.node_claim(launched=False, registered=False, initialized=False, deleted=NOW)
    cluster = build.cluster(claim)
    cluster.begin(Launch(node_claim=claim, options=()), NOW)
    assert not any(isinstance(c, PatchNodeClaim) and c.remove_finalizer for c in commands(cluster))

    cluster.apply(Launched("default-aaaaa", answers.launched()))

    made = commands(cluster)
    assert [c.provider_id for c in made if isinstance(c, TerminateInstance)] == [
        "kwok://default-aaaaa"
    ]
    assert not any(isinstance(c, PatchNodeClaim) and c.remove_finalizer for c in made)


def test_after_a_restart_an_instance_of_a_claim_that_never_knew_it_is_found_by_its_name() -> None:
    claim = build.node_claim(launched=False, registered=False, initialized=False, deleted=NOW)
    cluster = build.cluster(claim)
    cluster.apply(InstancesListed((answers.instance(),), NOW))

    assert [c.provider_id for c in commands(cluster) if isinstance(c, TerminateInstance)] == [
        "kwok://default-aaaaa"
    ]


def test_an_old_list_does_not_let_go_of_a_claim_whose_launch_is_under_way() -> None:
    claim = build.node_claim(launched=False, registered=False, initialized=False, deleted=NOW)
    cluster = build.cluster(claim)
    cluster.apply(InstancesListed((answers.instance(),), NOW))
    cluster.begin(Launch(node_claim=claim, options=()), NOW)
    (end,) = [c for c in commands(cluster) if isinstance(c, TerminateInstance)]
    cluster.apply(Failed(end, InstanceNotFound("it ended long ago"), NOW))

    assert not removes_finalizer(commands(cluster, SECOND))

    second = replace(answers.launched(), provider_id="kwok://second")
    cluster.apply(Launched("default-aaaaa", second))
    ended = [c for c in commands(cluster, SECOND) if isinstance(c, TerminateInstance)]
    assert [c.provider_id for c in ended] == ["kwok://second"]


def restored(*more: Object, grace: timedelta | None = None) -> Cluster:
    """A backup was restored that knows the claim as it was before its launch, and the claim is deleted."""
    claim = build.node_claim(launched=False, registered=False, initialized=False, deleted=NOW)
    claim = replace(claim, termination_grace_period=grace)
    cluster = build.cluster(claim, build.pod(node=NODE), build.node_pool(), *more)
    cluster.apply(InstancesListed((answers.instance(),), NOW))
    return cluster


def test_a_claim_that_a_restored_backup_knows_without_its_instance_takes_its_node_along() -> None:
    made = commands(restored(build.node(claim=build.node_claim())))

    assert [c.name for c in made if isinstance(c, DeleteNode)] == [NODE]
    assert "TerminateInstance" not in kinds(made)


def test_the_pods_of_its_node_leave_before_its_instance_ends() -> None:
    made = commands(restored(MARKED))

    assert [c.name for c in made if isinstance(c, Evict)] == ["web-1"]
    assert "TerminateInstance" not in kinds(made)


def test_its_deadline_is_that_of_its_node() -> None:
    cluster = restored(MARKED, grace=timedelta(seconds=40))

    assert "DeletePod" not in kinds(commands(cluster, 9 * SECOND))
    assert "DeletePod" in kinds(commands(cluster, 11 * SECOND))


def test_a_claim_without_our_finalizer_is_left_alone() -> None:
    claim = replace(GOING, meta=replace(GOING.meta, finalizers=("someone.else/hold",)))

    assert not any(
        isinstance(c, TerminateInstance | DeleteNode)
        for c in decide(claim, build.node(claim=claim))
    )


def test_a_node_that_is_nobody_s_is_left_alone() -> None:
    assert decide(build.node("other", deleted=NOW)) == []


def test_a_node_without_a_claim_is_emptied_and_let_go() -> None:
    assert "Evict" in kinds(decide(MARKED, build.pod(node=NODE)))
    assert [c.remove_finalizer for c in decide(MARKED) if isinstance(c, PatchNode)] == [True]


def test_the_deadline_is_written_on_the_claim() -> None:
    claim = replace(GOING, termination_grace_period=timedelta(minutes=5))

    (patch,) = [c for c in decide(claim) if isinstance(c, PatchNodeClaim)]

    assert patch.annotations == {labels.TERMINATION_TIMESTAMP: "2026-03-02T12:05:00Z"}
