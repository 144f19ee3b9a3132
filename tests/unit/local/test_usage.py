"""What the laptop world says that fake pods use: requests, parts of them, limits, and the window that forgets."""

from typing import Any

import pytest

from daiku_local.metrics import usage
from daiku_local.metrics.traffic import REQUEST_SECONDS, WINDOW_SECONDS, Traffic

WEB = ("default", "web")
NOW = "2026-02-03T04:05:06Z"


def _pod(name: str = "web-1", *, ready: bool = True, **resources: Any) -> dict[str, Any]:
    return {
        "metadata": {"name": name, "namespace": "default", "labels": {"app": "web"}},
        "spec": {"containers": [{"name": "web", "resources": resources}, {"name": "sidecar"}]},
        "status": {
            "phase": "Running",
            "conditions": [{"type": "Ready", "status": "True" if ready else "False"}],
        },
    }


def test_requests_cost_processor_time_until_the_window_has_passed() -> None:
    now = [0.0]
    traffic = Traffic(lambda: now[0])
    for _ in range(30):
        traffic.record(WEB)

    now[0] = WINDOW_SECONDS - 1
    during = traffic.millicores()
    now[0] = WINDOW_SECONDS
    after = traffic.millicores()

    assert during == {WEB: pytest.approx(1000 * 30 * REQUEST_SECONDS / WINDOW_SECONDS)}
    assert after == {}


def test_clients_that_ask_without_pause_are_as_many_cores() -> None:
    """What docs/walkthrough.md says of `-c`."""
    now = [0.0]
    traffic = Traffic(lambda: now[0])
    while now[0] < 2 * WINDOW_SECONDS:
        now[0] += REQUEST_SECONDS
        for _client in range(3):
            traffic.record(WEB)

    assert traffic.millicores()[WEB] == pytest.approx(3000, rel=0.01)


def test_load_is_shared_by_the_pods_that_serve() -> None:
    going = _pod("web-3")
    going["metadata"]["deletionTimestamp"] = NOW
    pods = [_pod("web-1"), _pod("web-2"), going, _pod("web-4", ready=False)]

    assert usage.shares(900, pods) == {"web-1": 450, "web-2": 450}


@pytest.mark.parametrize(
    ("resources", "load", "used"),
    [
        ({}, 0.0, ["1m", "1m"]),
        ({}, 449.5, ["451m", "1m"]),
        ({"limits": {"cpu": "200m"}}, 449.5, ["200m", "1m"]),
    ],
)
def test_the_first_container_bears_the_load_up_to_its_limit(
    resources: dict[str, Any], load: float, used: list[str]
) -> None:
    metrics = usage.of_pod(_pod(**resources), load, NOW)

    assert [container["usage"]["cpu"] for container in metrics["containers"]] == used


def test_a_node_uses_what_its_pods_use() -> None:
    pods = [usage.of_pod(_pod(requests={"memory": "1Gi"}), load, NOW) for load in (99.0, 199.0)]
    node = {"metadata": {"name": "ip-10-0-0-4", "labels": {}, "uid": "1"}}

    metrics = usage.of_node(node, pods, NOW)

    assert metrics["usage"] == {"cpu": "302m", "memory": f"{1024 * 1024}Ki"}
    assert metrics["metadata"] == {"name": "ip-10-0-0-4", "labels": {}, "creationTimestamp": NOW}
    assert metrics["window"] == "15s"
