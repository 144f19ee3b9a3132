"""Pods that no rule can tell apart are one class."""

from dataclasses import fields

import pytest
from tests import build

from daiku.model.pod import Pod
from daiku.model.taints import Toleration
from daiku.scheduling import classes

IN_THE_CLASS = {
    "meta",
    "requests",
    "node_selector",
    "required_node_affinity",
    "tolerations",
    "preferred_node_affinity",
    "spread",
    "pod_affinity",
    "pod_anti_affinity",
    "preferred_pod_affinity",
    "preferred_pod_anti_affinity",
    "host_ports",
    "volume_claims",
    "resource_claims",
}


def test_every_field_of_a_pod_is_part_of_its_class_or_ignored_for_a_reason() -> None:
    assert {f.name for f in fields(Pod)} == IN_THE_CLASS | set(classes.IGNORED)


def test_equal_pods_are_one_class_with_their_names_in_order() -> None:
    (counted,) = classes.count(reversed(build.pods(3)))

    assert counted.pods == ("default/web-00000", "default/web-00001", "default/web-00002")


@pytest.mark.parametrize(
    "other",
    [
        build.pod("b", cpu="2"),
        build.pod("b", node_selector={"team": "x"}),
        build.pod("b", tolerations=[Toleration(operator="Exists")]),
        build.pod("b", required_node_affinity=(build.needs(build.require("team", "Exists")),)),
        build.pod("b", resource_claims=("gpu",)),
    ],
    ids=["requests", "selector", "tolerations", "affinity", "resource claims"],
)
def test_pods_that_differ_are_two_classes(other: Pod) -> None:
    assert len(classes.count([build.pod("a"), other])) == 2


def test_the_largest_class_comes_first() -> None:
    counted = classes.count([build.pod("small", cpu="100m"), build.pod("large", cpu="4")])

    assert [c.pods[0] for c in counted] == ["default/large", "default/small"]


def test_the_selector_is_part_of_every_alternative() -> None:
    terms = (
        build.needs(build.require("tier", "In", "a")),
        build.needs(build.require("tier", "In", "b")),
    )
    made = classes.class_of(build.pod(node_selector={"team": "x"}, required_node_affinity=terms))

    assert [sorted(r.key for r in a) for a in made.alternatives] == [["team", "tier"]] * 2


def test_an_alternative_that_contradicts_the_selector_is_none() -> None:
    terms = (build.needs(build.require("team", "In", "y")),)

    assert (
        classes.class_of(
            build.pod(node_selector={"team": "x"}, required_node_affinity=terms)
        ).alternatives
        == ()
    )
