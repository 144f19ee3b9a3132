"""DaemonSets that no node of a NodePool can hold: no NodeClaim is made that could not be launched, and pods know why.

Source: Karpenter's provisioning, "should not schedule if daemonset overhead is too large".
"""

from datetime import timedelta
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests import build
from tests.build import NOW

from daiku.commands import Announce, CreateNodeClaim
from daiku.events import Object
from daiku.lifecycle import launch
from daiku.model import labels
from daiku.model.instance_type import Catalogue
from daiku.model.topology import AffinityTerm, Spread
from daiku.report import Blocker
from daiku.settings import Settings
from daiku.tick import Plan, tick

GPU: dict[str, Any] = {"extra": {"nvidia.com/gpu": "1"}}
HUGE: dict[str, Any] = {"extra": {"hugepages-2Mi": "64Mi"}}
NONE = "no instance type that would do has any"
PLAIN = build.family(sizes=(2, 4))
WITH_GPU = build.instance_type("g-8x", cpu="8", memory="16Gi", **GPU)


def decide(*objects: Object, types: Catalogue) -> Plan:
    pools = [] if any(type(o).__name__ == "NodePool" for o in objects) else [build.node_pool()]
    cluster = build.cluster(*objects, *pools, build.node_class(), catalogue_of=types)
    cluster.snapshot(NOW)
    closed = NOW + timedelta(seconds=2)
    plan = tick(cluster.snapshot(closed), types, Settings(), closed)
    for command in made(plan):
        # Whatever is made can be launched.
        assert launch.options(command.node_claim, cluster.snapshot(closed), types, Settings())
    return plan


def made(plan: Plan) -> list[CreateNodeClaim]:
    return [c for c in plan.commands if isinstance(c, CreateNodeClaim)]


def blockers(plan: Plan) -> list[Blocker]:
    return [blocker for each in plan.report.unschedulable for blocker in each.blockers]


@pytest.mark.parametrize(
    ("agents", "says"),
    [
        (
            [build.daemon_set("gpu", **GPU)],
            f"DaemonSet kube-system/gpu asks for nvidia.com/gpu 1 on each node; {NONE}",
        ),
        (
            [build.daemon_set("huge", **HUGE), build.daemon_set("small", cpu="100m")],
            f"DaemonSet kube-system/huge asks for hugepages-2Mi 64Mi on each node; {NONE}",
        ),
        (
            [build.daemon_set(name, cpu="1500m") for name in "abcde"],
            (
                "DaemonSets kube-system/a, kube-system/b, kube-system/c and 2 more together ask for cpu 7500m on each "
                "node; c-4x, which comes closest, has 4"
            ),
        ),
        (
            [build.daemon_set("gpu", **GPU), build.daemon_set("huge", **HUGE)],
            (
                f"DaemonSet kube-system/huge asks for hugepages-2Mi 64Mi on each node; {NONE}; "
                f"DaemonSet kube-system/gpu asks for nvidia.com/gpu 1 on each node; {NONE}"
            ),
        ),
    ],
    ids=["gpu", "hugepages", "together", "two resources"],
)
def test_pods_are_told_which_daemon_set_asks_for_what(agents: list[Object], says: str) -> None:
    plan = decide(build.pod(), *agents, types=build.catalogue(*PLAIN))

    assert not made(plan)
    (blocker,) = blockers(plan)
    assert str(blocker) == f"NodePool default: DaemonSetDoesNotFit: {says}"
    (told,) = [c for c in plan.commands if isinstance(c, Announce)]
    assert told.message == str(blocker)
    assert plan.report.notes == ()


TOGETHER: dict[str, dict[str, Any]] = {
    "plain": {},
    "spread": {
        "spread": (
            Spread(
                key=labels.ZONE,
                max_skew=1,
                hard=True,
                selector=build.needs(build.require("app", "In", "web")),
            ),
        )
    },
    "apart": {
        "pod_anti_affinity": (
            AffinityTerm(
                key=labels.HOSTNAME,
                selector=build.needs(build.require("app", "In", "web")),
                namespaces=frozenset({"default"}),
            ),
        )
    },
}


@pytest.mark.parametrize("kind", TOGETHER)
def test_pods_go_only_to_types_that_hold_the_daemon_sets(kind: str) -> None:
    pods = build.pods(4, labels={"app": "web"}, **TOGETHER[kind])

    plan = decide(*pods, build.daemon_set(**GPU), types=build.catalogue(*PLAIN, WITH_GPU))

    assert set(plan.report.placements) == {pod.meta.key for pod in pods}
    for command in made(plan):
        allowed = command.node_claim.requirements.get(labels.INSTANCE_TYPE)
        assert allowed.sorted_values() == ("g-8x",)


@pytest.mark.parametrize("kind", TOGETHER)
def test_no_kind_of_pod_is_lost_when_no_type_holds_the_daemon_sets(kind: str) -> None:
    pods = build.pods(4, labels={"app": "web"}, **TOGETHER[kind])

    plan = decide(*pods, build.daemon_set(**GPU), types=build.catalogue(*PLAIN))

    assert not made(plan)
    waiting = {pod for each in plan.report.unschedulable for pod in each.pods}
    assert waiting == {pod.meta.key for pod in pods}
    assert "DaemonSetDoesNotFit" in {blocker.reason for blocker in blockers(plan)}


def test_a_node_pool_to_which_the_daemon_set_does_not_go_takes_the_pods() -> None:
    elsewhere = {labels.NODEPOOL: "gpu"}
    plan = decide(
        build.pod(),
        build.daemon_set(node_selector=elsewhere, **GPU),
        build.node_pool("gpu", weight=10),
        build.node_pool("plain"),
        types=build.catalogue(*PLAIN),
    )

    (command,) = made(plan)
    assert command.node_claim.nodepool == "plain"


def test_a_pod_that_asks_for_more_than_there_is_is_told_of_that_and_of_no_negative_amount() -> None:
    plan = decide(
        build.pod(**GPU), build.daemon_set(**GPU), types=build.catalogue(*PLAIN, WITH_GPU)
    )
    (blocker,) = blockers(plan)
    assert str(blocker) == (
        "NodePool default: InsufficientResources: asks for nvidia.com/gpu 1; the most on one node is 0 beside 1 of "
        "DaemonSets (g-8x)"
    )

    plan = decide(build.pod(**GPU), build.daemon_set(**GPU), types=build.catalogue(*PLAIN))
    (blocker,) = blockers(plan)
    assert str(blocker) == (
        "NodePool default: InsufficientResources: asks for nvidia.com/gpu 1; no instance type has any"
    )


def test_room_is_kept_for_a_daemon_set_that_asks_for_devices_too() -> None:
    agents = [
        build.daemon_set("devices", cpu="100m", resource_claims=("device",)),
        build.daemon_set("logs", cpu="100m"),
    ]

    plan = decide(*build.pods(2, cpu="1900m"), *agents, types=build.catalogue(*PLAIN))

    # What the audit counts, the plan has counted.
    assert plan.report.notes == ()
    assert len(plan.report.placements) == 2
    assert [c.node_claim.requests["cpu"] for c in made(plan)] == [4000]


AMOUNTS = st.fixed_dictionaries(
    {"cpu": st.sampled_from(["0", "100m", "1", "2500m"])},
    optional={
        "memory": st.sampled_from(["1Gi", "5Gi", "40Gi"]),
        "extra": st.sampled_from([GPU["extra"], HUGE["extra"]]),
        "node_selector": st.sampled_from([
            {labels.ARCH: "arm64"}, {labels.ZONE: "zone-a"}, {labels.INSTANCE_TYPE: "g-8x"},
        ]),
        "resource_claims": st.just(("device",)),
    },
)  # fmt: skip


@settings(deadline=None, max_examples=60, derandomize=True)
@given(
    st.lists(AMOUNTS, max_size=4),
    st.lists(st.tuples(AMOUNTS, st.sampled_from(sorted(TOGETHER))), min_size=1, max_size=3),
    st.booleans(),
)
def test_every_claim_can_be_launched_and_every_pod_has_a_place_or_a_reason(
    agents: list[dict[str, Any]], wanted: list[tuple[dict[str, Any], str]], with_gpu: bool
) -> None:
    types = [
        *PLAIN,
        *build.family("a", sizes=(8,), arch="arm64"),
        *([WITH_GPU] if with_gpu else []),
    ]
    pods = [
        pod
        for number, (asks, kind) in enumerate(wanted)
        for pod in build.pods(
            3, f"app-{number}", labels={"app": "web"}, **{**TOGETHER[kind], **asks}
        )
    ]

    plan = decide(
        *pods,
        *(build.daemon_set(f"agent-{n}", **each) for n, each in enumerate(agents)),
        types=build.catalogue(*types),
    )

    assert plan.report.notes == ()
    waiting = {p for each in plan.report.unschedulable if each.blockers for p in each.pods}
    assert waiting | set(plan.report.placements) == {pod.meta.key for pod in pods}
