"""From an instance to a node that pods can rely on, and how long that may take."""

from dataclasses import replace
from datetime import timedelta

import pytest
from tests import answers, build
from tests.build import NOW

from daiku.commands import (
    Announce,
    Command,
    DeleteNodeClaim,
    PatchNode,
    PatchNodeClaim,
    TerminateInstance,
)
from daiku.events import InstancesListed, Object
from daiku.lifecycle import plan
from daiku.model import labels, taints
from daiku.model.condition import Condition, find
from daiku.model.taints import Taint
from daiku.settings import Settings
from daiku.state.cluster import Cluster

MINUTE = timedelta(minutes=1)
SOON = timedelta(seconds=10)
CNI = Taint("cni", "NoSchedule")
GPU = Taint("dedicated", "NoSchedule", "gpu")
LAUNCHED = build.node_claim(
    registered=False, initialized=False, taints=(GPU,), startup_taints=(CNI,)
)
REGISTERED = build.node_claim(initialized=False, startup_taints=(CNI,))

SHORT = build.node_claim(expire_after=60 * MINUTE)


def commands(cluster: Cluster, *, after: timedelta = timedelta(0)) -> list[Command]:
    return plan.plan(
        cluster.snapshot(NOW + after), cluster.catalogue, Settings(), NOW + after
    ).commands


def decide(*objects: Object, after: timedelta = timedelta(0)) -> list[Command]:
    return commands(build.cluster(*objects, build.node_pool(), build.node_class()), after=after)


def condition(made: list[Command], kind: str) -> Condition | None:
    (patch,) = [c for c in made if isinstance(c, PatchNodeClaim)]
    return find(patch.conditions, kind)


def node_patch(made: list[Command]) -> PatchNode:
    (patch,) = [c for c in made if isinstance(c, PatchNode)]
    return patch


def deletions(made: list[Command]) -> list[str]:
    return [c.reason for c in made if isinstance(c, DeleteNodeClaim)]


def test_without_a_node_a_claim_is_not_registered() -> None:
    found = condition(decide(LAUNCHED, after=SOON), "Registered")

    assert found is not None
    assert (found.status, found.reason) == ("Unknown", "NodeNotFound")


def test_what_a_young_claim_waits_for_is_not_written() -> None:
    made = decide(LAUNCHED, after=SOON - timedelta(seconds=1))

    said = [c.reason for p in made if isinstance(p, PatchNodeClaim) for c in p.conditions]
    assert not {"NodeNotFound", "NodeNotReady"} & {*said}


def test_two_nodes_of_one_instance_are_a_mistake_that_is_told() -> None:
    twins = [
        build.node(name, claim=LAUNCHED, registered=False, initialized=False) for name in ("a", "b")
    ]

    found = condition(decide(LAUNCHED, *twins), "Registered")

    assert found is not None
    assert (found.status, found.reason) == ("False", "MultipleNodesFound")


def test_a_node_that_joins_gets_what_its_claim_says_and_loses_the_taint_of_its_birth() -> None:
    claim = replace(LAUNCHED, meta=replace(LAUNCHED.meta, annotations={"note": "x"}))
    node = build.node(
        claim=claim, registered=False, initialized=False, taints=[taints.UNREGISTERED]
    )

    patch = node_patch(decide(claim, node))

    assert patch.add_finalizer
    assert patch.owner == claim
    assert patch.labels == {**claim.meta.labels, labels.REGISTERED: "true"}
    assert patch.annotations == {"note": "x"}
    assert patch.taints == (GPU, CNI)


def test_a_node_that_looks_after_its_own_taints_keeps_them() -> None:
    own = {labels.DO_NOT_SYNC_TAINTS: "true"}
    node = build.node(
        claim=LAUNCHED,
        registered=False,
        initialized=False,
        taints=[taints.UNREGISTERED],
        labels_of=own,
    )

    assert node_patch(decide(LAUNCHED, node)).taints == ()


def test_a_node_that_joins_without_the_taint_of_its_birth_is_reported() -> None:
    node = build.node(claim=LAUNCHED, registered=False, initialized=False)

    told = [c.reason for c in decide(LAUNCHED, node) if isinstance(c, Announce)]

    assert told == ["UnregisteredTaintMissing"]


def test_a_labelled_node_makes_its_claim_registered() -> None:
    node = build.node(claim=LAUNCHED, initialized=False, ready=False)
    made = decide(LAUNCHED, node, after=timedelta(seconds=5))

    found = condition(made, "Registered")
    assert found is not None
    assert found.status == "True"
    assert [c.node_name for c in made if isinstance(c, PatchNodeClaim)] == ["node-default-aaaaa"]


def test_a_registration_waits_a_moment_to_be_written_together_with_what_follows() -> None:
    node = build.node(claim=LAUNCHED, initialized=False, ready=False)
    made = decide(LAUNCHED, node, after=timedelta(seconds=4))

    assert not [c for c in made if isinstance(c, PatchNodeClaim)]


@pytest.mark.parametrize(
    ("fields", "reason"),
    [
        pytest.param({"ready": False}, "NodeNotReady", id="not ready"),
        pytest.param({"taints": [CNI]}, "StartupTaintsExist", id="startup taint"),
        pytest.param(
            {"taints": [Taint("node.kubernetes.io/not-ready", "NoSchedule")]},
            "KnownEphemeralTaintsExist",
            id="taint",
        ),
        pytest.param(
            {"allocatable": {"cpu": 0, "pods": 110}}, "ResourceNotRegistered", id="resource"
        ),
    ],
)
def test_a_node_is_not_initialized_while_something_is_missing(
    fields: dict[str, object], reason: str
) -> None:
    node = build.node(claim=REGISTERED, initialized=False, **fields)  # type: ignore[arg-type]

    found = condition(decide(REGISTERED, node, after=SOON), "Initialized")

    assert found is not None
    assert (found.status, found.reason) == ("Unknown", reason)


def test_a_complete_node_is_labelled_and_then_its_claim_is_ready() -> None:
    node = build.node(claim=REGISTERED, initialized=False)
    assert node_patch(decide(REGISTERED, node)).labels == {labels.INITIALIZED: "true"}

    made = decide(REGISTERED, build.node(claim=REGISTERED))

    ready = condition(made, "Ready")
    assert ready is not None
    assert ready.status == "True"


def test_a_condition_keeps_its_time_while_its_status_stays() -> None:
    made = decide(LAUNCHED, after=MINUTE)

    found = condition(made, "Registered")
    assert found is not None
    assert found.last_transition == NOW


def test_ready_says_what_it_waits_for() -> None:
    found = condition(decide(LAUNCHED), "Ready")

    assert found is not None
    assert (found.reason, found.message) == (
        "ReconcilingDependents",
        "Registered=Unknown, Initialized=Unknown",
    )


def test_a_settled_claim_follows_a_new_generation() -> None:
    claim = build.node_claim()
    claim = replace(claim, meta=replace(claim.meta, generation=2))

    found = condition(decide(claim, build.node(claim=claim)), "Launched")

    assert found is not None
    assert found.observed_generation == 2


def test_a_claim_without_its_finalizer_gets_it() -> None:
    claim = build.node_claim()
    claim = replace(claim, meta=replace(claim.meta, finalizers=()))

    assert [
        c.add_finalizer
        for c in decide(claim, build.node(claim=claim))
        if isinstance(c, PatchNodeClaim)
    ] == [True]


@pytest.mark.parametrize(
    ("objects", "after", "reasons"),
    [
        pytest.param([LAUNCHED], 14 * MINUTE, [], id="a node may take a quarter of an hour"),
        pytest.param([LAUNCHED], 15 * MINUTE, ["registration_timeout"], id="and no longer"),
        pytest.param(
            [SHORT, build.node(claim=SHORT)], 59 * MINUTE, [], id="a registered one may live"
        ),
        pytest.param(
            [SHORT, build.node(claim=SHORT)], 60 * MINUTE, ["expired"], id="until it expires"
        ),
    ],
)
def test_a_claim_may_take_so_long(
    objects: list[Object], after: timedelta, reasons: list[str]
) -> None:
    assert deletions(decide(*objects, after=after)) == reasons


def test_a_claim_that_gets_no_instance_is_given_up_after_five_minutes() -> None:
    claim = build.node_claim(launched=False, registered=False, initialized=False)

    assert deletions(decide(claim, after=5 * MINUTE)) == ["launch_timeout"]


def test_the_next_limit_is_waited_for() -> None:
    cluster = build.cluster(LAUNCHED, build.node_class())

    wakes = plan.plan(cluster.snapshot(NOW), cluster.catalogue, Settings(), NOW).wakes

    assert NOW + 15 * MINUTE in wakes


def test_a_claim_is_consolidatable_once_it_has_been_quiet() -> None:
    claim = build.node_claim()

    assert (
        condition(decide(claim, build.node(claim=claim), after=MINUTE), "Consolidatable")
        is not None
    )
    assert not any(isinstance(c, PatchNodeClaim) for c in decide(claim, build.node(claim=claim)))


def test_the_time_of_the_last_pod_is_written_down() -> None:
    claim = build.node_claim()
    pod = build.pod(node="node-default-aaaaa", scheduled=NOW + MINUTE)

    (patch,) = [
        c
        for c in decide(claim, build.node(claim=claim), pod, after=MINUTE)
        if isinstance(c, PatchNodeClaim)
    ]

    assert patch.last_pod_event == NOW + MINUTE


@pytest.mark.parametrize(
    ("listed", "ready", "reasons"),
    [
        pytest.param(
            [], False, ["garbage_collected"], id="not listed, and its node does not answer"
        ),
        pytest.param(
            [answers.instance(terminating=True)], False, ["garbage_collected"], id="listed as going"
        ),
        pytest.param([answers.instance()], False, [], id="listed"),
        pytest.param([], True, [], id="its node is alive, so the list is wrong"),
    ],
)
def test_a_claim_whose_instance_vanished_is_given_up(
    listed: list[object], ready: bool, reasons: list[str]
) -> None:
    claim = build.node_claim()
    cluster = build.cluster(claim, build.node(claim=claim, ready=ready), build.node_class())
    cluster.apply(InstancesListed(tuple(listed), NOW + 2 * MINUTE))  # type: ignore[arg-type]

    assert deletions(commands(cluster, after=2 * MINUTE)) == reasons


@pytest.mark.parametrize(("asked", "reasons"), [(MINUTE, []), (2 * MINUTE, ["garbage_collected"])])
def test_an_instance_that_vanished_before_it_joined_is_not_waited_for(
    asked: timedelta, reasons: list[str]
) -> None:
    cluster = build.cluster(LAUNCHED, build.node_class())
    cluster.apply(InstancesListed((), NOW + asked))

    assert deletions(commands(cluster, after=2 * MINUTE)) == reasons


@pytest.mark.parametrize(("after", "reasons"), [(MINUTE / 2, []), (MINUTE, ["node_deleted"])])
def test_a_registered_claim_whose_node_was_removed_by_force_is_given_up(
    after: timedelta, reasons: list[str]
) -> None:
    assert deletions(decide(build.node_claim(), after=after)) == reasons


@pytest.mark.parametrize(
    ("objects", "instance", "ended"),
    [
        pytest.param([], answers.instance(), True, id="nobody wants it"),
        pytest.param([build.node_claim()], answers.instance(), False, id="its claim is there"),
        pytest.param(
            [build.node_claim(launched=False)],
            answers.instance(),
            False,
            id="its claim will adopt it",
        ),
        pytest.param(
            [build.node_claim()], replace(answers.instance(), provider_id="twin"), True, id="a twin"
        ),
        pytest.param(
            [], answers.instance(launched=NOW + MINUTE), False, id="it is too young to tell"
        ),
        pytest.param([], answers.instance(terminating=True), False, id="it is going already"),
    ],
)
def test_an_orphan_is_ended(objects: list[Object], instance: object, ended: bool) -> None:
    cluster = build.cluster(*objects)
    cluster.apply(InstancesListed((instance,), NOW + MINUTE))  # type: ignore[arg-type]

    assert any(isinstance(c, TerminateInstance) for c in commands(cluster, after=MINUTE)) is ended
