"""Where plans put pods that are to be spread over hosts, capacity types and other labels, alone and together.

Source: karpenter-core, provisioning/scheduling/topology_test.go; kube-scheduler's podtopologyspread.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest
from tests import build
from tests.conformance.spreading import TYPES, WEB, ZONES, among, counted, full, pool, spread, web
from tests.plans import Small

from daiku.model import labels
from daiku.model.nodepool import NodePool
from daiku.model.pod import Pod
from daiku.model.topology import AffinityTerm

HOSTS = spread(labels.HOSTNAME)


@pytest.mark.parametrize(
    ("pods", "found"),
    [
        pytest.param(web(4, HOSTS), ["1", "1", "1", "1"], id="one on each"),
        pytest.param(web(4, spread(labels.HOSTNAME, max_skew=4)), ["4"], id="up to the skew"),
        pytest.param(
            [
                *web(2, HOSTS),
                *web(
                    2,
                    replace(HOSTS, selector=among("app", "api")),
                    prefix="web-api",
                    labels={"app": "api"},
                ),
            ],
            ["2", "2"],
            id="two deployments share nodes",
        ),
        pytest.param(
            [
                *web(2, HOSTS),
                *web(2, HOSTS, prefix="web-other", node_selector={labels.CAPACITY_TYPE: "spot"}),
            ],
            ["1", "1", "1", "1"],
            id="one selector, two kinds of nodes",
        ),
    ],
)
def test_by_host(pods: Sequence[Pod], found: list[str]) -> None:
    assert counted(Small(pods=pods, types=TYPES), labels.HOSTNAME) == found


def test_hosts_that_are_there_are_filled_first() -> None:
    here = [build.node(f"here-{n}", provider_id=f"here-{n}") for n in range(2)]

    solved = Small(pods=web(3, HOSTS), there=here, types=TYPES).solve()

    assert sorted(solved.placements.values()) == ["here-0", "here-1"]
    assert [len(n.pods) for n in solved.new_nodes] == [1]


KINDS = spread(labels.CAPACITY_TYPE)


@pytest.mark.parametrize(
    ("pods", "found"),
    [
        pytest.param(web(4, KINDS), ["on-demand=2", "spot=2"], id="both kinds"),
        pytest.param(
            web(4, KINDS, node_selector={labels.CAPACITY_TYPE: "spot"}),
            ["spot=4"],
            id="one kind is asked for",
        ),
        pytest.param(
            web(
                4,
                KINDS,
                required_node_affinity=(among(labels.CAPACITY_TYPE, "on-demand", "reserved"),),
            ),
            ["on-demand=4"],
            id="the kinds that can be had of those that are asked for",
        ),
        pytest.param(
            web(4, replace(KINDS, hard=False)), ["on-demand=2", "spot=2"], id="ScheduleAnyway"
        ),
    ],
)
def test_by_capacity_type(pods: Sequence[Pod], found: list[str]) -> None:
    assert counted(Small(pods=pods, types=TYPES), labels.CAPACITY_TYPE) == found


def test_by_a_label_of_the_node_pool() -> None:
    racks = build.node_pool(requirements=among("rack", "r1", "r2"))

    small = Small(pods=web(4, spread("rack")), pools=[racks], types=TYPES)

    assert counted(small, "rack") == ["r1=2", "r2=2"]


SPLIT = "capacity-spread"


def split(**fields: Any) -> list[NodePool]:
    """One on-demand pod for four on spot, as Karpenter's blueprints split a deployment."""
    kind = labels.CAPACITY_TYPE
    return [
        build.node_pool("ondemand", requirements=among(SPLIT, "1") & among(kind, "on-demand")),
        build.node_pool(
            "spot", requirements=among(SPLIT, "2", "3", "4", "5") & among(kind, "spot")
        ),
        build.node_pool("default", **fields),
    ]


@pytest.mark.parametrize("weight", [0, 50])
@pytest.mark.parametrize(
    "fields",
    [
        pytest.param({}, id="nothing else is asked"),
        pytest.param(
            {"required_node_affinity": (build.needs(build.require(SPLIT, "NotIn", "6")),)},
            id="a value is ruled out",
        ),
    ],
)
def test_a_label_that_a_node_pool_does_not_declare_is_no_domain_of_it(
    weight: int, fields: dict[str, Any]
) -> None:
    """kube-scheduler never puts a pod on a node without the key of its hard spread."""
    small = Small(pods=web(10, spread(SPLIT), **fields), pools=split(weight=weight), types=TYPES)

    assert counted(small, SPLIT) == ["1=2", "2=2", "3=2", "4=2", "5=2"]
    of_pool = Counter(n.pool.meta.name for n in small.solve().new_nodes for _ in n.pods)
    assert of_pool == {"ondemand": 2, "spot": 8}


def test_pods_are_kept_together_by_a_label_only_where_it_is_declared() -> None:
    together = AffinityTerm(key=SPLIT, selector=WEB, namespaces=("default",))

    small = Small(pods=web(3, pod_affinity=(together,)), pools=split(weight=50), types=TYPES)

    assert [(n.pool.meta.name, len(n.pods)) for n in small.solve().new_nodes] == [("ondemand", 3)]


def test_pods_wait_when_no_node_pool_declares_the_label() -> None:
    small = Small(pods=web(3, spread(SPLIT)), pools=[pool()], types=TYPES)

    assert small.told() == ["3 TopologySpreadNotMet"]


def test_a_wish_for_a_label_that_no_node_pool_declares_is_given_up() -> None:
    small = Small(pods=web(3, spread(SPLIT, hard=False)), pools=[pool()], types=TYPES)

    assert small.told() == ["3 on new c-4x"]


def test_by_architecture() -> None:
    types = [*TYPES, *build.family("g", zones=ZONES, arch="arm64")]

    small = Small(pods=web(4, spread(labels.ARCH)), types=types)

    assert counted(small, labels.ARCH) == ["amd64=2", "arm64=2"]


@pytest.mark.parametrize(
    ("keys", "found"),
    [
        pytest.param(
            (labels.ZONE, labels.HOSTNAME),
            {labels.ZONE: ["zone-a=2", "zone-b=2", "zone-c=1"], labels.HOSTNAME: ["1"] * 5},
            id="zone and host",
        ),
        pytest.param(
            (labels.CAPACITY_TYPE, labels.HOSTNAME),
            {labels.CAPACITY_TYPE: ["on-demand=3", "spot=2"], labels.HOSTNAME: ["1"] * 5},
            id="capacity type and host",
        ),
        pytest.param(
            (labels.ZONE, labels.CAPACITY_TYPE),
            {
                labels.ZONE: ["zone-a=2", "zone-b=2", "zone-c=1"],
                labels.CAPACITY_TYPE: ["on-demand=3", "spot=2"],
            },
            id="zone and capacity type",
        ),
        pytest.param(
            (labels.ZONE, labels.CAPACITY_TYPE, labels.HOSTNAME),
            {
                labels.ZONE: ["zone-a=2", "zone-b=2", "zone-c=1"],
                labels.CAPACITY_TYPE: ["on-demand=3", "spot=2"],
                labels.HOSTNAME: ["1"] * 5,
            },
            id="all three",
        ),
    ],
)
def test_by_several_keys_at_once(keys: Sequence[str], found: dict[str, list[str]]) -> None:
    small = Small(pods=web(5, *map(spread, keys)), types=TYPES)

    for key, domains in found.items():
        numbers = sorted(each.rpartition("=")[2] for each in counted(small, key))
        assert numbers == sorted(each.rpartition("=")[2] for each in domains)


def test_a_domain_that_cannot_grow_holds_up_pods_that_are_spread_by_several_keys() -> None:
    own = {labels.ZONE: "zone-c", labels.CAPACITY_TYPE: "spot"}
    small = Small(
        pods=web(4, spread(), spread(labels.CAPACITY_TYPE)),
        there=[build.node("full", provider_id="full", cpu="0", labels_of=own)],
        pools=[pool("zone-a", "zone-b")],
        types=TYPES,
    )

    assert counted(small, labels.ZONE) == ["zone-a=1", "zone-b=1", "2 stuck"]


def test_revisions_do_not_count_each_other() -> None:
    """`matchLabelKeys` has become part of each selector by then."""
    old, new = (WEB & among("revision", r) for r in "12")
    pods = web(2, spread(selector=new), labels={"app": "web", "revision": "2"})
    there = full("zone-a", 3, labels={"app": "web", "revision": "1"})

    small = Small(pods=pods, there=there, pools=[pool("zone-a", "zone-b")], types=TYPES)
    both = Small(
        pods=web(2, spread(), labels={"app": "web", "revision": "2"}),
        there=there,
        pools=[pool("zone-a", "zone-b")],
        types=TYPES,
    )

    assert old != new
    assert counted(small, labels.ZONE) == ["zone-a=4", "zone-b=1"]
    assert counted(both, labels.ZONE) == ["zone-a=3", "zone-b=2"]


def test_pods_that_only_match_a_selector_are_balanced_by_those_that_are_spread() -> None:
    """Interdependent selectors: either group counts the other."""
    one = web(3, spread(selector=build.needs(build.require("app", "Exists"))))
    other = web(
        3,
        spread(selector=build.needs(build.require("app", "Exists"))),
        prefix="web-other",
        labels={"app": "other"},
        cpu="200m",
    )

    small = Small(pods=[*one, *other], pools=[pool()], types=TYPES)

    assert counted(small, labels.ZONE) == ["zone-a=2", "zone-b=2", "zone-c=2"]
