from collections.abc import Sequence
from typing import Any

import pytest

from daiku_infra import node_pool_rules
from daiku_infra.node_pool_rules import ZONE

REFERENCE = {"group": "karpenter.k8s.aws", "kind": "EC2NodeClass", "name": "default"}


def problems(
    *,
    requirements: list[dict[str, Any]] | None = None,
    expire: str | None = None,
    zones: Sequence[str] = (),
    **spec: Any,
) -> str:
    inner: dict[str, Any] = {"nodeClassRef": REFERENCE, "requirements": requirements or []}
    if expire:
        inner["expireAfter"] = expire
    labels = spec.pop("labels", {})
    template = {"metadata": {"labels": labels}, "spec": inner}
    found = node_pool_rules.problems_of_pool({"template": template, **spec}, ["default"], zones)
    return "\n".join(f"{place}: {problem}" for place, problem in found)


def requirement(key: str, operator: str, *values: str) -> dict[str, Any]:
    return {"key": key, "operator": operator, **({"values": [*values]} if values else {})}


def budget(**fields: Any) -> dict[str, Any]:
    return {"disruption": {"budgets": [fields]}}


@pytest.mark.parametrize(
    "spec",
    [
        pytest.param({}, id="nothing but a reference"),
        pytest.param({"weight": 100, "limits": {"cpu": "100", "memory": "1Ti"}}, id="limits"),
        pytest.param({"limits": {"cpu": 100, "nvidia.com/gpu": 2}}, id="limits as numbers"),
        pytest.param({"expire": "Never"}, id="no expiration"),
        pytest.param({"expire": "720h30m"}, id="a duration of two units"),
        pytest.param(budget(nodes="100%", reasons=["Empty"]), id="a budget for a reason"),
        pytest.param(budget(nodes="0", schedule="@daily", duration="8h"), id="a nightly budget"),
        pytest.param(budget(nodes="5", schedule="0 9 * * mon-fri", duration="8h30m"), id="by day"),
        pytest.param(
            {"requirements": [requirement("a", "In", "1", "2"), requirement("a", "NotIn", "1")]},
            id="requirements that leave a value",
        ),
        pytest.param(
            {"requirements": [requirement("a", "Gt", "1"), requirement("a", "Lt", "3")]},
            id="bounds that leave a number",
        ),
        pytest.param(
            {"requirements": [requirement(ZONE, "In", "us-west-2b")], "zones": ["us-west-2b"]},
            id="a zone of the stack",
        ),
        pytest.param(
            {"requirements": [requirement("a", "DoesNotExist"), requirement("a", "NotIn", "1")]},
            id="a label that is not to be there",
        ),
        pytest.param({"disruption": {"consolidationPolicy": "Balanced"}}, id="a policy of today"),
    ],
)
def test_what_the_api_takes_is_no_problem(spec: dict[str, Any]) -> None:
    assert problems(**spec) == ""


@pytest.mark.parametrize(
    ("spec", "part"),
    [
        pytest.param({"weight": 0}, "spec.weight: 0 is less than", id="a weight of nothing"),
        pytest.param({"limits": {"cpu": "lots"}}, "such as 100 or 512Gi", id="no quantity"),
        pytest.param({"expire": "30d"}, "720h or Never", id="days"),
        pytest.param(
            {"disruption": {"consolidationPolicy": "WhenUnderutilized"}},
            "WhenEmptyOrUnderutilized",
            id="a policy of the last version",
        ),
        pytest.param({"disruption": {"consolidateAfter": "soon"}}, "30s, 5m or Never", id="a word"),
        pytest.param(budget(nodes=5), "put it in quotes", id="a number for a text"),
        pytest.param(budget(nodes="101%"), "such as 10% or 3", id="more than all"),
        pytest.param(budget(nodes="10%", reasons=["Drift"]), "none of Under", id="no such reason"),
        pytest.param(budget(nodes="1", schedule="@daily"), "set with 'duration'", id="no duration"),
        pytest.param(
            budget(nodes="1", schedule="a b c d e f", duration="1h"), "five fields", id="six fields"
        ),
        pytest.param(
            budget(nodes="1", schedule="@daily", duration="90s"), "such as 8h30m", id="seconds"
        ),
        pytest.param(
            {"requirements": [requirement("zone", "In", "a"), requirement("zone", "In", "b")]},
            "no value of zone meets all of them: this NodePool would select nothing",
            id="two choices that exclude each other",
        ),
        pytest.param(
            {"requirements": [requirement("a", "Gte", "3"), requirement("a", "Lt", "3")]},
            "would select nothing",
            id="bounds that cross",
        ),
        pytest.param(
            {"requirements": [requirement("a", "In", "1", "2"), requirement("a", "Gt", "2")]},
            "would select nothing",
            id="a choice below the bound",
        ),
        pytest.param(
            {"requirements": [requirement("a", "DoesNotExist"), requirement("a", "Exists")]},
            "would select nothing",
            id="a label that is there and is not",
        ),
        pytest.param(
            {"requirements": [requirement("team", "In", "a")], "labels": {"team": "b"}},
            "would select nothing",
            id="a label that its own requirement excludes",
        ),
        pytest.param(
            {"requirements": [requirement(ZONE, "In", "us-west-2d")], "zones": ["us-west-2a"]},
            "allows none of this stack's zones (us-west-2a)",
            id="a zone that the stack is not in",
        ),
        pytest.param(
            {"requirements": [{"key": "zone", "operator": "In", "values": []}]},
            "must have a value",
            id="a choice among none",
        ),
    ],
)
def test_what_the_api_would_refuse_is_said_at_preview(spec: dict[str, Any], part: str) -> None:
    assert part in problems(**spec)
