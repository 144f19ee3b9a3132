"""Which pods a NodePool's nodes are made for, by labels: selectors, affinity, and labels that nobody defines.

Each row is tried twice: with the label under `labels` of the NodePool's template, and with it as a requirement.

Source: karpenter-core, provisioning/scheduling/suite_test.go, "Custom Constraints", "Well Known Labels", "Scheduling
Logic", "Restricted Labels", "Instance Type Compatibility"; kube-scheduler's nodeaffinity.
"""

from typing import Any

import pytest
from tests import build, plans
from tests.plans import Small

from daiku.model import labels
from daiku.model.requirements import Requirements
from daiku.model.topology import Preferred

TEAM = "example.com/team"
YES, NO = ["1 on new c-1x"], ["1 RequirementsNotMet"]


def team(operator: str, *values: str) -> Requirements:
    return build.needs(build.require(TEAM, operator, *values))


def zone(operator: str, *values: str) -> Requirements:
    return build.needs(build.require(labels.ZONE, operator, *values))


def wants(*terms: Requirements, **fields: Any) -> dict[str, Any]:
    return {"required_node_affinity": terms, **fields}


def prefers(*weighted: tuple[int, Requirements], **fields: Any) -> dict[str, Any]:
    wishes = tuple(Preferred(weight=weight, node=term) for weight, term in weighted)
    return {"preferred_node_affinity": wishes, **fields}


@pytest.mark.parametrize("how", ["label", "requirement"])
@pytest.mark.parametrize(
    ("asked", "told"),
    [
        pytest.param({}, YES, id="nothing asked"),
        pytest.param({"node_selector": {TEAM: "x"}}, YES, id="the value in a selector"),
        pytest.param({"node_selector": {TEAM: "y"}}, NO, id="another value in a selector"),
        pytest.param({"node_selector": {"tier": "x"}}, NO, id="a label that nobody defines"),
        pytest.param(wants(team("In", "x", "z")), YES, id="In with the value"),
        pytest.param(wants(team("In", "y")), NO, id="In without it"),
        pytest.param(wants(team("NotIn", "y")), YES, id="NotIn of another value"),
        pytest.param(wants(team("NotIn", "x")), NO, id="NotIn of the value"),
        pytest.param(wants(team("Exists")), YES, id="Exists"),
        pytest.param(wants(team("DoesNotExist")), NO, id="DoesNotExist, but it does"),
        pytest.param(
            wants(build.needs(build.require("tier", "In", "x"))), NO, id="In of an unknown label"
        ),
        pytest.param(
            wants(build.needs(build.require("tier", "NotIn", "x"))),
            YES,
            id="NotIn of an unknown label",
        ),
        pytest.param(
            wants(build.needs(build.require("tier", "Exists"))), NO, id="an unknown label Exists"
        ),
        pytest.param(
            wants(build.needs(build.require("tier", "DoesNotExist"))),
            YES,
            id="an unknown label DoesNotExist",
        ),
        pytest.param(
            wants(team("In", "y"), team("In", "x")), YES, id="the second of two alternatives"
        ),
        pytest.param(
            wants(team("In", "x"), node_selector={TEAM: "y"}),
            NO,
            id="selector and affinity must both hold",
        ),
        pytest.param(
            prefers((1, team("In", "y"))), YES, id="a preference for another value is given up"
        ),
        pytest.param(
            prefers((1, team("NotIn", "x"))), YES, id="a preference against the value is given up"
        ),
        pytest.param(
            prefers((1, team("In", "x")), **wants(team("NotIn", "y"))),
            YES,
            id="preference and requirement agree",
        ),
        pytest.param(
            prefers((1, team("In", "x")), **wants(team("In", "y"))),
            NO,
            id="a preference does not help a requirement",
        ),
        pytest.param(
            {"node_selector": {labels.HOSTNAME: "c-1x"}}, NO, id="no new node has a chosen name"
        ),
        pytest.param(
            {"node_selector": {labels.NODEPOOL: "default"}}, YES, id="the NodePool by its name"
        ),
        pytest.param(
            {"node_selector": {labels.NODEPOOL: "other"}}, NO, id="another NodePool by its name"
        ),
        pytest.param(
            wants(build.needs(build.require(labels.NODEPOOL, "DoesNotExist"))),
            NO,
            id="only nodes that no NodePool makes",
        ),
        pytest.param(
            {"node_selector": {"karpenter.sh/other": "x"}}, NO, id="a restricted label of nobody"
        ),
    ],
)
def test_a_label_that_somebody_chose(how: str, asked: dict[str, Any], told: list[str]) -> None:
    pool = (
        build.node_pool(template_labels={TEAM: "x"})
        if how == "label"
        else build.node_pool(requirements=team("In", "x"))
    )

    assert Small(pods=[build.pod(**asked)], pools=[pool]).told() == told


@pytest.mark.parametrize("how", ["label", "requirement"])
@pytest.mark.parametrize(
    ("asked", "zones"),
    [
        pytest.param({}, ["zone-b"], id="nothing asked"),
        pytest.param({"node_selector": {labels.ZONE: "zone-b"}}, ["zone-b"], id="selector"),
        pytest.param({"node_selector": {labels.ZONE: "zone-a"}}, [], id="selector elsewhere"),
        pytest.param({"node_selector": {labels.ZONE: "unknown"}}, [], id="no such zone"),
        pytest.param(wants(zone("In", "zone-b", "zone-x")), ["zone-b"], id="In"),
        pytest.param(wants(zone("In", "zone-a")), [], id="In elsewhere"),
        pytest.param(wants(zone("NotIn", "zone-a")), ["zone-b"], id="NotIn elsewhere"),
        pytest.param(wants(zone("NotIn", "zone-b")), [], id="NotIn"),
        pytest.param(wants(zone("Exists")), ["zone-b"], id="Exists"),
        pytest.param(wants(zone("DoesNotExist")), [], id="DoesNotExist"),
        pytest.param(prefers((1, zone("In", "zone-a"))), ["zone-b"], id="preferred elsewhere"),
        pytest.param(
            {"node_selector": {"failure-domain.beta.kubernetes.io/zone": "zone-b"}},
            ["zone-b"],
            id="by its old name",
        ),
    ],
)
def test_a_label_that_everybody_knows(how: str, asked: dict[str, Any], zones: list[str]) -> None:
    pool = (
        build.node_pool(template_labels={labels.ZONE: "zone-b"})
        if how == "label"
        else build.node_pool(requirements=zone("In", "zone-b"))
    )

    solved = Small(pods=[build.pod(**asked)], pools=[pool]).solve()

    assert [z for node in solved.new_nodes for z in node.zones] == zones


@pytest.mark.parametrize(
    ("asked", "zones"),
    [
        pytest.param({}, ("zone-a", "zone-b"), id="nothing asked"),
        pytest.param(wants(zone("NotIn", "zone-a")), ("zone-b",), id="required NotIn"),
        pytest.param(prefers((1, zone("In", "zone-b"))), ("zone-b",), id="preferred In"),
        pytest.param(prefers((1, zone("NotIn", "zone-b"))), ("zone-a",), id="preferred NotIn"),
        pytest.param(
            prefers((1, zone("In", "zone-b")), **wants(zone("In", "zone-a", "zone-b"))),
            ("zone-b",),
            id="a preference within the requirement",
        ),
        pytest.param(
            prefers((1, zone("In", "zone-x")), **wants(zone("In", "zone-a"))),
            ("zone-a",),
            id="a preference outside of it",
        ),
        pytest.param(
            prefers((1, zone("In", "zone-a")), (50, zone("In", "zone-b"))),
            ("zone-b",),
            id="of two preferences the heavier",
        ),
        pytest.param(
            prefers((50, zone("In", "zone-x")), (1, zone("In", "zone-b"))),
            ("zone-b",),
            id="the lighter when the heavier cannot be had",
        ),
    ],
)
def test_zones_of_a_node_pool_that_names_none(
    asked: dict[str, Any], zones: tuple[str, ...]
) -> None:
    (node,) = Small(pods=[build.pod(**asked)]).solve().new_nodes

    assert node.zones == zones


SIZED = [
    build.instance_type(f"c-{n}x", cpu=str(n), extra_labels={"cpus": str(n)}) for n in (1, 2, 4, 8)
]


@pytest.mark.parametrize(
    ("operator", "bound", "types"),
    [
        pytest.param("Gt", "2", ["c-4x", "c-8x"], id="Gt"),
        pytest.param("Gte", "4", ["c-4x", "c-8x"], id="Gte"),
        pytest.param("Lt", "2", ["c-1x"], id="Lt"),
        pytest.param("Lte", "2", ["c-1x", "c-2x"], id="Lte"),
        pytest.param("Gt", "8", [], id="more than any type has"),
    ],
)
def test_a_label_that_is_a_number(operator: str, bound: str, types: list[str]) -> None:
    asked = build.needs(build.require("cpus", operator, bound))
    of_pod = Small(pods=[build.pod(cpu="100m", **wants(asked))], types=SIZED)
    of_pool = Small(
        pods=[build.pod(cpu="100m")], types=SIZED, pools=[build.node_pool(requirements=asked)]
    )

    for small in (of_pod, of_pool):
        assert [t.name for n in small.solve().new_nodes for t in n.types] == types


@pytest.mark.parametrize(
    ("one", "other", "told"),
    [
        pytest.param(
            wants(team("In", "x")), wants(team("Exists")), ["2 on new c-2x"], id="In and Exists"
        ),
        pytest.param(
            wants(team("In", "x", "y")),
            wants(team("NotIn", "x")),
            ["2 on new c-2x"],
            id="two lists with a value in common",
        ),
        pytest.param(
            wants(team("In", "x")),
            wants(team("In", "y")),
            ["1 on new c-1x", "1 on new c-1x"],
            id="two values",
        ),
        pytest.param(
            {"node_selector": {labels.ZONE: "zone-a"}},
            {"node_selector": {labels.ZONE: "zone-b"}},
            ["1 on new c-1x", "1 on new c-1x"],
            id="two zones",
        ),
    ],
)
def test_who_shares_a_node(one: dict[str, Any], other: dict[str, Any], told: list[str]) -> None:
    pods = [build.pod("one", **one), build.pod("other", **other)]
    pool = build.node_pool(requirements=team("In", "x", "y", "z"))
    types = [build.instance_type(f"c-{n}x", cpu=str(n), price=n - n / 10) for n in (1, 2)]

    assert Small(pods=pods, pools=[pool], types=types).told() == told


def test_a_value_that_one_pod_chose_is_not_undone_by_one_that_takes_any() -> None:
    pods = [build.pod("one", **wants(team("In", "y"))), build.pod("any", **wants(team("Exists")))]
    small = Small(
        pods=pods,
        pools=[build.node_pool(requirements=team("In", "x", "y"))],
        types=[build.instance_type("c-2x", cpu="2")],
    )

    (made,) = plans.creations(small.solve(), small.types)

    assert made.node_claim.meta.labels[TEAM] == "y"


MIXED = [
    build.instance_type("arm", cpu="4", arch="arm64", price=0.1),
    build.instance_type("gpu", cpu="4", extra={"nvidia.com/gpu": "2"}, price=2.0),
    build.instance_type("plain", cpu="4", price=0.2),
    build.instance_type("tiny", cpu="4", pods=1, price=0.15),
]


@pytest.mark.parametrize(
    ("asked", "pool", "told"),
    [
        pytest.param({}, {}, ["2 on new arm"], id="whatever is cheapest"),
        pytest.param(
            {"node_selector": {labels.ARCH: "amd64"}}, {}, ["2 on new plain"], id="architecture"
        ),
        pytest.param(
            {},
            {"requirements": build.needs(build.require(labels.ARCH, "In", "amd64"))},
            ["2 on new plain"],
            id="the NodePool's architecture",
        ),
        pytest.param(
            {"node_selector": {labels.OS: "windows"}},
            {},
            ["2 RequirementsNotMet"],
            id="an operating system that is not to be had",
        ),
        pytest.param(
            {"node_selector": {labels.INSTANCE_TYPE: "gpu"}}, {}, ["2 on new gpu"], id="a type"
        ),
        pytest.param(
            {"node_selector": {labels.INSTANCE_TYPE: "none"}},
            {},
            ["2 RequirementsNotMet"],
            id="a type that does not exist",
        ),
        pytest.param({"extra": {"nvidia.com/gpu": "1"}}, {}, ["2 on new gpu"], id="an accelerator"),
        pytest.param(
            {"extra": {"nvidia.com/gpu": "2"}},
            {},
            ["1 on new gpu", "1 on new gpu"],
            id="an accelerator of which a node has no more",
        ),
        pytest.param(
            {"extra": {"nvidia.com/gpu": "1"}, "node_selector": {labels.ARCH: "arm64"}},
            {},
            ["2 InsufficientResources"],
            id="an accelerator that the architecture does not have",
        ),
        pytest.param(
            {"extra": {"amd.com/gpu": "1"}}, {}, ["2 InsufficientResources"], id="one of nobody"
        ),
    ],
)
def test_which_type_it_is(asked: dict[str, Any], pool: dict[str, Any], told: list[str]) -> None:
    small = Small(pods=build.pods(2, **asked), pools=[build.node_pool(**pool)], types=MIXED)

    assert small.told() == told


def test_resources_that_no_type_has_together_get_a_node_each() -> None:
    types = [
        build.instance_type("gpu", extra={"nvidia.com/gpu": "1"}),
        build.instance_type("neuron", extra={"aws.amazon.com/neuron": "1"}),
    ]
    pods = [
        build.pod("a", cpu="10m", extra={"nvidia.com/gpu": "1"}),
        build.pod("b", cpu="10m", extra={"aws.amazon.com/neuron": "1"}),
    ]

    assert Small(pods=pods, types=types).told() == ["1 on new gpu", "1 on new neuron"]
