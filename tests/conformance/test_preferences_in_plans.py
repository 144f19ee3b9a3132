"""What pods would like: kept as long as it can be, given up one by one in a fixed order, or not asked for at all.

Source: karpenter-core, provisioning/suite_test.go and scheduling/suite_test.go, "Preferential Fallback" and "Preference
policy"; scheduling/preferences.go for the order.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

import pytest
from tests import build
from tests.plans import Small

from daiku.model import labels
from daiku.model.pod import Pod
from daiku.model.requirements import Requirements
from daiku.model.taints import Taint, Toleration
from daiku.model.topology import AffinityTerm, Preferred, Spread
from daiku.scheduling import preferences
from daiku.settings import Settings

IGNORE = Settings(preference_policy="Ignore")
SOFT = Taint("soft", "PreferNoSchedule")
WEB = build.needs(build.require("app", "In", "web"))


def zone(*zones: str) -> Requirements:
    return build.needs(build.require(labels.ZONE, "In", *zones))


def near(key: str = labels.ZONE) -> AffinityTerm:
    return AffinityTerm(key=key, selector=WEB, namespaces=("default",))


def spread(key: str, *, hard: bool = False) -> Spread:
    return Spread(key=key, max_skew=1, hard=hard, selector=WEB)


EVERYTHING = build.pod(
    preferred_node_affinity=(
        Preferred(weight=1, node=zone("light")),
        Preferred(weight=9, node=zone("heavy")),
    ),
    preferred_pod_affinity=(
        Preferred(weight=2, pods=near("light")),
        Preferred(weight=8, pods=near("heavy")),
    ),
    preferred_pod_anti_affinity=(Preferred(weight=5, pods=near()),),
    spread=(spread("a"), spread("hard", hard=True), spread("b"), spread("c")),
)


def steps(pod: Pod, *, taints_preferred: bool = True) -> Iterator[list[str]]:
    for wish in preferences.rungs(pod, "Respect", taints_preferred=taints_preferred):
        yield [
            *(f"near {t.key}" for t in wish.near),
            *(f"shuns {t.key}" for t in wish.shuns),
            *([f"in {next(iter(wish.node)).sorted_values()[0]}"] if wish.node else []),
            *(f"spread {s.key}" for s in wish.spread),
            *(["minds taints"] if wish.minds_preferred_taints else []),
        ]


def test_preferences_are_given_up_in_this_order() -> None:
    spreads = ["spread hard", "spread a", "spread b", "spread c"]
    shuns = f"shuns {labels.ZONE}"
    taints = "minds taints"

    assert list(steps(EVERYTHING)) == [
        ["near heavy", "near light", shuns, "in heavy", *spreads, taints],
        ["near light", shuns, "in heavy", *spreads, taints],
        [shuns, "in heavy", *spreads, taints],
        ["in heavy", *spreads, taints],
        ["in light", *spreads, taints],
        [*spreads, taints],
        ["spread hard", "spread c", "spread b", taints],
        ["spread hard", "spread b", taints],
        ["spread hard", taints],
        ["spread hard"],
    ]


def test_without_any_taint_that_prefers_none_is_minded() -> None:
    assert list(steps(build.pod(), taints_preferred=False)) == [[]]


def test_nothing_that_is_only_preferred_is_asked_for_when_it_is_to_be_ignored() -> None:
    (wish,) = preferences.rungs(EVERYTHING, "Ignore", taints_preferred=True)

    assert wish == preferences.Wishes(spread=(spread("hard", hard=True),))


HERE = build.node("here", labels_of={labels.ZONE: "zone-a"}, provider_id="here")
WEB_IS_HERE = build.pod("old", cpu="100m", node="here", labels={"app": "web"})
ONLY_A = build.node_pool(requirements=zone("zone-a"))


def wish(term: AffinityTerm) -> tuple[Preferred, ...]:
    return (Preferred(weight=1, pods=term),)


def web(**fields: Any) -> Pod:
    return build.pod("new", cpu="100m", labels={"app": "web"}, **fields)


@pytest.mark.parametrize(
    ("pod", "pool", "respected", "ignored"),
    [
        pytest.param(
            web(preferred_node_affinity=(Preferred(weight=1, node=zone("zone-b")),)),
            build.node_pool(),
            "new in zone-b",
            "here",
            id="node affinity",
        ),
        pytest.param(
            web(preferred_node_affinity=(Preferred(weight=1, node=zone("zone-b")),)),
            ONLY_A,
            "here",
            "here",
            id="node affinity that cannot be had",
        ),
        pytest.param(
            web(spread=(spread(labels.ZONE),)),
            build.node_pool(),
            "new in zone-b",
            "here",
            id="spread over zones",
        ),
        pytest.param(
            web(spread=(spread(labels.HOSTNAME),)),
            build.node_pool(),
            "new in zone-a zone-b",
            "here",
            id="spread over hosts",
        ),
        pytest.param(
            web(preferred_pod_anti_affinity=wish(near())),
            build.node_pool(),
            "new in zone-b",
            "here",
            id="anti-affinity by zone",
        ),
        pytest.param(
            web(preferred_pod_anti_affinity=wish(near())),
            ONLY_A,
            "here",
            "here",
            id="anti-affinity by zone that cannot be had",
        ),
        pytest.param(
            web(preferred_pod_anti_affinity=wish(near(labels.HOSTNAME))),
            build.node_pool(),
            "new in zone-a zone-b",
            "here",
            id="anti-affinity by host",
        ),
        pytest.param(
            build.pod("new", cpu="9", preferred_pod_affinity=wish(near())),
            build.node_pool(),
            "new in zone-a",
            "new in zone-a zone-b",
            id="affinity by zone",
        ),
        pytest.param(
            build.pod("new", cpu="9", preferred_pod_affinity=wish(near(labels.HOSTNAME))),
            build.node_pool(),
            "new in zone-a zone-b",
            "new in zone-a zone-b",
            id="affinity by host that cannot be had",
        ),
    ],
)
@pytest.mark.parametrize("policy", ["Respect", "Ignore"])
def test_a_preference_is_respected_or_ignored(
    policy: str, pod: Pod, pool: Any, respected: str, ignored: str
) -> None:
    settings = Settings() if policy == "Respect" else IGNORE
    small = Small(pods=[pod], there=[HERE, WEB_IS_HERE], pools=[pool], settings=settings)

    solved = small.solve()

    where = [*solved.placements.values()]
    where += [f"new in {' '.join(n.zones)}" for n in solved.new_nodes]
    assert where == [respected if policy == "Respect" else ignored]


@pytest.mark.parametrize("policy", ["Respect", "Ignore"])
def test_what_is_required_is_never_given_up(policy: str) -> None:
    terms = (zone("zone-x"), zone("zone-y"))
    settings = Settings() if policy == "Respect" else IGNORE

    small = Small(pods=[build.pod(required_node_affinity=terms)], settings=settings)

    assert small.told() == ["1 RequirementsNotMet"]


@pytest.mark.parametrize("policy", ["Respect", "Ignore"])
def test_of_alternatives_that_are_required_any_will_do(policy: str) -> None:
    terms = (zone("zone-x"), zone("zone-y"), zone("zone-b"))
    settings = Settings() if policy == "Respect" else IGNORE

    (node,) = (
        Small(pods=[build.pod(required_node_affinity=terms)], settings=settings).solve().new_nodes
    )

    assert node.zones == ("zone-b",)


SIX = {"cpu": "500m", "labels": {"app": "web"}}


@pytest.mark.parametrize(
    ("pods", "limits", "told"),
    [
        pytest.param(
            build.pods(6, spread=(spread(labels.HOSTNAME),), **SIX),
            {"cpu": "4"},
            ["2 on new c-1x", "2 on new c-1x", "1 on new c-1x", "1 on new c-1x"],
            id="spread over hosts, cpu",
        ),
        pytest.param(
            build.pods(6, spread=(spread(labels.HOSTNAME),), **SIX),
            {"nodes": "2"},
            ["3 on new c-2x", "3 on new c-2x"],
            id="spread over hosts, nodes",
        ),
        pytest.param(
            build.pods(6, spread=(spread(labels.HOSTNAME), spread(labels.ZONE)), **SIX),
            {"nodes": "1"},
            ["6 on new c-4x"],
            id="spread over hosts and zones",
        ),
        pytest.param(
            build.pods(6, preferred_pod_anti_affinity=wish(near(labels.HOSTNAME)), **SIX),
            {"cpu": "4"},
            ["2 on new c-1x", "2 on new c-1x", "1 on new c-1x", "1 on new c-1x"],
            id="anti-affinity by host",
        ),
        pytest.param(
            [
                *build.pods(2, spread=(spread(labels.HOSTNAME),), **SIX),
                *build.pods(4, "plain", cpu="500m"),
            ],
            {"nodes": "2"},
            ["2 on new c-1x", "4 on new c-2x"],
            id="others share their nodes",
        ),
        pytest.param(
            [
                *build.pods(1, "zoned", cpu="3", node_selector={labels.ZONE: "zone-b"}),
                *build.pods(1, preferred_node_affinity=(Preferred(weight=1, node=zone("zone-a")),)),
            ],
            {"nodes": "1"},
            ["2 on new c-4x"],
            id="node affinity",
        ),
    ],
)
def test_a_wish_leaves_no_pod_without_a_place_on_nodes_that_a_limit_allows(
    pods: Sequence[Pod], limits: Mapping[str, str], told: list[str]
) -> None:
    small = Small(pods=pods, pools=[build.node_pool(limits=limits)])

    assert small.told() == sorted(told)


def test_pods_of_one_class_give_up_only_as_far_as_each_must() -> None:
    pods = [
        replace(web(preferred_pod_anti_affinity=wish(near())), meta=build.pod(f"new-{n}").meta)
        for n in range(3)
    ]
    pods = [replace(p, meta=replace(p.meta, labels={"app": "web"})) for p in pods]

    solved = Small(pods=pods).solve()

    assert not solved.unschedulable
    assert {z for n in solved.new_nodes for z in n.zones} == {"zone-a", "zone-b"}


PREFERS_NOBODY = build.node_pool("soft", taints=[SOFT], weight=10)


@pytest.mark.parametrize(
    ("pod", "pools", "told"),
    [
        pytest.param(build.pod(), [PREFERS_NOBODY], ["1 on new c-1x"], id="there is nothing else"),
        pytest.param(
            build.pod(),
            [PREFERS_NOBODY, build.node_pool("plain")],
            ["1 on new c-1x of plain"],
            id="another NodePool comes first, however light",
        ),
        pytest.param(
            build.pod(tolerations=[Toleration(key="soft", operator="Exists")]),
            [PREFERS_NOBODY, build.node_pool("plain")],
            ["1 on new c-1x of soft"],
            id="a pod that tolerates it does not mind",
        ),
        pytest.param(
            build.pod(preferred_node_affinity=(Preferred(weight=1, node=zone("zone-x")),)),
            [PREFERS_NOBODY],
            ["1 on new c-1x"],
            id="minded longer than an affinity that cannot be had",
        ),
    ],
)
def test_taints_that_only_prefer(pod: Pod, pools: Any, told: list[str]) -> None:
    assert Small(pods=[pod], pools=pools).told() == told


def test_a_taint_that_only_prefers_on_an_existing_node_is_minded_while_there_is_another_way() -> (
    None
):
    soft = build.node("soft", taints=[SOFT], provider_id="soft")

    assert Small(pods=[build.pod()], there=[soft]).told() == ["1 on new c-1x"]
    assert Small(pods=[build.pod()], there=[soft], pools=[]).told() == ["1 on soft"]
