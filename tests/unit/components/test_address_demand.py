from typing import Any

import pytest

from daiku_infra import address_demand


@pytest.mark.parametrize(
    ("spec", "addresses"),
    [
        pytest.param({}, None, id="no limits: nobody can tell"),
        pytest.param({"limits": {"memory": "1Ti"}}, None, id="a limit of something else"),
        pytest.param({"limits": {"cpu": "100"}}, 1500, id="an interface's worth for each vCPU"),
        pytest.param({"limits": {"cpu": 2}}, 30, id="a bare number"),
        pytest.param({"limits": {"cpu": "1500m"}}, 23, id="millicores"),
        pytest.param({"limits": {"nodes": "3"}}, 333, id="nodes, and the pods of each"),
        pytest.param({"limits": {"cpu": "100", "nodes": "2"}}, 222, id="the tighter of two"),
        pytest.param({"replicas": 2}, 222, id="a static pool"),
    ],
)
def test_a_pool_may_take_so_many_addresses(spec: dict[str, Any], addresses: int | None) -> None:
    assert address_demand.of_pool(spec) == addresses


def test_enough_addresses_are_no_news() -> None:
    assert address_demand.shortage({"a": {"limits": {"cpu": "100"}}, "b": {}}, 1500) is None


def test_too_few_addresses_are_told_by_pool_with_the_remedy() -> None:
    pools = {"web": {"limits": {"cpu": "100"}}, "batch": {"limits": {"cpu": "1000"}}}

    said = address_demand.shortage(pools, 8187) or ""

    assert "about 16,500 addresses (web 1,500, batch 15,000)" in said
    assert "hold 8,187: lower limits.cpu, or give pods a range of their own with podCidr" in said
