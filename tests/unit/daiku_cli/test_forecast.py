from dataclasses import replace
from datetime import timedelta

import pytest
from tests import build

from daiku import comparison
from daiku.commands import CreateNodeClaim
from daiku.events import Object
from daiku.forecast import Forecast, forecast
from daiku.model import labels
from daiku.model.instance_type import Catalogue
from daiku.model.pod import Pod
from daiku.model.taints import Taint
from daiku.settings import Settings
from daiku.tick import tick

CLAIM = build.node_claim()
POOLS: list[Object] = [build.node_pool(), build.node_class()]


def made(*objects: Object, catalogue: Catalogue | None = None) -> Forecast:
    return forecast([*objects, *POOLS], catalogue or build.catalogue(), Settings())


@pytest.mark.parametrize(
    "objects",
    [
        pytest.param(build.pods(40, cpu="700m"), id="new nodes only"),
        pytest.param(
            [*build.pods(9), CLAIM, build.node(claim=CLAIM), build.daemon_set(cpu="100m")],
            id="an existing node, a DaemonSet and new nodes",
        ),
        pytest.param([build.pod(cpu="500")], id="a pod that fits nowhere"),
    ],
)
def test_a_forecast_is_what_the_live_controller_decides(objects: list[Object]) -> None:
    cluster = build.cluster(*objects, *POOLS)
    cluster.snapshot(build.NOW)
    now = build.NOW + timedelta(seconds=30)
    live = tick(cluster.snapshot(now), cluster.catalogue, Settings(), now)

    found = made(*objects)

    claims = [c for c in live.commands if isinstance(c, CreateNodeClaim)]
    assert sorted(c.pods for c in claims) == sorted(n.pods for n in found.new_nodes)
    assert found.new_usd_per_hour == pytest.approx(live.report.new_usd_per_hour)
    assert found.existing_usd_per_hour == pytest.approx(live.report.usd_per_hour)
    assert found.unschedulable == live.report.unschedulable
    assert found.lower_bound_usd_per_hour == live.report.lower_bound_usd_per_hour
    assert found.notes == ()


def test_a_pod_without_a_node_is_planned_although_no_scheduler_has_seen_it() -> None:
    found = made(build.pod(unschedulable=False))

    assert [node.pods for node in found.new_nodes] == [("default/web-1",)]


def test_pods_that_go_to_an_existing_node_are_placements() -> None:
    found = made(build.pod("a"), build.pod("b", node="other"), build.node("other"))

    (node,) = found.existing_nodes
    assert found.placements == {"default/a": "other"}
    assert (node.pods, node.added, node.requests["cpu"]) == (1, ("default/a",), 2000)


@pytest.mark.parametrize(
    ("known", "usd"),
    [
        pytest.param({labels.CAPACITY_TYPE: "spot"}, 0.04, id="what Karpenter bought"),
        pytest.param({}, 0.1, id="nothing said means on-demand"),
        pytest.param(
            {"eks.amazonaws.com/capacityType": "SPOT"}, 0.04, id="a managed node group on spot"
        ),
        pytest.param({labels.ZONE: "mars-1"}, None, id="not in the catalogue"),
    ],
)
def test_an_existing_node_costs_what_its_labels_say(
    known: dict[str, str], usd: float | None
) -> None:
    sold = build.instance_type(price=0.1, capacity_types=("spot", "on-demand"))
    node = build.node("n", labels_of={labels.INSTANCE_TYPE: "c-4x", labels.ZONE: "zone-a", **known})

    (found,) = made(node, catalogue=build.catalogue(sold)).existing_nodes

    assert found.usd_per_hour == (None if usd is None else pytest.approx(usd))


def test_every_type_that_may_be_launched_is_named_cheapest_first() -> None:
    (node,) = made(build.pod(cpu="3")).new_nodes

    assert node.instance_types == ("c-4x", "c-8x"), "c-16x costs more than the price guard allows"
    assert node.allocatable["cpu"] == 4000


def test_limits_hold() -> None:
    pool = build.node_pool("small", limits={"nodes": "1"})

    found = forecast(
        [*build.pods(40, cpu="2"), pool, build.node_class()], build.catalogue(), Settings()
    )

    assert len(found.new_nodes) == 1
    assert {b.reason for each in found.unschedulable for b in each.blockers} == {"LimitExceeded"}
    assert len(found.homeless) + len(found.new_nodes[0].pods) == 40


def test_what_is_not_counted_on_is_said() -> None:
    astray = build.pod("lost", node="gone")
    nominated = build.pod("guest", nominated_node_name="n", priority=10)
    victim = build.pod("victim", node="n", deleted=build.NOW)

    assert made(astray, nominated, victim, build.node("n")).notes == (
        (
            "pods on nodes that are not in the input, not planned: 1 of ReplicaSet default/owner, "
            "such as default/lost on gone"
        ),
        "pods for which kube-scheduler makes room itself, not planned: 1",
    )


def test_the_order_of_the_input_does_not_matter() -> None:
    objects = [*build.pods(30, cpu="700m"), *build.pods(9, "db", memory="6Gi"), build.node("n")]

    assert made(*objects) == made(*reversed(objects))


def test_the_gap_is_what_the_nodes_cost_beyond_the_bound() -> None:
    found = made(*build.pods(7, cpu="1500m"))

    share = found.new_usd_per_hour / found.lower_bound_usd_per_hour
    assert found.gap == pytest.approx(max(0, share - 1))
    assert made().gap == 0


def test_a_comparison_counts_nodes_and_money_of_each_node_pool() -> None:
    tainted = build.node_pool(taints=[Taint("team", "NoSchedule", "a")])
    other = build.node_pool("other")
    node = build.node("n", labels_of={labels.NODEPOOL: "old"})
    objects: list[Object] = [*build.pods(9), node, build.node_class()]

    compared = comparison.compare(
        forecast([*objects, tainted], build.catalogue(), Settings()),
        forecast([*objects, other], build.catalogue(), Settings()),
    )

    assert [(c.nodepool, c.before.nodes, c.after.nodes) for c in compared.pools] == [
        ("old", 1, 1),
        ("other", 0, len(compared.after.new_nodes)),
    ]
    assert compared.total.after.usd_per_hour == pytest.approx(compared.after.new_usd_per_hour)
    assert compared.gain == compared.before.homeless
    assert compared.lose == ()
    assert len(compared.gain) == 5


def test_a_node_claim_that_no_launch_can_satisfy_is_no_node_and_its_pods_are_not_forgotten() -> (
    None
):
    everywhere = build.daemon_set(extra={"nvidia.com/gpu": "1"})

    found = made(*build.pods(2), everywhere)

    assert found.new_nodes == ()
    assert not found.is_sound
    assert found.homeless == ("default/web-00000", "default/web-00001")
    assert found.later == ()


def test_pods_without_a_decision_are_named_by_their_workloads_with_counts() -> None:
    """Two NodePools share a reservation that has room for one of their nodes."""
    kept = replace(
        build.offering(0.01, capacity_type="reserved"),
        requirements=build.needs(
            build.require(labels.ZONE, "In", "zone-a"),
            build.require(labels.CAPACITY_TYPE, "In", "reserved"),
            build.require("karpenter.k8s.aws/capacity-reservation-id", "In", "cr-1"),
        ),
        left=1,
        reservation="cr-1",
    )
    large = build.instance_type(cpu="32", memory="128Gi", offerings=[build.offering(3.0), kept])
    pools = [build.node_pool("one", weight=10), build.node_pool("two")]
    pods = [
        *build.pods(2, "a", node_selector={labels.NODEPOOL: "one"}),
        *[p for n in range(12) for p in owned(f"web-{n:02}", {labels.NODEPOOL: "two"})],
    ]

    found = forecast([*pods, *pools, build.node_class()], build.catalogue(large), Settings())

    assert len(found.later) == 24
    named = ", ".join(f"StatefulSet default/web-{n:02} 2" for n in range(10))
    (note,) = found.notes
    assert note.endswith(f"speaks against theirs: 24 pods ({named} and 2 more)")


def owned(name: str, selector: dict[str, str]) -> list[Pod]:
    """Two pods of a StatefulSet."""
    return [
        replace(
            pod,
            meta=replace(
                pod.meta,
                owners=tuple(replace(o, kind="StatefulSet", name=name) for o in pod.meta.owners),
            ),
        )
        for pod in build.pods(2, name, node_selector=selector)
    ]
