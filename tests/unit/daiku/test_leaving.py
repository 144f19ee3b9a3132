"""Pods of nodes that are being deleted get their places before they are evicted, and no node is made for them twice."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest
from tests import build
from tests.build import NOW

from daiku import events
from daiku.commands import CreateNodeClaim, Evict
from daiku.events import Object
from daiku.model import labels
from daiku.model.pod import Pod
from daiku.model.taints import AWAITING_PODS
from daiku.model.topology import Spread
from daiku.scheduling import audit
from daiku.settings import Settings
from daiku.state.cluster import Cluster
from daiku.tick import Plan, tick

SECOND = timedelta(seconds=1)
LATER = NOW + 5 * SECOND
APP = {"app": "web"}


def going(*pods: Pod, **fields: Any) -> list[Object]:
    """A node of 4 cpu that is being deleted since now, with `pods` on it."""
    claim = build.node_claim("going", deleted=NOW, **fields)
    node = build.node(claim=claim)
    return [claim, node, *(replace(pod, node_name=node.meta.name) for pod in pods)]


def staying(name: str, **fields: Any) -> list[Object]:
    claim = build.node_claim(name, **fields)
    return [claim, build.node(claim=claim)]


def running(name: str = "web-0", cpu: str = "3", **fields: Any) -> Pod:
    return build.pod(name, cpu=cpu, node="node-going", **{"labels": APP, **fields})


def world(*objects: Object) -> Cluster:
    return build.cluster(*objects, build.node_class(), build.node_pool())


def decide(cluster: Cluster, seconds: int = 5) -> Plan:
    """One tick, whose commands are begun, so many seconds from now."""
    now = NOW + seconds * SECOND
    snapshot = cluster.snapshot(now)
    plan = tick(snapshot, cluster.catalogue, Settings(), now)
    for command in plan.commands:
        cluster.begin(command, now)
    cluster.planned(plan.report, now)
    creations = [c for c in plan.commands if isinstance(c, CreateNodeClaim)]
    assert audit.audit(creations, plan.report.placements, snapshot, cluster.catalogue) == ()
    return plan


def made_for(plan: Plan) -> list[tuple[str, ...]]:
    return [c.pods for c in plan.commands if isinstance(c, CreateNodeClaim)]


def test_a_node_is_made_while_the_pods_still_run() -> None:
    plan = decide(world(*going(running())))

    assert made_for(plan) == [("default/web-0",)]


def test_it_is_made_once() -> None:
    cluster = world(*going(running()))

    plans = [decide(cluster, seconds) for seconds in range(5, 50)]

    assert sum(len(made_for(plan)) for plan in plans) == 1


def test_the_successor_of_an_evicted_pod_takes_the_room_that_was_made_for_it() -> None:
    pods = [running(f"web-{n}", cpu="1") for n in range(3)]
    cluster = world(*going(*pods))
    for command in decide(cluster).commands:
        if isinstance(command, CreateNodeClaim):
            cluster.apply(events.Seen(command.node_claim))

    again: list[tuple[str, ...]] = []
    for number, pod in enumerate(pods):
        cluster.apply(events.Gone(Pod, pod.meta.key))
        cluster.apply(events.Seen(build.pod(f"new-{number}", cpu="1", labels=APP)))
        for seconds in range(3):
            again += made_for(decide(cluster, 10 + 5 * number + seconds))

    assert again == []


def test_room_that_is_there_is_enough() -> None:
    plan = decide(world(*going(running()), *staying("other")))

    assert made_for(plan) == []
    assert plan.report.placements == {"default/web-0": "node-other"}


@pytest.mark.parametrize("is_up", [True, False], ids=["it is ready", "it is on its way"])
def test_no_second_node_is_made_beside_one_that_a_disruption_made(is_up: bool) -> None:
    coming = build.node_claim(
        "coming", launched=is_up, registered=is_up, initialized=is_up, requests={"cpu": 3000}
    )
    there = [coming, *([build.node(claim=coming)] if is_up else [])]

    plan = decide(world(*going(running()), *there))

    assert made_for(plan) == []
    assert plan.report.placements["default/web-0"] == ("node-coming" if is_up else "coming")


@pytest.mark.parametrize(
    ("pod", "budgets"),
    [
        pytest.param(running(owner="DaemonSet"), [], id="comes with its node"),
        pytest.param(running(owner="Node"), [], id="ends with its node"),
        pytest.param(running(owner=""), [], id="nobody makes it anew"),
        pytest.param(running(owner="Job", phase="Succeeded"), [], id="has ended"),
        pytest.param(running(deleted=NOW), [], id="is ending, and its successor waits already"),
        pytest.param(
            running(annotations={"karpenter.sh/do-not-disrupt": "true"}), [], id="does not go"
        ),
        pytest.param(
            running(),
            [replace(build.pdb(match=APP), is_closed=True)],
            id="its budget lets nothing go",
        ),
        pytest.param(
            running(), [build.pdb("a", match=APP), build.pdb("b", match=APP)], id="two budgets"
        ),
    ],
)
def test_pods_that_do_not_come_back_or_do_not_go_get_no_node(
    pod: Pod, budgets: Sequence[Object]
) -> None:
    assert made_for(decide(world(*going(pod), *budgets))) == []


@pytest.mark.parametrize(
    ("pod", "budgets"),
    [
        pytest.param(running(owner="Job"), [], id="a Job that is not done"),
        pytest.param(
            running(owner="StatefulSet", deleted=NOW), [], id="a successor that waits for its end"
        ),
        pytest.param(
            running(annotations={"karpenter.sh/do-not-disrupt": "3s"}),
            [],
            id="is free to go by now",
        ),
        pytest.param(
            running(), [build.pdb(allowed=0, match=APP)], id="its budget lets it go later"
        ),
        pytest.param(
            running(ready=False),
            [replace(build.pdb(match=APP), is_closed=True, lets_unready_go=True)],
            id="it is not ready, and its budget lets such pods go",
        ),
    ],
)
def test_pods_that_will_wait_get_a_node(pod: Pod, budgets: Sequence[Object]) -> None:
    assert made_for(decide(world(*going(pod), *budgets))) == [("default/web-0",)]


def test_pods_that_wait_and_pods_that_leave_share_a_node() -> None:
    cluster = world(*going(running(cpu="1500m")), build.pod("fresh", cpu="1500m"))
    cluster.snapshot(NOW)

    plan = decide(cluster)

    assert made_for(plan) == [("default/fresh", "default/web-0")]


def test_pods_that_run_are_not_told_that_there_is_no_place_for_them_and_are_tried_again() -> None:
    cluster = world(*going(running(cpu="99")))

    first = decide(cluster)

    assert first.report.unschedulable == ()
    assert first.wake_at == LATER + 10 * SECOND
    assert [decide(cluster, s).report.planned_pods for s in (6, 14, 15, 16)] == [
        False,
        False,
        True,
        False,
    ]


@pytest.mark.parametrize(("seconds", "nodes"), [(299, 1), (300, 0)])
def test_room_is_not_kept_for_a_pod_whose_node_has_been_going_for_five_minutes(
    seconds: int, nodes: int
) -> None:
    waits = world(*going(running()), build.pdb(allowed=0, match=APP))

    assert len(made_for(decide(waits, seconds))) == nodes


def test_a_node_of_others_counts_too_when_it_is_deleted() -> None:
    node = build.node("theirs", deleted=NOW)
    pod = build.pod("web-0", cpu="1", node="theirs")

    assert made_for(decide(world(node, pod))) == [("default/web-0",)]


def test_a_node_whose_deletion_was_only_asked_for_is_waited_for() -> None:
    claim = build.node_claim("going")
    cluster = world(claim, build.node(claim=claim), running())
    snapshot = cluster.snapshot(NOW)

    assert made_for(decide(cluster)) == []
    assert not snapshot.by_name["going"].is_deleting


def test_spread_counts_a_pod_that_leaves_where_it_will_be() -> None:
    over_zones = Spread(
        key=labels.ZONE,
        max_skew=1,
        hard=True,
        selector=build.needs(build.require("app", "In", "web")),
    )
    pods = [running(f"web-{n}", cpu="1", spread=(over_zones,)) for n in range(3)]
    cluster = world(*going(*pods), *staying("a"), *staying("b", zone="zone-b"))
    before = decide(cluster).report.placements
    for number in range(3):
        more = build.pod(f"more-{number}", cpu="500m", labels=APP, spread=(over_zones,))
        cluster.apply(events.Seen(more))

    decide(cluster, 8)
    after = decide(cluster, 10).report.placements

    assert before.items() <= after.items()
    # The three that leave are 1 and 2; so the three that come are 2 and 1.
    assert sorted(after.values()) == ["node-a"] * 3 + ["node-b"] * 3


def closed() -> list[Object]:
    """A small node that is kept closed for pods that move."""
    claim = build.node_claim("closed", cpu="1")
    return [claim, build.node(claim=claim, taints=[AWAITING_PODS])]


def test_nothing_is_bought_for_pods_that_move_while_nodes_are_closed_for_others() -> None:
    """At most for half a minute; not all who have a place there will come for it."""
    moving = {labels.DISRUPTION_COMMAND: "{}"}
    cluster = world(*going(running(), annotations=moving), *closed())

    early = decide(cluster)
    assert made_for(early) == []
    assert early.wake_at is not None
    assert early.wake_at <= NOW + 30 * SECOND
    assert made_for(decide(cluster, 29)) == []
    assert made_for(decide(cluster, 31)) == [("default/web-0",)]


def test_for_pods_whose_node_nobody_chose_to_disrupt_a_node_is_made_at_once() -> None:
    assert made_for(decide(world(*going(running()), *closed()))) == [("default/web-0",)]


def test_nor_for_their_successors_until_the_node_opens() -> None:
    old = running()
    cluster = world(*going(old), *closed())
    cluster.begin(Evict(namespace="default", name="web-0", uid=old.meta.uid, reason=""), LATER)
    cluster.apply(events.Gone(Pod, old.meta.key))
    fresh = build.pod("again", cpu="3", labels=APP)
    cluster.apply(events.Seen(replace(fresh, meta=replace(fresh.meta, created=LATER))))
    assert [made_for(decide(cluster, seconds)) for seconds in (6, 10, 20)] == [[], [], []]

    _, node = closed()
    cluster.apply(events.Seen(replace(node, taints=())))  # pyright: ignore[reportCallIssue, reportArgumentType]
    assert made_for(decide(cluster, 21)) == [("default/again",)]


def test_pods_of_others_are_bought_for_meanwhile() -> None:
    moving = {labels.DISRUPTION_COMMAND: "{}"}
    other = build.pod("other", cpu="3", owner="Job")
    cluster = world(*going(running(), annotations=moving), *closed(), other)

    assert [made_for(decide(cluster, seconds)) for seconds in (6, 10)] == [[], [("default/other",)]]
