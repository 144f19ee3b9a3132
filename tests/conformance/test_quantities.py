"""Quantities, durations and pod requests as Kubernetes reads them.

Source: k8s.io/apimachinery resource.Quantity, Go time.ParseDuration, k8s.io/component-helpers resource.PodRequests.
"""

from datetime import timedelta
from typing import Any

import pytest

from daiku.model import resources, units


@pytest.mark.parametrize(
    ("text", "millis"),
    [
        ("1", 1000),
        ("100m", 100),
        ("0.1", 100),
        (".5", 500),
        ("1.", 1000),
        ("1n", 1),
        ("1500u", 2),
        ("2k", 2_000_000),
        ("1e3", 1_000_000),
        ("0", 0),
        (0.25, 250),
        (3, 3000),
    ],
)
def test_cpu_is_read_in_millicores_rounded_up(text: str | float, millis: int) -> None:
    assert units.parse_cpu_millis(text) == millis


@pytest.mark.parametrize(
    ("text", "amount"),
    [
        ("1Ki", 1024),
        ("1.5Gi", 1610612736),
        ("1G", 10**9),
        ("1E", 10**18),
        ("1E2", 100),
        ("1e-3", 1),
        ("100m", 1),
        ("8Ei", 2**63 - 1),
        ("110", 110),
    ],
)
def test_everything_else_is_read_in_whole_units_rounded_up(text: str, amount: int) -> None:
    assert units.parse_bytes_or_count(text) == amount


@pytest.mark.parametrize(
    "text",
    ["", "1 Gi", "1gi", "1KI", "Gi", "--1", "1e", "1_000", "0x10", "\N{FULLWIDTH DIGIT ONE}"],
)
def test_what_is_no_quantity_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="is not a quantity"):
        units.parse_bytes_or_count(text)


@pytest.mark.parametrize(
    ("resource", "amount", "text"),
    [
        ("cpu", 1500, "1500m"),
        ("cpu", 2000, "2"),
        ("memory", 2**30, "1Gi"),
        ("memory", 1536 * 2**20, "1536Mi"),
        ("memory", 1001, "1001"),
        ("memory", 0, "0"),
        ("pods", 1024, "1024"),
    ],
)
def test_amounts_are_written_as_short_as_they_are_exact(
    resource: str, amount: int, text: str
) -> None:
    assert units.format_quantity(resource, amount) == text


@pytest.mark.parametrize(
    ("text", "length"),
    [
        ("1h30m", timedelta(minutes=90)),
        ("720h", timedelta(days=30)),
        ("1.5h", timedelta(minutes=90)),
        ("100ms", timedelta(milliseconds=100)),
        ("0", timedelta(0)),
        ("0s", timedelta(0)),
        ("-5s", timedelta(seconds=-5)),
    ],
)
def test_durations_are_go_s(text: str, length: timedelta) -> None:
    assert units.parse_duration(text) == length


@pytest.mark.parametrize("text", ["", "5", "1d", "1h 30m", "h", "1.2.3s"])
def test_what_is_no_duration_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="is not a duration"):
        units.parse_duration(text)


def container(
    cpu: str = "", memory: str = "", *, always: bool = False, **limits: str
) -> dict[str, Any]:
    requests = {r: q for r, q in {"cpu": cpu, "memory": memory}.items() if q}
    made: dict[str, Any] = {"resources": {"requests": requests, "limits": limits}}
    return made | ({"restartPolicy": "Always"} if always else {})


@pytest.mark.parametrize(
    ("spec", "requests"),
    [
        pytest.param({"containers": [{}]}, {"pods": 1}, id="a pod without requests takes a place"),
        pytest.param(
            {"containers": [container("1", "1Ki"), container("500m")]},
            {"cpu": 1500, "memory": 1024, "pods": 1},
            id="containers add up",
        ),
        pytest.param(
            {"containers": [container("1")], "initContainers": [container("3"), container("2")]},
            {"cpu": 3000, "pods": 1},
            id="init containers count at their highest",
        ),
        pytest.param(
            {
                "containers": [container("1")],
                "initContainers": [container("1", always=True), container("1")],
            },
            {"cpu": 2000, "pods": 1},
            id="a sidecar runs beside the init containers after it, and beside the containers",
        ),
        pytest.param(
            {
                "containers": [container("1")],
                "initContainers": [container("3"), container("1", always=True)],
            },
            {"cpu": 3000, "pods": 1},
            id="an init container before the sidecar runs alone",
        ),
        pytest.param(
            {"containers": [container("1")], "overhead": {"cpu": "100m"}},
            {"cpu": 1100, "pods": 1},
            id="overhead is added",
        ),
        pytest.param(
            {"containers": [container(cpu="1")], "resources": {"requests": {"cpu": "4"}}},
            {"cpu": 4000, "pods": 1},
            id="requests of the whole pod replace the sum",
        ),
        pytest.param(
            {
                "containers": [container("1"), container("1")],
                "initContainers": [
                    container("1", always=True),
                    container("4"),
                    container("1", always=True),
                ],
            },
            {"cpu": 5000, "pods": 1},
            id="an init container between two sidecars runs beside the first only",
        ),
        pytest.param(
            {
                "containers": [container("1", "1Ki")],
                "initContainers": [container("500m", "8Ki")],
            },
            {"cpu": 1000, "memory": 8192, "pods": 1},
            id="each resource has its own highest",
        ),
        pytest.param(
            {
                "containers": [container("1")],
                "initContainers": [container("3")],
                "resources": {"requests": {"cpu": "2"}},
                "overhead": {"cpu": "1"},
            },
            {"cpu": 3000, "pods": 1},
            id="requests of the whole pod replace init containers too, and overhead comes on top",
        ),
        pytest.param(
            {"containers": [{}], "resources": {"limits": {"memory": "1Ki"}}},
            {"memory": 1024, "pods": 1},
            id="a limit of the whole pod is its request when nothing else is asked for",
        ),
        pytest.param(
            {
                "containers": [container("1")],
                "resources": {"requests": {"nvidia.com/gpu": "1"}},
            },
            {"cpu": 1000, "pods": 1},
            id="the whole pod may ask for cpu, memory and hugepages only",
        ),
        pytest.param(
            {"containers": [{"resources": {"limits": {"cpu": "2", "nvidia.com/gpu": "1"}}}]},
            {"cpu": 2000, "nvidia.com/gpu": 1, "pods": 1},
            id="a limit without a request is the request",
        ),
    ],
)
def test_a_pod_asks_for(spec: dict[str, Any], requests: dict[str, int]) -> None:
    assert resources.pod_requests(spec) == requests


def test_a_bad_quantity_is_named_with_its_resource() -> None:
    with pytest.raises(ValueError, match="memory: '1gi' is not a quantity"):
        resources.parse({"memory": "1gi"})
