"""Load comes and goes: a real HorizontalPodAutoscaler follows it by metrics.k8s.io, and the nodes follow the pods.

What is real: kube-controller-manager's HPA, the API server's aggregation layer, its RBAC, the scheduler, `daiku run`.
What is not: the pods' usage, which is the requests that the world's front door answered for them.
"""

import http.client
import json
import os
import ssl
import subprocess
import urllib.parse
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
import yaml
from tests import manifests
from tests.e2e import kwok
from tests.e2e.conftest import DAIKU, ROOT, Journey, wait
from tests.e2e.kwok import Api
from tests.manifests import Json
from tests.running import Controller

pytestmark = [pytest.mark.e2e, pytest.mark.usefixtures("controller")]
EXAMPLE = ROOT / "examples" / "walkthrough" / "web.yaml"
CLIENTS = 5
"""Cores of load: at 60 % of half a core, so many pods are wanted."""
WANTED = range(15, 20)
"""17 is 5 / 0.3; the HPA leaves a tenth to either side alone."""


@pytest.fixture(scope="module")
def controller(journey: Journey, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Controller]:
    yield from kwok.run(journey, tmp_path_factory, manifests.node_pool())


@pytest.fixture(scope="module")
def api(journey: Journey) -> Api:
    return Api(journey)


def _bodies() -> list[Json]:
    """The example, with an HPA that takes replicas back after seconds in place of minutes."""
    bodies = [body for body in yaml.safe_load_all(EXAMPLE.read_text()) if body["kind"] != "Ingress"]
    [hpa] = [body for body in bodies if body["kind"] == "HorizontalPodAutoscaler"]
    hpa["spec"]["behavior"] = {"scaleDown": {"stabilizationWindowSeconds": 5}}
    return bodies


def _nodes(api: Api) -> int:
    return len(api.all("/api/v1/nodes", "karpenter.sh/nodepool"))


def _hpa(journey: Journey) -> Any:
    return journey.kubectl("get", "hpa", "web")


def test_an_hpa_without_load_has_its_figure_and_keeps_its_least(journey: Journey, api: Api) -> None:
    for body in _bodies():
        kwok.apply(journey, body)
    wait("the pods run", lambda: len(api.node_of("web")) == 3, 120)

    wait("the HPA knows the pods' usage", lambda: _usage(journey) is not None, 120)

    conditions = {c["type"]: c["status"] for c in _hpa(journey)["status"]["conditions"]}
    assert conditions["ScalingActive"] == "True"
    assert _usage(journey) in range(3)
    assert _hpa(journey)["status"]["desiredReplicas"] == 3


def _usage(journey: Journey) -> int | None:
    """Percent of what the pods ask for, as the HPA last saw it."""
    for metric in _hpa(journey)["status"].get("currentMetrics") or ():
        if metric.get("type") == "Resource":
            return metric["resource"]["current"].get("averageUtilization")
    return None


def test_kubectl_top_shows_pods_and_nodes(journey: Journey) -> None:
    pods = journey.run("kubectl", "top", "pods", "--selector", "app=web", "--no-headers")
    nodes = journey.run("kubectl", "top", "nodes", "--no-headers")

    assert [line.split()[1:] for line in pods.splitlines()] == [["1m", "128Mi"]] * 3
    assert nodes


def test_who_may_not_read_pod_metrics_is_refused_by_the_api_server(journey: Journey) -> None:
    command = ("local", "exec", "--", "kubectl", "top", "pods")

    refused = journey.daiku(*command, "--as=system:serviceaccount:default:default", check=False)

    assert refused.returncode
    assert 'cannot list resource "pods" in API group "metrics.k8s.io"' in refused.stderr


def test_nobody_but_the_api_server_is_answered(journey: Journey) -> None:
    """Not even the administrator: whoever is answered could name any user."""
    pki, port = journey.here.pki, _metrics_port(journey)
    context = ssl.create_default_context(cafile=pki / "ca.crt")
    context.check_hostname = False
    context.load_cert_chain(pki / "admin.crt", pki / "admin.key")
    connection = http.client.HTTPSConnection("127.0.0.1", port, context=context, timeout=10)

    with closing(connection), pytest.raises((ssl.SSLError, ConnectionError)):
        _ask(connection, "/apis/metrics.k8s.io/v1beta1/pods")


def _metrics_port(journey: Journey) -> int:
    service: Any = journey.kubectl("get", "apiservice", "v1beta1.metrics.k8s.io")
    return int(service["spec"]["service"]["port"])


def _ask(connection: http.client.HTTPSConnection, path: str) -> bytes:
    connection.request("GET", path, headers={"X-Remote-User": "system:admin"})
    return connection.getresponse().read()


def test_under_load_replicas_rise_and_nodes_come(
    journey: Journey, api: Api, tmp_path: Path
) -> None:
    before = _nodes(api)
    with (tmp_path / "load.log").open("w") as log:
        load = subprocess.Popen(
            [DAIKU, "local", "load", "default/web", "-c", str(CLIENTS), "-t", "600"],
            env={**os.environ, "DAIKU_WORLD": str(journey.folder)},
            stdout=log,
            stderr=subprocess.STDOUT,
        )
    try:
        wait("as many replicas as the load needs", lambda: len(api.node_of("web")) in WANTED, 240)
        assert _nodes(api) > before
    finally:
        load.terminate()
        load.wait()


def test_when_the_load_ends_replicas_and_nodes_go(api: Api) -> None:
    high = _nodes(api)

    wait("three replicas again", lambda: len(api.pods("web")) == 3, 240)

    wait("fewer nodes", lambda: _nodes(api) < high, 240)
    wait("three pods run", lambda: len(api.node_of("web")) == 3, 60)


def test_the_front_door_says_when_nobody_is_behind_it(journey: Journey) -> None:
    door = urllib.parse.urlsplit(journey.here.door_endpoint)
    answers: dict[str, int] = {}
    for path in ("/", "/default/nobody", "/kube-system/metrics-server"):
        connection = http.client.HTTPConnection(door.netloc, timeout=10)
        connection.request("GET", path)
        answers[path] = connection.getresponse().status
        connection.close()

    assert answers == {"/": 404, "/default/nobody": 404, "/kube-system/metrics-server": 503}
    assert json.loads(journey.daiku("local", "status", "--format", "json").stdout)["door_endpoint"]
