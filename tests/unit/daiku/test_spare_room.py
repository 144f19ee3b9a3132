"""Where rules leave a choice of domains, pods go where there is room, so that no node is made for a few of them."""

from typing import Any

import pytest
from tests import build
from tests.conformance.spreading import ZONES
from tests.plans import Small

from daiku.model import labels
from daiku.model.pod import Pod
from daiku.model.topology import AffinityTerm, Preferred, Spread

TYPES = build.family(sizes=(2, 4, 8), zones=ZONES)


def spread(app: str, key: str, *, hard: bool) -> dict[str, Any]:
    own = build.needs(build.require("app", "In", app))
    return {"spread": (Spread(key=key, max_skew=1, hard=hard, selector=own),)}


def together(app: str, key: str, *, hard: bool) -> dict[str, Any]:
    own = build.needs(build.require("app", "In", app))
    term = AffinityTerm(key=key, selector=own, namespaces=("default",))
    wish = (Preferred(weight=1, pods=term),)
    return {"pod_affinity": (term,)} if hard else {"preferred_pod_affinity": wish}


def two(app: str, rules: dict[str, Any]) -> list[Pod]:
    return build.pods(2, app, cpu="250m", memory="256Mi", labels={"app": app}, **rules)


@pytest.mark.parametrize("hard", [True, False])
@pytest.mark.parametrize("other", [True, False])
def test_groups_that_differ_in_a_label_share_the_nodes_of_two_zones(
    *, hard: bool, other: bool
) -> None:
    one = two("a", spread("a", labels.ZONE, hard=hard))
    more = two("b", spread("b", labels.ZONE, hard=other))

    assert Small(pods=[*one, *more], types=TYPES).told() == ["2 on new c-2x", "2 on new c-2x"]


@pytest.mark.parametrize("hard", [True, False])
def test_a_zone_is_chosen_where_hosts_are_planned_already(*, hard: bool) -> None:
    one = two("a", spread("a", labels.HOSTNAME, hard=hard))
    more = two("b", spread("b", labels.ZONE, hard=True))

    assert Small(pods=[*one, *more], types=TYPES).told() == ["2 on new c-2x", "2 on new c-2x"]


@pytest.mark.parametrize("hard", [True, False])
def test_groups_that_each_stay_together_stay_in_one_zone(*, hard: bool) -> None:
    groups = [two(app, together(app, labels.ZONE, hard=hard)) for app in ("a", "b")]

    small = Small(pods=[pod for group in groups for pod in group], types=TYPES)

    assert small.told() == ["4 on new c-2x"]


@pytest.mark.parametrize(
    "rules",
    [
        pytest.param(spread("a", labels.ZONE, hard=True), id="spread"),
        pytest.param(spread("a", labels.ZONE, hard=False), id="spread, as a wish"),
        pytest.param(
            {
                "spread": (
                    *spread("a", labels.ZONE, hard=True)["spread"],
                    *spread("a", labels.HOSTNAME, hard=True)["spread"],
                )
            },
            id="spread by zone and host",
        ),
        pytest.param(together("a", labels.ZONE, hard=True), id="together"),
        pytest.param(
            {
                "pod_anti_affinity": tuple(
                    together("a", labels.ZONE, hard=True)["pod_affinity"],
                )
            },
            id="apart",
        ),
    ],
)
def test_nodes_that_have_room_come_before_zones_that_have_none(rules: dict[str, Any]) -> None:
    there = [
        build.node(f"in-{zone}", provider_id=zone, labels_of={labels.ZONE: zone})
        for zone in ("zone-b", "zone-c")
    ]

    small = Small(pods=two("a", rules), there=there, types=TYPES)

    assert small.solve().new_nodes == ()


def test_what_is_many_is_still_spread_over_all_zones() -> None:
    groups = [
        build.pods(7, app, cpu="1", labels={"app": app}, **spread(app, labels.ZONE, hard=True))
        for app in "abc"
    ]

    solved = Small(pods=[pod for group in groups for pod in group], types=TYPES).solve()

    assert sorted({zone for node in solved.new_nodes for zone in node.zones}) == list(ZONES)
