"""`daiku snapshot` of a real API server, and `daiku plan` of what it wrote."""

import datetime as dt
import json
import os
import subprocess
import time
from collections.abc import Callable, Generator
from pathlib import Path

import pytest
import yaml
from tests import manifests
from tests.running import DAIKU

from daiku.kube.client import Client
from daiku.kube.credentials import Credentials
from daiku_local import down, environment, toolchain, up
from daiku_local.world import World

pytestmark = pytest.mark.world

SECONDS_MAX = 60.0
SECRET = "hunter2"  # noqa: S105  (what must not be found)
NODE_CLASSES = "/apis/karpenter.kwok.sh/v1alpha1/kwoknodeclasses"
PODS = "/api/v1/namespaces/default/pods"


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Generator[World]:
    """A cluster with a NodePool, and three pods that wait because nothing makes nodes."""
    folder = tmp_path_factory.mktemp("snapshot") / "world"
    now = dt.datetime.now(dt.UTC)  # noqa: TID251 - certificates must be valid in real time
    made = up.up(folder, toolchain.ensure(), now, lambda _line: None)
    client = Client(Credentials({"KUBECONFIG": str(made.kubeconfig)}))
    pool = manifests.node_pool("kwok", consolidateAfter="0s")
    manifests.install(client, manifests.node_class(), pool, _deployment(3))
    ready = {
        "type": "Ready",
        "status": "True",
        "reason": "Ready",
        "message": "",
        "lastTransitionTime": "2026-01-01T00:00:00Z",
    }
    client.patch(f"{NODE_CLASSES}/default/status", {"status": {"conditions": [ready]}})
    _until(lambda: len(manifests.items(client, PODS)) == 3)
    yield made
    down.down(folder, lambda _line: None)


def test_a_snapshot_is_all_that_a_plan_needs(world: World, tmp_path: Path) -> None:
    file = tmp_path / "now.json"

    taken = _daiku(world, "snapshot", "-o", str(file))
    planned = _daiku(world, "plan", "--from", str(file), "--format", "json", "--strict")

    assert "Pod 3" in taken.stderr
    assert SECRET not in file.read_text()
    found = json.loads(planned.stdout)
    assert sum(len(node["pods"]) for node in found["newNodes"]) == 3
    assert {node["nodePool"] for node in found["newNodes"]} == {"kwok"}
    assert found["usdPerHour"]["new"] > 0
    # Both commands say that the cluster has no controller, whose settings they could use; nothing else.
    assert "no settings in it" in taken.stderr
    [note] = planned.stderr.splitlines()
    assert note.startswith("note: the controller's default settings are used")


def test_a_snapshot_can_be_piped_and_changed(world: World, tmp_path: Path) -> None:
    more = tmp_path / "more.yaml"
    more.write_text(yaml.safe_dump(_deployment(5)))

    taken = _daiku(world, "snapshot")
    planned = _daiku(
        world, "plan", "--from", "-", "--from", str(more), "--format", "json", given=taken.stdout
    )

    found = json.loads(planned.stdout)
    assert sum(len(node["pods"]) for node in found["newNodes"]) == 5
    assert "3 of its 5 pods are in the input, 2 are added" in planned.stderr


def test_without_a_cluster_it_says_what_is_missing(world: World, tmp_path: Path) -> None:
    nowhere = tmp_path / "nowhere"

    refused = _daiku(world, "snapshot", check=False, KUBECONFIG=str(nowhere))

    assert refused.returncode == 1
    assert refused.stdout == ""
    assert f"KUBECONFIG={nowhere} does not lead to an API server" in refused.stderr


def _daiku(
    world: World, *arguments: str, given: str = "", check: bool = True, **variables: str
) -> subprocess.CompletedProcess[str]:
    known = environment.of_commands(world, toolchain.ensure().folder, os.environ)
    return subprocess.run(
        [DAIKU, *arguments],
        env={**known, **variables},
        input=given,
        capture_output=True,
        text=True,
        check=check,
        timeout=SECONDS_MAX,
    )


def _until(condition: Callable[[], bool]) -> None:
    deadline = time.monotonic() + SECONDS_MAX
    while not condition():
        assert time.monotonic() < deadline, "it did not become true in time"
        time.sleep(0.2)


def _deployment(replicas: int) -> manifests.Json:
    return manifests.deployment("web", replicas, cpu="1", env={"PASSWORD": SECRET})
