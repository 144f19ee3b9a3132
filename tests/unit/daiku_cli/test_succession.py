"""What a second configuration leaves of the nodes of the first, and whose pods it sets waiting."""

from typing import Any

import pytest
from tests import build

from daiku import succession
from daiku.events import Object
from daiku.model import labels
from daiku.model.node import Node
from daiku.model.pod import Pod

CLAIM = build.node_claim(capacity_type="spot")
RUNNING: list[Object] = [
    CLAIM,
    build.node(claim=CLAIM),
    build.node("theirs"),
    build.pod("web", node="node-default-aaaaa"),
    build.pod("agent", node="node-default-aaaaa", owner="DaemonSet"),
    build.pod("done", node="node-default-aaaaa", phase="Succeeded"),
    build.pod("elsewhere", node="theirs"),
]
BOTH = build.needs(build.require(labels.CAPACITY_TYPE, "In", "spot", "on-demand"))
ON_DEMAND = build.needs(build.require(labels.CAPACITY_TYPE, "In", "on-demand"))
ALIAS = {"amiSelectorTerms": [{"alias": "al2023@v20261114"}]}


def after(first: list[Object], second: list[Object]) -> tuple[set[str], set[str], list[str]]:
    """Nodes that stay, pods that wait, and what is said."""
    kept, said = succession.followed([*RUNNING, *first], [*RUNNING, *second])
    nodes = {each.meta.name for each in kept if isinstance(each, Node)}
    waiting = {each.meta.name for each in kept if isinstance(each, Pod) and not each.node_name}
    return nodes, waiting, said


@pytest.mark.parametrize(
    ("pool", "node_class"),
    [
        pytest.param({"limits": {"cpu": "10"}}, {}, id="another limit"),
        pytest.param({"requirements": BOTH}, {}, id="requirements that it still meets"),
        pytest.param({"weight": 5}, {}, id="another weight"),
        pytest.param({}, {"spec": ALIAS}, id="what an API server had filled in"),
    ],
)
def test_a_node_that_is_still_what_its_pool_asks_for_stays(
    pool: dict[str, Any], node_class: dict[str, Any]
) -> None:
    filled = {"spec": {**ALIAS, "metadataOptions": {"httpTokens": "required"}}}

    found = after(
        [build.node_pool(), build.node_class(**filled)],
        [build.node_pool(**pool), build.node_class(**{**filled, **node_class})],
    )

    assert found == ({"node-default-aaaaa", "theirs"}, set(), [])


@pytest.mark.parametrize(
    ("second", "why"),
    [
        pytest.param([], "is taken away", id="the pool is gone"),
        pytest.param(
            [build.node_pool(template_labels={"team": "a"})], "another template", id="a label"
        ),
        pytest.param([build.node_pool(requirements=ON_DEMAND)], "capacity-type", id="no spot"),
        pytest.param(
            [build.node_pool(), build.node_class(spec={"amiSelectorTerms": [{"id": "ami-1"}]})],
            "another node class (amiSelectorTerms)",
            id="another image",
        ),
    ],
)
def test_a_node_that_is_no_longer_asked_for_goes_and_its_pods_wait(
    second: list[Object], why: str
) -> None:
    nodes, waiting, said = after([build.node_pool(), build.node_class(spec=ALIAS)], second)

    assert nodes == {"theirs"}
    assert waiting == {"web"}
    [line] = said
    assert why in line
    assert line.endswith("its nodes go: 1")


def test_a_requirement_that_a_node_never_met_changes_nothing() -> None:
    """It was made so all the same, such as before the requirement; nobody replaces it because of this change."""
    found = after(
        [build.node_pool(requirements=ON_DEMAND)], [build.node_pool(requirements=ON_DEMAND)]
    )

    assert found == ({"node-default-aaaaa", "theirs"}, set(), [])
