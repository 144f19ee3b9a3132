"""The plan for examples/scheduling is one that a platform engineer would sign: what its comments promise is kept."""

import io
import json
import re
from collections import Counter
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from daiku.cli import planning

FOLDER = Path(__file__).resolve().parents[3] / "examples" / "scheduling"
GAP_MOST = 0.4
"""Some nodes hold a single large pod, and a bound counts parts of nodes."""


@cache
def plan() -> dict[str, Any]:
    request = planning.Request(sources=(str(FOLDER),), output="json")
    answer = planning.answer(request, io.BytesIO(), lambda *_: None, lambda: 0.0)
    assert answer.is_sound
    return json.loads(answer.text)


def nodes_of(name: str) -> list[dict[str, Any]]:
    """The node of each pod of a workload."""
    found = [n for n in plan()["newNodes"] for p in n["pods"] if p.split("/")[1].startswith(name)]
    assert found, name
    return found


def zones_of(name: str) -> Counter[str]:
    return Counter(" or ".join(node["zones"]) for node in nodes_of(name))


def neighbours(name: str) -> set[str]:
    """Workloads on the same nodes."""
    pods = (p.split("/")[1] for node in nodes_of(name) for p in node["pods"])
    return {p.rsplit("-", 2)[0] if p.count("-") > 1 else p.rsplit("-", 1)[0] for p in pods}


def test_every_pod_has_a_place() -> None:
    assert plan()["unschedulable"] == []
    assert sum(len(node["pods"]) for node in plan()["newNodes"]) == 48


def test_it_costs_little_more_than_the_least_possible() -> None:
    assert 0 <= plan()["gap"] < GAP_MOST


def test_pods_are_spread_over_zones_and_hosts() -> None:
    assert zones_of("web") == {"eu-west-1a": 2, "eu-west-1b": 2, "eu-west-1c": 2}
    assert all(sum(p.startswith("shop/web") for p in node["pods"]) == 1 for node in nodes_of("web"))
    assert zones_of("search") == {"eu-west-1a": 1, "eu-west-1b": 1, "eu-west-1c": 1}


def test_company_is_kept_and_refused() -> None:
    assert set(zones_of("cache")) <= set(zones_of("web"))
    assert zones_of("quorum") == {"eu-west-1a": 1, "eu-west-1b": 1, "eu-west-1c": 1}
    assert "checkout" not in neighbours("report")


def test_capacity_is_what_was_asked_for() -> None:
    assert {node["capacityType"] for node in nodes_of("checkout")} == {"on-demand"}
    assert {node["capacityType"] for node in nodes_of("worker")} == {"spot"}
    encoders = nodes_of("encoder")
    assert {name[0] for node in encoders for name in node["instanceTypes"]} == {"c"}
    assert zones_of("encoder") == {"eu-west-1a": 4}


def test_volumes_are_reached_and_taints_respected() -> None:
    assert zones_of("postgres") == {"eu-west-1a": 1, "eu-west-1b": 1}
    assert {node["nodePool"] for node in nodes_of("postgres")} == {"databases"}
    assert zones_of("archive") == {"eu-west-1c": 1}
    of_databases = [n for n in plan()["newNodes"] if n["nodePool"] == "databases"]
    assert all("postgres" in pod for node in of_databases for pod in node["pods"])


def test_gpus_and_ports_are_not_shared() -> None:
    gpus = nodes_of("inference")
    assert [node["instanceTypes"][0] for node in gpus] == ["g5.xlarge", "g5.xlarge"]
    assert [len(node["pods"]) for node in gpus] == [1, 1]
    ingress = nodes_of("ingress")
    assert len({id(node) for node in ingress}) == 2


@pytest.mark.parametrize("output", ["table", "markdown"])
def test_it_can_be_shown(output: str) -> None:
    request = planning.Request(sources=(str(FOLDER),), output=output)

    text = planning.answer(request, io.BytesIO(), lambda *_: None, lambda: 0.0).text

    assert "48 pods on" in text
    assert "r6i.xlarge" in text


@pytest.mark.parametrize("columns", [60, 70, 80, 100, 120, 140, 200])
def test_no_row_is_broken_in_a_terminal(columns: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Only the last column goes over several lines; others are left out, and that is said."""
    monkeypatch.setenv("COLUMNS", str(columns))
    request = planning.Request(sources=(str(FOLDER),), colour=True)

    text = planning.answer(request, io.BytesIO(), lambda *_: None, lambda: 0.0).text

    assert "r6i.xlarge" in text
    assert ("no room here for" in text) is (columns < 150)
    pools = [line for line in text.splitlines() if line.startswith(("general", "databases", "gpu"))]
    assert len(pools) == len(re.findall(r" [a-z]+\d\w*\.\w+ ", text))
