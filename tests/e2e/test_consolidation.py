"""Nodes make place for fewer and cheaper ones, on a real control plane: scheduler, ReplicaSets, evictions, budgets.

The controller runs as its own process with the kwok cloud. Judged from outside: by the API server and by its metrics.
"""

import json
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import pytest
from tests import manifests
from tests.e2e import kwok
from tests.e2e.conftest import Journey, wait
from tests.running import Controller

pytestmark = pytest.mark.e2e
REPLICAS, FEW = 40, 10
UNPLACED = 30.0
"""Seconds that an evicted pod may take to run again: a node is there for it before it is evicted."""


@dataclass
class Watcher:
    """Looks at the pods again and again, and remembers the longest that one of them had no place."""

    journey: Journey
    since: dict[str, float] = field(default_factory=dict)
    longest: float = 0.0

    def look(self) -> list[dict[str, Any]]:
        pods: Any = self.journey.kubectl("get", "pods", "-l", "app=shop")["items"]
        now = time.monotonic()
        waiting = {
            p["metadata"]["name"]: True
            for p in pods
            if p["status"].get("phase") != "Running" and "deletionTimestamp" not in p["metadata"]
        }
        self.since = {name: self.since.get(name, now) for name in waiting}
        self.longest = max([self.longest, *(now - at for at in self.since.values())])
        return pods

    def running(self) -> int:
        return sum(p["status"].get("phase") == "Running" for p in self.look())


@pytest.fixture(scope="module")
def controller(journey: Journey, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Controller]:
    yield from kwok.run(journey, tmp_path_factory, manifests.node_pool(), _shop())


def test_after_a_scale_down_nodes_become_fewer_and_cheaper_and_every_pod_keeps_a_place(
    journey: Journey, controller: Controller
) -> None:
    watcher = Watcher(journey)
    _scale(journey, REPLICAS)
    wait(f"{REPLICAS} pods running", lambda: watcher.running() == REPLICAS, 120)
    full = kwok.price(controller)

    _scale(journey, FEW)
    wait("the others gone", lambda: len(watcher.look()) == FEW, 60)
    watcher.longest = 0.0
    _settled(journey, watcher)

    assert watcher.running() == FEW
    assert kwok.price(controller) < full * 0.5
    assert watcher.longest < UNPLACED
    assert _left_over(journey) == []


def test_drifted_nodes_are_replaced_although_the_controller_dies_on_the_way(
    journey: Journey, controller: Controller
) -> None:
    watcher = Watcher(journey)
    patch = {"spec": {"template": {"metadata": {"labels": {"team": "blue"}}}}}
    journey.run("kubectl", "patch", "nodepool", "default", "--type=merge", "-p", json.dumps(patch))
    wait("a replacement on its way", lambda: len(_claims(journey, "team=blue")) > 0, 60)
    controller.kill()
    controller.start()

    wait("every node replaced", lambda: _all_blue(journey, watcher), 240)

    _settled(journey, watcher)
    assert watcher.running() == FEW
    assert watcher.longest < UNPLACED
    assert _left_over(journey) == []


def _settled(journey: Journey, watcher: Watcher) -> None:
    """Wait until nothing about the nodes has changed for a while."""

    def names() -> list[str]:
        watcher.look()
        return sorted(c["metadata"]["name"] for c in _claims(journey))

    kwok.still("moves come to an end", names, seconds=40, most=300)


def _all_blue(journey: Journey, watcher: Watcher) -> bool:
    watcher.look()
    claims = _claims(journey)
    return bool(claims) and len(_claims(journey, "team=blue")) == len(claims)


def _left_over(journey: Journey) -> list[str]:
    """Marks of disruptions that nobody carries on."""
    nodes: Any = journey.kubectl("get", "nodes")["items"]
    tainted = [
        n["metadata"]["name"]
        for n in nodes
        if any(t["key"] == "karpenter.sh/disrupted" for t in n["spec"].get("taints", []))
    ]
    return tainted + [
        c["metadata"]["name"]
        for c in _claims(journey)
        if any(
            k["type"] == "DisruptionReason" and k["status"] == "True"
            for k in c["status"]["conditions"]
        )
    ]


def _claims(journey: Journey, selector: str = "") -> list[dict[str, Any]]:
    chosen = ["-l", selector] if selector else []
    found: Any = journey.kubectl("get", "nodeclaims", *chosen)["items"]
    return found


def _scale(journey: Journey, replicas: int) -> None:
    journey.run("kubectl", "scale", "deployment/shop", f"--replicas={replicas}")


def _shop() -> dict[str, Any]:
    """Pods of which ten fit on one node only if they are moved together; at most four of a node at first."""
    spread = {
        "maxSkew": 1,
        "topologyKey": "topology.kubernetes.io/zone",
        "whenUnsatisfiable": "ScheduleAnyway",
        "labelSelector": {"matchLabels": {"app": "shop"}},
    }
    return manifests.deployment("shop", 0, memory="1Gi", topologySpreadConstraints=[spread])
