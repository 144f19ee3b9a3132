"""`daiku run --cloud kwok` as a process against a real control plane: leading, scaling, handing over, stopping."""

import datetime as dt
import json
import os
import signal
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Generator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import yaml

import daiku
from daiku.kube import errors
from daiku.kube.client import Client
from daiku.kube.credentials import Credentials
from daiku_local import down, environment, toolchain, up
from daiku_local.world import World

pytestmark = pytest.mark.world

SECONDS_MAX = 60.0
LEASE = "/apis/coordination.k8s.io/v1/namespaces/kube-system/leases/karpenter-leader-election"
CLAIMS = "/apis/karpenter.sh/v1/nodeclaims"
PODS = "/api/v1/namespaces/default/pods"
DEPLOYMENT = "/apis/apps/v1/namespaces/default/deployments"


@dataclass
class Controller:
    """A running `daiku run`."""

    process: subprocess.Popen[str]
    log: Path
    health: str

    def ask(self, path: str) -> int:
        """HTTP status of a probe; 0 while nobody listens."""
        try:
            with urllib.request.urlopen(f"{self.health}{path}", timeout=5) as answer:  # noqa: S310
                return answer.status
        except urllib.error.HTTPError as error:
            return error.code
        except OSError:
            return 0

    def says(self, message: str) -> bool:
        return any(f'"message": "{message}"' in line for line in self.log.read_text().splitlines())

    def times(self, message: str) -> list[dt.datetime]:
        """When it said so, by its own log."""
        lines = [json.loads(line) for line in self.log.read_text().splitlines() if line[:1] == "{"]
        return [dt.datetime.fromisoformat(x["time"]) for x in lines if x["message"] == message]

    def stop(self, number: int = signal.SIGTERM) -> int:
        self.process.send_signal(number)
        return self.process.wait(SECONDS_MAX)


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Generator[World]:
    """A cluster with our CRDs, a NodePool of the kwok cloud and a Deployment of no pods."""
    folder = tmp_path_factory.mktemp("kwok") / "world"
    now = dt.datetime.now(dt.UTC)  # noqa: TID251 - certificates must be valid in real time
    made = up.up(folder, toolchain.ensure(), now, _silent)
    client = _client(made)
    for file in sorted((Path(daiku.__file__).parent / "crds").glob("*.yaml")):
        body = yaml.safe_load(file.read_text())
        client.create("/apis/apiextensions.k8s.io/v1/customresourcedefinitions", body)
    for body in (_node_class(), _node_pool(), _deployment()):
        _until(lambda body=body: _created(client, body))
    yield made
    down.down(folder, _silent)


@pytest.fixture
def start(world: World, tmp_path: Path) -> Generator[Callable[[], Controller]]:
    """Starts controllers, and stops those that a test left."""
    started: list[Controller] = []

    def run() -> Controller:
        health, metrics = _free_port(), _free_port()
        log = tmp_path / f"controller-{len(started)}.log"
        flags = ["--cloud", "kwok", "--bind-address", "127.0.0.1"]
        ports = ["--metrics-port", str(metrics), "--health-probe-port", str(health)]
        variables = environment.of_commands(world, toolchain.ensure().folder, os.environ)
        with log.open("w") as output:
            process = subprocess.Popen(
                [str(Path(sys.executable).parent / "daiku"), "run", *flags, *ports],
                env=variables | {"POD_NAMESPACE": "kube-system"},
                stdout=output,
                stderr=subprocess.STDOUT,
                text=True,
            )
        started.append(Controller(process, log, f"http://127.0.0.1:{health}"))
        return started[-1]

    yield run
    for controller in started:
        if controller.process.poll() is None:
            controller.process.kill()
            controller.process.wait()


def test_a_deployment_is_scaled_out_and_in_again(
    world: World, start: Callable[[], Controller]
) -> None:
    client = _client(world)
    controller = start()
    _until(lambda: controller.ask("/readyz") == 200)

    _scale(client, 12)
    _until(lambda: _running(client) == 12)
    claims = _items(client, CLAIMS)
    _scale(client, 0)
    _until(lambda: not _items(client, CLAIMS))

    assert {claim["metadata"]["labels"]["karpenter.sh/nodepool"] for claim in claims} == {"kwok"}
    assert controller.ask("/healthz") == 200
    _until(lambda: not _kwok_nodes(client))
    assert controller.stop() == 0
    assert json.loads(client.get(LEASE))["spec"]["holderIdentity"] == ""


def test_a_standby_takes_over_at_once_when_the_leader_stops(
    world: World, start: Callable[[], Controller]
) -> None:
    client = _client(world)
    leader = start()
    _until(lambda: leader.says("leading"))
    standby = start()
    _until(lambda: standby.ask("/readyz") == 200 and standby.says("standing by"))

    began = time.monotonic()
    assert leader.stop() == 0
    _until(lambda: standby.says("leading"))
    assert time.monotonic() - began < 10
    _scale(client, 3)
    _until(lambda: _running(client) == 3)
    _scale(client, 0)
    _until(lambda: not _items(client, CLAIMS))


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGSTOP], ids=["killed", "frozen"])
def test_a_standby_takes_over_within_20_seconds_and_both_never_act(
    world: World, start: Callable[[], Controller], number: int
) -> None:
    client = _client(world)
    leader = start()
    _until(lambda: leader.says("leading"))
    standby = start()
    _until(lambda: standby.ask("/readyz") == 200 and standby.says("standing by"))

    _scale(client, 30)
    _until(lambda: len(_items(client, CLAIMS)) > 0)
    began = time.monotonic()
    leader.process.send_signal(number)
    _until(lambda: standby.says("leading"))
    taken = time.monotonic() - began
    _until(lambda: _running(client) == 30)
    if number == signal.SIGSTOP:
        leader.process.send_signal(signal.SIGCONT)
    status = leader.process.wait(SECONDS_MAX)
    _scale(client, 0)
    _until(lambda: not _items(client, CLAIMS) and not _kwok_nodes(client))

    assert taken < 20
    assert status == (-signal.SIGKILL if number == signal.SIGKILL else 1)
    (led,) = standby.times("leading")
    # One answer may have been on its way when the leader was frozen; it is read, and told, on waking.
    assert len([at for at in leader.times("done") if at > led]) <= 1


def test_a_leader_that_lost_its_lease_ends(world: World, start: Callable[[], Controller]) -> None:
    client = _client(world)
    leader = start()
    _until(lambda: leader.says("leading"))

    lease = json.loads(client.get(LEASE))
    lease["spec"]["holderIdentity"] = "daiku_other_1"
    _until(lambda: _replaced(client, lease))

    assert leader.process.wait(SECONDS_MAX) == 1
    assert "is held by 'daiku_other_1' now" in leader.log.read_text()
    client.delete(LEASE)


def test_beside_another_autoscaler_it_refuses_and_names_it(
    world: World, start: Callable[[], Controller]
) -> None:
    client = _client(world)
    body = _lease("karpenter-7d8f_1")
    client.create(LEASE.rpartition("/")[0], body)

    refused = start()
    deadline = time.monotonic() + SECONDS_MAX
    while refused.process.poll() is None and time.monotonic() < deadline:
        client.patch(LEASE, {"spec": {"renewTime": _now()}})
        time.sleep(1)

    assert refused.process.wait(1) == 1
    assert "another autoscaler runs in this cluster: 'karpenter-7d8f_1'" in refused.log.read_text()
    client.delete(LEASE)


def _client(world: World) -> Client:
    return Client(Credentials({"KUBECONFIG": str(world.kubeconfig)}))


def _items(client: Client, path: str) -> list[dict[str, Any]]:
    return json.loads(client.get(path))["items"]


def _kwok_nodes(client: Client) -> list[str]:
    names = [node["metadata"]["name"] for node in _items(client, "/api/v1/nodes")]
    return [name for name in names if name.startswith("kwok-")]


def _running(client: Client) -> int:
    return sum(pod["status"].get("phase") == "Running" for pod in _items(client, PODS))


def _scale(client: Client, replicas: int) -> None:
    client.patch(f"{DEPLOYMENT}/inflate", {"spec": {"replicas": replicas}})


def _created(client: Client, body: dict[str, Any]) -> bool:
    paths = {
        "KWOKNodeClass": "/apis/karpenter.kwok.sh/v1alpha1/kwoknodeclasses",
        "NodePool": "/apis/karpenter.sh/v1/nodepools",
        "Deployment": DEPLOYMENT,
    }
    try:
        client.create(paths[body["kind"]], body)
    except (errors.NotFound, errors.TooMany):
        # The API server takes a moment to serve a new CRD.
        return False
    return True


def _replaced(client: Client, lease: dict[str, Any]) -> bool:
    current = json.loads(client.get(LEASE))
    lease["metadata"]["resourceVersion"] = current["metadata"]["resourceVersion"]
    lease["spec"]["renewTime"] = _now()
    try:
        client.replace(LEASE, lease)
    except errors.Conflict:
        return False
    return True


def _until(condition: Callable[[], bool]) -> None:
    deadline = time.monotonic() + SECONDS_MAX
    while not condition():
        assert time.monotonic() < deadline, "it did not become true in time"
        time.sleep(0.2)


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def _now() -> str:
    return dt.datetime.now(dt.UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")  # noqa: TID251


def _lease(holder: str) -> dict[str, Any]:
    return {
        "apiVersion": "coordination.k8s.io/v1",
        "kind": "Lease",
        "metadata": {"name": "karpenter-leader-election", "namespace": "kube-system"},
        "spec": {
            "holderIdentity": holder,
            "leaseDurationSeconds": 15,
            "renewTime": _now(),
            "acquireTime": _now(),
        },
    }


def _node_class() -> dict[str, Any]:
    return {
        "apiVersion": "karpenter.kwok.sh/v1alpha1",
        "kind": "KWOKNodeClass",
        "metadata": {"name": "default"},
    }


def _node_pool() -> dict[str, Any]:
    ref = {"group": "karpenter.kwok.sh", "kind": "KWOKNodeClass", "name": "default"}
    requirements = [
        {"key": "kubernetes.io/arch", "operator": "In", "values": ["amd64"]},
        {"key": "kubernetes.io/os", "operator": "In", "values": ["linux"]},
    ]
    return {
        "apiVersion": "karpenter.sh/v1",
        "kind": "NodePool",
        "metadata": {"name": "kwok"},
        "spec": {
            "template": {"spec": {"nodeClassRef": ref, "requirements": requirements}},
            "disruption": {"consolidateAfter": "0s"},
        },
    }


def _deployment() -> dict[str, Any]:
    container = {
        "name": "inflate",
        "image": "public.ecr.aws/eks-distro/kubernetes/pause:3.7",
        "resources": {"requests": {"cpu": "1"}},
    }
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": "inflate", "namespace": "default"},
        "spec": {
            "replicas": 0,
            "selector": {"matchLabels": {"app": "inflate"}},
            "template": {
                "metadata": {"labels": {"app": "inflate"}},
                "spec": {"terminationGracePeriodSeconds": 0, "containers": [container]},
            },
        },
    }


def _silent(_line: str) -> None:
    """Take a line of progress and forget it."""
