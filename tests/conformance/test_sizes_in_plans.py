"""How large the nodes are that pods get.

Source: karpenter-core, provisioning/scheduling/suite_test.go, "Binpacking", and instance_selection_test.go. Where
Karpenter fills first fit, Daiku asks for the least price, so prices are part of a row.
"""

from typing import Any

import pytest
from tests import build
from tests.plans import Small

from daiku.model import labels
from daiku.model.instance_type import InstanceType
from daiku.model.pod import Pod

SIZES = build.family(sizes=(1, 4, 16))


@pytest.mark.parametrize(
    ("pods", "told"),
    [
        pytest.param([build.pod(cpu="100m")], ["1 on new c-1x"], id="a small pod, a small node"),
        pytest.param(
            build.pods(4, cpu="250m", memory="256Mi"), ["4 on new c-1x"], id="several on one"
        ),
        pytest.param(build.pods(4), ["4 on new c-4x"], id="as many as it takes, exactly"),
        pytest.param(
            [build.pod("large", cpu="3500m"), build.pod("small", cpu="500m")],
            ["2 on new c-4x"],
            id="large and small together",
        ),
        pytest.param([build.pod(cpu="1", memory="3Gi")], ["1 on new c-4x"], id="memory decides"),
        pytest.param([build.pod(cpu="0", memory="0")], ["1 on new c-1x"], id="nothing asked"),
        pytest.param(
            build.pods(111, cpu="0", memory="0"),
            ["1 on new c-1x", "110 on new c-1x"],
            id="no more pods than a node takes",
        ),
        pytest.param(
            [build.pod(cpu="17")], ["1 InsufficientResources"], id="more than any type has"
        ),
        pytest.param(
            [build.pod("huge", cpu="17"), build.pod("small")],
            ["1 InsufficientResources", "1 on new c-1x"],
            id="one that fits nowhere is no harm to the others",
        ),
        pytest.param(
            [build.pod(extra={"hugepages-2Mi": "2Mi"})],
            ["1 InsufficientResources"],
            id="a resource that no type has",
        ),
    ],
)
def test_pods_get_nodes_of_this_size(pods: list[Pod], told: list[str]) -> None:
    assert Small(pods=pods, types=SIZES).told() == told


def priced(name: str, price: float, **fields: Any) -> InstanceType:
    return build.instance_type(name, price=price, **fields)


ON_DEMAND, SPOT = build.offering(0.3), build.offering(0.1, capacity_type="spot")


@pytest.mark.parametrize(
    ("types", "told"),
    [
        pytest.param(
            [priced("a", 0.3), priced("b", 0.2)], ["1 on new b"], id="the cheapest of equals"
        ),
        pytest.param(
            [priced("large", 0.1, cpu="64"), priced("small", 0.2)],
            ["1 on new large"],
            id="a larger one that costs less",
        ),
        pytest.param([priced("b", 0.2), priced("a", 0.2)], ["1 on new a"], id="a name ends a tie"),
        pytest.param(
            [
                build.instance_type("cheap-spot", offerings=[ON_DEMAND, SPOT]),
                priced("cheap", 0.2),
            ],
            ["1 on new cheap-spot"],
            id="spot counts with its own price",
        ),
        pytest.param(
            [
                build.instance_type(
                    "gone", offerings=[build.offering(0.01, available=False), ON_DEMAND]
                ),
                priced("there", 0.2),
            ],
            ["1 on new there"],
            id="an offering that cannot be had has no price",
        ),
        pytest.param(
            [build.instance_type("none", offerings=[])], ["1 NoOffering"], id="nothing for sale"
        ),
    ],
)
def test_the_cheapest_is_taken(types: list[InstanceType], told: list[str]) -> None:
    assert Small(pods=[build.pod()], types=types).told() == told


ALL = [
    build.instance_type(
        f"{arch}-{size}x",
        cpu=str(size),
        arch=arch,
        zones=("zone-a", "zone-b", "zone-c"),
        capacity_types=("on-demand", "spot"),
        price=size * (0.05 if arch == "amd64" else 0.04),
    )
    for arch in ("amd64", "arm64")
    for size in (1, 2, 4)
]
CHOICES = {
    labels.ARCH: ("amd64", "arm64"),
    labels.ZONE: ("zone-a", "zone-b"),
    labels.CAPACITY_TYPE: ("on-demand", "spot"),
}


@pytest.mark.parametrize("where", ["pod", "pool", "both"])
@pytest.mark.parametrize("arch", ["", *CHOICES[labels.ARCH]])
@pytest.mark.parametrize("zone", ["", *CHOICES[labels.ZONE]])
@pytest.mark.parametrize("capacity_type", ["", *CHOICES[labels.CAPACITY_TYPE]])
def test_of_what_is_asked_the_cheapest_is_taken(
    where: str, arch: str, zone: str, capacity_type: str
) -> None:
    given = {labels.ARCH: arch, labels.ZONE: zone, labels.CAPACITY_TYPE: capacity_type}
    asked = {key: value for key, value in given.items() if value}
    needs = build.needs(*(build.require(key, "In", value) for key, value in asked.items()))
    pod = build.pod(node_selector=asked if where != "pool" else {})
    pool = build.node_pool(requirements=needs if where != "pod" else build.needs())

    (node,) = Small(pods=[pod], pools=[pool], types=ALL).solve().new_nodes

    fits = [
        (o.price_usd_per_hour, t.name)
        for t in ALL
        for o in t.offerings
        if arch in {"", *t.requirements.get(labels.ARCH).values}
        and zone in {"", o.zone}
        and capacity_type in {"", o.capacity_type}
    ]
    assert (node.usd_per_hour, node.types[0].name) == min(fits)
    assert {t.name for t in node.types} == {name for _, name in fits}


@pytest.mark.parametrize(
    "asked",
    [
        {labels.ARCH: "arm64", labels.ZONE: "zone-x"},
        {labels.ARCH: "riscv64"},
        {labels.CAPACITY_TYPE: "reserved"},
        {labels.INSTANCE_TYPE: "amd64-1x", labels.ARCH: "arm64"},
    ],
)
@pytest.mark.parametrize("where", ["pod", "pool"])
def test_what_is_not_for_sale_is_not_made(asked: dict[str, str], where: str) -> None:
    needs = build.needs(*(build.require(key, "In", value) for key, value in asked.items()))
    pod = build.pod(node_selector=asked if where == "pod" else {})
    pool = build.node_pool(requirements=needs if where == "pool" else build.needs())

    solved = Small(pods=[pod], pools=[pool], types=ALL).solve()

    assert solved.new_nodes == ()
    assert solved.unschedulable[0].blockers[0].reason in {"RequirementsNotMet", "NoOffering"}
