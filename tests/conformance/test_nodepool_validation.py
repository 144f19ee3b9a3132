"""A NodePool that came past the API server's schema is looked at once more; what is wrong with it is said.

Source: karpenter-core 1.8, and 7.1 where it says "runtime".
"""

import json

import pytest
from tests.conformance.crds import pools, table

from daiku.api import kinds


@pytest.mark.parametrize("name", pools.RUNTIME)
def test_a_mistake_is_said(name: str) -> None:
    change, words = pools.RUNTIME[name]

    found = kinds.NODE_POOLS.decode(body(change))

    assert words in getattr(found, "invalid", "")


@pytest.mark.parametrize("name", pools.RUNTIME_ACCEPTED)
def test_what_is_right_is_taken(name: str) -> None:
    found = kinds.NODE_POOLS.decode(body(pools.RUNTIME_ACCEPTED[name]))

    assert getattr(found, "invalid", None) == ""


@pytest.mark.parametrize(
    "name", [n for n, (valid, _change) in pools.ACCEPTED.items() if valid is table.NODE_POOL]
)
def test_whatever_the_api_server_takes_here_is_valid(name: str) -> None:
    _valid, change = pools.ACCEPTED[name]

    assert getattr(kinds.NODE_POOLS.decode(body(change)), "invalid", None) == ""


def body(change: table.Json) -> bytes:
    return json.dumps(table.merged(table.NODE_POOL, change)).encode()
