"""Commands that look, on a real cluster without any of our kinds, and by somebody who may not see all of it."""

import datetime as dt
import json
import os
import subprocess
from collections.abc import Generator
from pathlib import Path
from typing import Any

import pytest
from tests.running import DAIKU

from daiku.kube.client import Client
from daiku.kube.credentials import Credentials
from daiku_local import down, toolchain, up
from daiku_local.world import World

pytestmark = pytest.mark.world
RBAC = "/apis/rbac.authorization.k8s.io/v1"
NODE = {
    "apiVersion": "v1",
    "kind": "Node",
    "metadata": {"name": "plain-1", "annotations": {"kwok.x-k8s.io/node": "fake"}},
}


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Generator[World]:
    """A cluster with one node, and none of our CRDs."""
    folder = tmp_path_factory.mktemp("rights") / "world"
    now = dt.datetime.now(dt.UTC)  # noqa: TID251 - certificates must be valid in real time
    made = up.up(folder, toolchain.ensure(), now, lambda _line: None)
    Client(Credentials({"KUBECONFIG": str(made.kubeconfig)})).create("/api/v1/nodes", NODE)
    yield made
    down.down(folder, lambda _line: None)


@pytest.fixture(scope="module")
def reader(world: World, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Kubeconfig of somebody who may see nodes and pods, and nothing else."""
    client = Client(Credentials({"KUBECONFIG": str(world.kubeconfig)}))
    rules = [{"apiGroups": [""], "resources": ["nodes", "pods"], "verbs": ["get", "list", "watch"]}]
    role: dict[str, Any] = {"kind": "ClusterRole", "metadata": {"name": "reader"}, "rules": rules}
    subject = {"kind": "ServiceAccount", "name": "default", "namespace": "default"}
    binding = {
        "kind": "ClusterRoleBinding",
        "metadata": {"name": "reader"},
        "roleRef": {
            "apiGroup": "rbac.authorization.k8s.io",
            "kind": "ClusterRole",
            "name": "reader",
        },
        "subjects": [subject],
    }
    for path, body in ((f"{RBAC}/clusterroles", role), (f"{RBAC}/clusterrolebindings", binding)):
        client.create(path, {"apiVersion": "rbac.authorization.k8s.io/v1", **body})
    asked: dict[str, Any] = {
        "apiVersion": "authentication.k8s.io/v1",
        "kind": "TokenRequest",
        "spec": {},
    }
    answer = client.create("/api/v1/namespaces/default/serviceaccounts/default/token", asked)
    content = json.loads(world.kubeconfig.read_text())
    content["users"][0]["user"] = {"token": json.loads(answer)["status"]["token"]}
    file = tmp_path_factory.mktemp("reader") / "kubeconfig"
    file.write_text(json.dumps(content))
    return file


@pytest.mark.parametrize(
    ("command", "code", "said"),
    [
        (("view", "--once"), 0, "1 node (1 ready)"),
        (("explain", "node", "plain-1"), 0, "Node plain-1 has no NodeClaim"),
        (("explain", "nodepool", "web"), 2, "there is no NodePool web"),
        (("doctor",), 0, "the cluster has no NodePool (karpenter.sh/v1 is not installed)"),
        (("snapshot",), 0, "the cluster has no NodePools (karpenter.sh/v1 is not installed)"),
        (("roll", "--nodepool", "web"), 2, "karpenter.sh"),
    ],
    ids=str,
)
def test_without_our_kinds_there_is_still_an_answer(
    world: World, command: tuple[str, ...], code: int, said: str
) -> None:
    done = _daiku(world.kubeconfig, *command)

    assert said in done.stdout + done.stderr
    assert done.returncode == code
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize(
    ("command", "code", "said"),
    [
        (("view", "--once"), 0, "1 node (1 ready)"),
        (("view", "--once"), 0, "without NodeClaims: "),
        (("explain", "node", "plain-1"), 2, "ask for the right to list it"),
        (("doctor",), 0, "DaemonSet not checked: "),
        (("doctor",), 0, "StorageClass not checked: "),
        (("snapshot",), 1, "ask for the right to list it"),
        (("roll", "--nodepool", "web"), 2, "nodeclaims.karpenter.sh is forbidden"),
    ],
    ids=str,
)
def test_who_may_not_see_a_kind_is_told_which_and_sees_the_rest(
    reader: Path, command: tuple[str, ...], code: int, said: str
) -> None:
    done = _daiku(reader, *command)

    assert said in done.stdout + done.stderr
    assert done.returncode == code
    assert "Traceback" not in done.stderr


def _daiku(kubeconfig: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [DAIKU, *arguments],
        env={
            "PATH": os.environ["PATH"],
            "KUBECONFIG": str(kubeconfig),
            "PYTHONIOENCODING": "ascii",
        },
        capture_output=True,
        text=True,
        check=False,
    )
