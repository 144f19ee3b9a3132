"""`daiku run --cloud kwok` as a process against a real control plane: leading, scaling, handing over, stopping."""

import datetime as dt
import json
import os
import signal
import time
from collections.abc import Callable, Generator
from pathlib import Path
from typing import Any

import pytest
from tests import manifests
from tests.manifests import Json
from tests.running import Controller

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


def says(controller: Controller, message: str) -> bool:
    return bool(times(controller, message))


def times(controller: Controller, message: str) -> list[dt.datetime]:
    """When it said so, by its own log."""
    return [dt.datetime.fromisoformat(line["time"]) for line in told(controller, message)]


def begun(controller: Controller) -> list[dt.datetime]:
    """When it began each of the commands that it has carried out, by its own log."""
    return [
        dt.datetime.fromisoformat(line["time"]) - dt.timedelta(seconds=line["seconds"])
        for line in told(controller, "done")
    ]


def told(controller: Controller, message: str) -> list[Json]:
    lines = controller.log.read_text().splitlines()
    read = (json.loads(line) for line in lines if line[:1] == "{")
    return [line for line in read if line["message"] == message]


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Generator[World]:
    """A cluster with our CRDs, a NodePool of the kwok cloud and a Deployment of no pods."""
    folder = tmp_path_factory.mktemp("kwok") / "world"
    now = dt.datetime.now(dt.UTC)  # noqa: TID251 - certificates must be valid in real time
    made = up.up(folder, toolchain.ensure(), now, _silent)
    client = _client(made)
    manifests.install(client, manifests.node_class(), _node_pool(), _deployment())
    yield made
    down.down(folder, _silent)


@pytest.fixture
def start(world: World, tmp_path: Path) -> Generator[Callable[[], Controller]]:
    """Starts controllers, and stops those that a test left."""
    started: list[Controller] = []

    def run() -> Controller:
        variables = environment.of_commands(world, toolchain.ensure().folder, os.environ)
        started.append(Controller(variables, tmp_path / f"controller-{len(started)}.log"))
        started[-1].start()
        return started[-1]

    yield run
    for controller in started:
        controller.kill()


def test_a_deployment_is_scaled_out_and_in_again(
    world: World, start: Callable[[], Controller]
) -> None:
    client = _client(world)
    controller = start()
    _until(lambda: controller.probe("/readyz") == 200)

    _scale(client, 12)
    _until(lambda: _running(client) == 12)
    claims = manifests.items(client, CLAIMS)
    _scale(client, 0)
    _until(lambda: not manifests.items(client, CLAIMS))

    assert {claim["metadata"]["labels"]["karpenter.sh/nodepool"] for claim in claims} == {"kwok"}
    assert controller.probe("/healthz") == 200
    _until(lambda: not _kwok_nodes(client))
    assert controller.stop() == 0
    assert json.loads(client.get(LEASE))["spec"]["holderIdentity"] == ""


def test_a_standby_takes_over_at_once_when_the_leader_stops(
    world: World, start: Callable[[], Controller]
) -> None:
    client = _client(world)
    leader = start()
    _until(lambda: says(leader, "leading"))
    standby = start()
    _until(lambda: standby.probe("/readyz") == 200 and says(standby, "standing by"))

    began = time.monotonic()
    assert leader.stop() == 0
    _until(lambda: says(standby, "leading"))
    assert time.monotonic() - began < 10
    _scale(client, 3)
    _until(lambda: _running(client) == 3)
    _scale(client, 0)
    _until(lambda: not manifests.items(client, CLAIMS))


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGSTOP], ids=["killed", "frozen"])
def test_a_standby_takes_over_within_20_seconds_and_both_never_act(
    world: World, start: Callable[[], Controller], number: int
) -> None:
    client = _client(world)
    leader = start()
    _until(lambda: says(leader, "leading"))
    standby = start()
    _until(lambda: standby.probe("/readyz") == 200 and says(standby, "standing by"))

    _scale(client, 30)
    _until(lambda: len(manifests.items(client, CLAIMS)) > 0)
    began = time.monotonic()
    leader.process.send_signal(number)
    _until(lambda: says(standby, "leading"))
    taken = time.monotonic() - began
    _until(lambda: _running(client) == 30)
    if number == signal.SIGSTOP:
        leader.process.send_signal(signal.SIGCONT)
    status = leader.process.wait(SECONDS_MAX)
    _scale(client, 0)
    _until(lambda: not manifests.items(client, CLAIMS) and not _kwok_nodes(client))

    assert taken < 20
    assert status == (-signal.SIGKILL if number == signal.SIGKILL else 1)
    (led,) = times(standby, "leading")
    # Answers that were on their way when the leader was frozen are read, and told, on waking; it begins nothing more.
    assert [at for at in begun(leader) if at > led] == []


def test_a_leader_that_lost_its_lease_ends(world: World, start: Callable[[], Controller]) -> None:
    client = _client(world)
    leader = start()
    _until(lambda: says(leader, "leading"))

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


def _kwok_nodes(client: Client) -> list[str]:
    names = [node["metadata"]["name"] for node in manifests.items(client, "/api/v1/nodes")]
    return [name for name in names if name.startswith("kwok-")]


def _running(client: Client) -> int:
    return sum(pod["status"].get("phase") == "Running" for pod in manifests.items(client, PODS))


def _scale(client: Client, replicas: int) -> None:
    client.patch(f"{manifests.PATHS['Deployment']}/inflate", {"spec": {"replicas": replicas}})


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


def _node_pool() -> Json:
    return manifests.node_pool("kwok", consolidateAfter="0s")


def _deployment() -> Json:
    return manifests.deployment("inflate", 0, cpu="1", memory="0", terminationGracePeriodSeconds=0)


def _silent(_line: str) -> None:
    """Take a line of progress and forget it."""
