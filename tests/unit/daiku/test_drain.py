"""Who is asked to leave a node that is being emptied, and in which order."""

from dataclasses import replace
from datetime import datetime, timedelta

import pytest
from tests import build
from tests.build import NOW

from daiku.commands import Announce, DeletePod
from daiku.lifecycle import drain
from daiku.model import labels
from daiku.model.pod import Pod
from daiku.model.taints import Toleration

SECOND = timedelta(seconds=1)
NODE = "node-default-aaaaa"


def leaves(*pods: Pod, deadline: datetime | None = None, now: datetime = NOW) -> drain.Drain:
    return drain.plan(pods, deadline, now)


@pytest.mark.parametrize(
    "pod",
    [
        build.pod(node=NODE, phase="Succeeded"),
        build.pod(node=NODE, owner="Node"),
        build.pod(node=NODE, tolerations=[Toleration(operator="Exists")]),
        build.pod(node=NODE, deleted=NOW - timedelta(minutes=2)),
    ],
    ids=["finished", "static", "tolerates", "stuck"],
)
def test_a_pod_that_need_not_leave_is_left_alone(pod: Pod) -> None:
    assert leaves(pod) == drain.Drain()


TIERS = {
    "ordinary": build.pod("plain", node=NODE),
    "daemon": build.pod("agent", node=NODE, owner="DaemonSet"),
    "critical": build.pod("dns", node=NODE, priority_class="system-cluster-critical"),
    "critical daemon": build.pod(
        "proxy", node=NODE, owner="DaemonSet", priority_class="system-node-critical"
    ),
}
"""In the order in which they leave. Source: karpenter-core 3, eviction-queue."""


@pytest.mark.parametrize("first", range(len(TIERS)))
def test_pods_leave_tier_by_tier(first: int) -> None:
    left = list(TIERS.values())[first:]

    assert [c.key for c in leaves(*reversed(left)).commands] == [f"Pod/{left[0].meta.key}"]


@pytest.mark.parametrize("first", range(len(TIERS) - 1))
def test_a_tier_waits_while_one_before_it_is_still_going(first: int) -> None:
    before, *others = list(TIERS.values())[first:]
    going = replace(before, meta=replace(before.meta, deleted=NOW))

    assert leaves(going, *others).commands == ()


def test_past_its_time_a_pod_of_any_tier_goes_at_once() -> None:
    found = leaves(*TIERS.values(), deadline=NOW)

    assert [c.name for c in found.commands if isinstance(c, DeletePod)] == [
        pod.meta.name for pod in TIERS.values()
    ]


def test_a_pod_that_must_not_be_disrupted_is_waited_for() -> None:
    found = leaves(build.pod(node=NODE, annotations={labels.DO_NOT_DISRUPT: "true"}))

    assert found.commands == ()
    assert len(found.waiting) == 1


def test_a_pod_that_must_not_be_disrupted_for_a_while_is_asked_when_that_is_over() -> None:
    pod = build.pod(node=NODE, annotations={labels.DO_NOT_DISRUPT: "10m"})
    end = NOW + timedelta(minutes=10)

    assert leaves(pod, now=end - SECOND).commands == ()
    assert leaves(pod, now=end - SECOND).wake_at == end
    assert [c.key for c in leaves(pod, now=end).commands] == ["Pod/default/web-1"]


def test_a_deadline_overrules_everything_early_enough_for_the_pod_s_own_grace() -> None:
    pod = build.pod(
        node=NODE, annotations={labels.DO_NOT_DISRUPT: "true"}, termination_grace_seconds=30
    )
    deadline = NOW + timedelta(seconds=60)

    assert leaves(pod, deadline=deadline).wake_at == NOW + timedelta(seconds=30)
    command, told = leaves(pod, deadline=deadline, now=NOW + timedelta(seconds=30)).commands
    assert isinstance(command, DeletePod)
    assert command.grace_seconds == 30
    assert isinstance(told, Announce)
    assert told.reason == "Disrupted"


def test_past_the_deadline_a_pod_gets_one_second() -> None:
    command, _told = leaves(build.pod(node=NODE), deadline=NOW - SECOND).commands

    assert isinstance(command, DeletePod)
    assert command.grace_seconds == 1
