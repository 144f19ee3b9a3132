from typing import Any

import pytest

from daiku_infra import node_pool_rules

REFERENCE = {"group": "karpenter.k8s.aws", "kind": "EC2NodeClass", "name": "default"}


def problems(
    *, requirements: list[dict[str, Any]] | None = None, expire: str | None = None, **spec: Any
) -> str:
    inner: dict[str, Any] = {"nodeClassRef": REFERENCE, "requirements": requirements or []}
    if expire:
        inner["expireAfter"] = expire
    found = node_pool_rules.problems_of_pool({"template": {"spec": inner}, **spec}, ["default"])
    return "\n".join(f"{place}: {problem}" for place, problem in found)


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
        pytest.param(budget(nodes=5, schedule="0 9 * * mon-fri", duration="8h30m"), id="by day"),
        pytest.param(
            {
                "requirements": [
                    {"key": "a", "operator": "In", "values": ["1", "2"]},
                    {"key": "a", "operator": "NotIn", "values": ["1"]},
                ]
            },
            id="requirements that leave a value",
        ),
    ],
)
def test_what_the_api_takes_is_no_problem(spec: dict[str, Any]) -> None:
    assert problems(**spec) == ""


@pytest.mark.parametrize(
    ("spec", "part"),
    [
        pytest.param({"weight": 0}, "from 1 to 100", id="a weight of nothing"),
        pytest.param({"limits": {"cpu": "lots"}}, "spec.limits.cpu: 'lots'", id="no quantity"),
        pytest.param({"expire": "30d"}, "720h or Never", id="days"),
        pytest.param(
            {"disruption": {"consolidationPolicy": "WhenUnderutilized"}},
            "WhenEmptyOrUnderutilized",
            id="a policy of the last version",
        ),
        pytest.param({"disruption": {"consolidateAfter": "soon"}}, "no duration", id="a word"),
        pytest.param(budget(nodes="101%"), "neither a count", id="more than all"),
        pytest.param(budget(nodes="10%", reasons=["Drift"]), "none of Under", id="no such reason"),
        pytest.param(budget(nodes="1", schedule="@daily"), "belong together", id="no duration"),
        pytest.param(
            budget(nodes="1", schedule="9am", duration="1h"), "five fields of cron", id="no cron"
        ),
        pytest.param(
            budget(nodes="1", schedule="@daily", duration="90s"), "whole minutes", id="seconds"
        ),
        pytest.param(
            {
                "requirements": [
                    {"key": "zone", "operator": "In", "values": ["a"]},
                    {"key": "zone", "operator": "In", "values": ["b"]},
                ]
            },
            "no value of zone meets all of them: this NodePool would select nothing",
            id="a pool that selects nothing",
        ),
        pytest.param(
            {"requirements": [{"key": "zone", "operator": "In", "values": []}]},
            "at least one value",
            id="a choice among none",
        ),
    ],
)
def test_what_the_api_would_refuse_is_said_at_preview(spec: dict[str, Any], part: str) -> None:
    assert part in problems(**spec)
