"""The only replica of a Deployment is moved by every kind of disruption, and its Service always has a ready endpoint.

Real are the scheduler, ReplicaSets, EndpointSlices and evictions; judged by what the API server says of the endpoints,
which is asked many times a second.
"""

from collections.abc import Iterator

import pytest
from tests import manifests
from tests.e2e import kwok
from tests.e2e.conftest import Journey, wait
from tests.e2e.kwok import Api, Endpoints
from tests.running import Controller

from daiku.model import labels

pytestmark = pytest.mark.e2e
POOL = "/apis/karpenter.sh/v1/nodepools/default"
SERVICE = {
    "apiVersion": "v1",
    "kind": "Service",
    "metadata": {"name": "solo"},
    "spec": {"selector": {"app": "solo"}, "ports": [{"port": 80}]},
}


@pytest.fixture(scope="module")
def controller(journey: Journey, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Controller]:
    solo = manifests.deployment("solo", 1, annotations={labels.SURGE: "true"})
    big = manifests.deployment("big", 0, cpu="6")
    solo["spec"]["minReadySeconds"] = 2
    yield from kwok.run(journey, tmp_path_factory, manifests.node_pool(), SERVICE, big, solo)


@pytest.fixture(scope="module")
def api(journey: Journey) -> Api:
    return Api(journey)


@pytest.fixture
def endpoints(api: Api, controller: Controller) -> Endpoints:
    assert controller.process.poll() is None
    wait("the pod serves", lambda: len(api.node_of("solo")) == 1, 90)
    made = Endpoints(api, "solo")
    wait("its endpoint is ready", lambda: Endpoints(api, "solo").look() == 1, 30)
    return made


def moved(api: Api, before: list[str]) -> bool:
    """Whether the pod runs elsewhere, its old node is gone, and nothing is left of the surge."""
    now = api.node_of("solo")
    return len(now) == 1 and now != before and before[0] not in api.nodes() and is_over(api)


def is_over(api: Api) -> bool:
    """Whether the Deployment is as it was."""
    found = api.all("/apis/apps/v1/namespaces/default/deployments")
    (solo,) = (d for d in found if d["metadata"]["name"] == "solo")
    known = solo["metadata"].get("labels", {})
    return solo["spec"]["replicas"] == 1 and labels.SURGING not in known


def test_consolidation(api: Api, endpoints: Endpoints, journey: Journey) -> None:
    journey.run("kubectl", "scale", "deployment/big", "--replicas=1")
    wait("the big pod runs", lambda: len(api.node_of("big")) == 1, 60)
    # Together they would do with one node; the small pod is the one that moves, for it is on the cheaper of the two.
    before = api.node_of("solo")
    endpoints.until("the small node is gone", lambda: moved(api, before), 150)
    assert (endpoints.fewest, endpoints.look()) == (1, 1)
    assert api.said("SurgeStarted")


def test_drift(api: Api, endpoints: Endpoints) -> None:
    before = api.node_of("solo")
    blue = {"spec": {"template": {"metadata": {"labels": {"team": "blue"}}}}}
    api.patch(POOL, blue)
    endpoints.until("the drifted node is replaced", lambda: moved(api, before), 240)
    assert (endpoints.fewest, endpoints.look()) == (1, 1)


def test_expiry(api: Api, endpoints: Endpoints) -> None:
    """Every node lives for half a minute, for two generations."""
    api.patch(POOL, {"spec": {"template": {"spec": {"expireAfter": "40s"}}}})
    for _ in range(2):
        before = api.node_of("solo")
        endpoints.until("the expired node is gone", lambda before=before: moved(api, before), 240)
    assert (endpoints.fewest, endpoints.looks > 100) == (1, True)
