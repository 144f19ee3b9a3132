"""Six half-empty medium nodes become a few large ones, with the real scheduler and the real eviction API in between.

Two would do. Where kube-scheduler, which prefers empty nodes, puts the pods on three, those stay for a while: to move
a pod again is dear for ten minutes.

No single node can go or be had cheaper, and all pods together are more than one large node holds: only looking at all
of them finds it. The pods' PodDisruptionBudget holds at every look.
"""

import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import pytest
from tests import manifests
from tests.e2e import kwok
from tests.e2e.conftest import Journey, wait
from tests.running import Controller

pytestmark = pytest.mark.e2e
PODS, AVAILABLE = 6, 5
PRICES = {"medium": 0.40, "large": 0.70}
TYPE = "node.kubernetes.io/instance-type"
CPUS = {"medium": "8", "large": "20"}
"""Of pods that ask for 4.5 a medium node holds one, a large one four."""


@dataclass
class Fewest:
    """Looks at the pods again and again, and remembers the fewest that were ready."""

    journey: Journey
    ready: list[int] = field(default_factory=list)

    def look(self) -> int:
        pods: Any = self.journey.kubectl("get", "pods", "-l", "app=shop")["items"]
        count = sum(
            any(c["type"] == "Ready" and c["status"] == "True" for c in conditions)
            for p in pods
            if (conditions := p["status"].get("conditions", ()))
        )
        self.ready.append(count)
        return count


@pytest.fixture(scope="module")
def controller(
    journey: Journey,
    tmp_path_factory: pytest.TempPathFactory,
    monkeypatch_module: pytest.MonkeyPatch,
) -> Iterator[Controller]:
    types = tmp_path_factory.mktemp("repack") / "types.json"
    types.write_text(json.dumps([_type(name) for name in PRICES]))
    monkeypatch_module.setenv("INSTANCE_TYPES_FILE_PATH", str(types))
    shop = manifests.deployment("shop", PODS, cpu="4500m", memory="1Gi")
    pool = manifests.node_pool(only={TYPE: ["medium"]})
    yield from kwok.run(journey, tmp_path_factory, pool, shop, _budget())


@pytest.fixture(scope="module")
def monkeypatch_module() -> Iterator[pytest.MonkeyPatch]:
    with pytest.MonkeyPatch.context() as patch:
        yield patch


def test_six_half_empty_nodes_become_two_or_three_and_the_budget_of_their_pods_holds(
    journey: Journey, controller: Controller
) -> None:
    seen = Fewest(journey)
    wait(f"{PODS} pods ready", lambda: seen.look() == PODS, 120)
    assert sorted(_types(journey)) == ["medium"] * PODS
    seen.ready.clear()

    kwok.apply(journey, manifests.node_pool(only={TYPE: ["medium", "large"]}))
    wait("two or three large nodes", lambda: _is_settled(journey, seen), 240)

    assert seen.look() == PODS
    assert min(seen.ready) >= AVAILABLE
    assert kwok.price(controller) == pytest.approx(len(_types(journey)) * PRICES["large"])
    decided = _metric(controller, "karpenter_voluntary_disruption_decisions_total")
    assert any('consolidation_type="repack"' in line for line in decided)


def _is_settled(journey: Journey, seen: Fewest) -> bool:
    ready = seen.look()
    types = _types(journey)
    return ready == PODS and set(types) == {"large"} and len(types) <= 3


def _types(journey: Journey) -> list[str]:
    claims: Any = journey.kubectl("get", "nodeclaims")["items"]
    return [c["metadata"]["labels"].get(TYPE, "") for c in claims]


def _metric(controller: Controller, name: str) -> list[str]:
    return [line for line in controller.metrics() if line.startswith(name)]


def _type(name: str) -> dict[str, Any]:
    needs = [
        {"key": "karpenter.sh/capacity-type", "operator": "In", "values": ["on-demand"]},
        {"key": "topology.kubernetes.io/zone", "operator": "In", "values": ["test-zone-a"]},
    ]
    return {
        "name": name,
        "architecture": "amd64",
        "operatingSystems": ["linux"],
        "resources": {"cpu": CPUS[name], "memory": "64Gi", "pods": "110"},
        "offerings": [{"Price": PRICES[name], "Available": True, "Requirements": needs}],
    }


def _budget() -> dict[str, Any]:
    return {
        "apiVersion": "policy/v1",
        "kind": "PodDisruptionBudget",
        "metadata": {"name": "shop"},
        "spec": {"minAvailable": AVAILABLE, "selector": {"matchLabels": {"app": "shop"}}},
    }
