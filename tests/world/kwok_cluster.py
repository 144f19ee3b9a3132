"""A real control plane with `daiku run --cloud kwok`, a NodePool and a Deployment, for commands to be tried on."""

import datetime as dt
import json
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Generator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

import daiku
from daiku.kube import errors
from daiku.kube.client import Client
from daiku.kube.credentials import Credentials
from daiku_local import down, environment, toolchain, up
from daiku_local.world import World

DAIKU = str(Path(sys.executable).parent / "daiku")
SECONDS_MAX = 120.0
CLAIMS = "/apis/karpenter.sh/v1/nodeclaims"
PODS = "/api/v1/namespaces/default/pods"
REPLICAS = 4


@dataclass(frozen=True)
class Cluster:
    """The cluster and how to reach it."""

    world: World
    client: Client
    metrics: int
    """Port of the controller's metrics on localhost."""

    @property
    def environ(self) -> dict[str, str]:
        return environment.of_commands(self.world, toolchain.ensure().folder, os.environ)

    def items(self, path: str) -> list[dict[str, Any]]:
        return json.loads(self.client.get(path))["items"]

    def claims(self) -> set[str]:
        """Uids of the NodeClaims."""
        return {claim["metadata"]["uid"] for claim in self.items(CLAIMS)}

    def running(self) -> int:
        return sum(
            pod["status"].get("phase") == "Running" and "deletionTimestamp" not in pod["metadata"]
            for pod in self.items(PODS)
        )


@contextmanager
def cluster(folder: Path) -> Generator[Cluster]:
    """One pod of a Deployment on each of four nodes, and a controller that runs."""
    now = dt.datetime.now(dt.UTC)  # noqa: TID251 - certificates must be valid in real time
    world = up.up(folder, toolchain.ensure(), now, _silent)
    client = Client(Credentials({"KUBECONFIG": str(world.kubeconfig)}))
    made = Cluster(world, client, _free_port())
    for file in sorted((Path(daiku.__file__).parent / "crds").glob("*.yaml")):
        body = yaml.safe_load(file.read_text())
        client.create("/apis/apiextensions.k8s.io/v1/customresourcedefinitions", body)
    for path, body in (
        ("/apis/karpenter.kwok.sh/v1alpha1/kwoknodeclasses", _node_class()),
        ("/apis/karpenter.sh/v1/nodepools", _node_pool()),
        ("/apis/apps/v1/namespaces/default/deployments", _deployment()),
    ):
        until(lambda path=path, body=body: _is_created(client, path, body))
    ports = ["--metrics-port", str(made.metrics), "--health-probe-port", str(_free_port())]
    with (folder / "controller.log").open("w") as log:
        controller = subprocess.Popen(
            [DAIKU, "run", "--cloud", "kwok", "--bind-address", "127.0.0.1", *ports],
            env=made.environ | {"POD_NAMESPACE": "kube-system"},
            stdout=log,
            stderr=subprocess.STDOUT,
        )
    try:
        until(lambda: made.running() == REPLICAS)
        yield made
    finally:
        controller.send_signal(signal.SIGTERM)
        controller.wait(30)
        down.down(folder, _silent)


def until(condition: Callable[[], bool]) -> None:
    deadline = time.monotonic() + SECONDS_MAX
    while not condition():
        assert time.monotonic() < deadline, "it did not become true in time"
        time.sleep(0.2)


def _is_created(client: Client, path: str, body: dict[str, Any]) -> bool:
    try:
        client.create(path, body)
    except (errors.NotFound, errors.TooMany):
        # The API server takes a moment to serve a new CRD.
        return False
    return True


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def _node_class() -> dict[str, Any]:
    return {
        "apiVersion": "karpenter.kwok.sh/v1alpha1",
        "kind": "KWOKNodeClass",
        "metadata": {"name": "default"},
    }


def _node_pool() -> dict[str, Any]:
    ref = {"group": "karpenter.kwok.sh", "kind": "KWOKNodeClass", "name": "default"}
    wanted = {
        "kubernetes.io/arch": "amd64",
        "kubernetes.io/os": "linux",
        "karpenter.kwok.sh/instance-cpu": "2",
    }
    requirements = [{"key": k, "operator": "In", "values": [v]} for k, v in wanted.items()]
    return {
        "apiVersion": "karpenter.sh/v1",
        "kind": "NodePool",
        "metadata": {"name": "kwok"},
        "spec": {
            "limits": {"cpu": "100"},
            "template": {"spec": {"nodeClassRef": ref, "requirements": requirements}},
            "disruption": {"consolidateAfter": "Never", "budgets": [{"nodes": "1"}]},
        },
    }


def _deployment() -> dict[str, Any]:
    container = {"name": "web", "image": "pause", "resources": {"requests": {"cpu": "1500m"}}}
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": "web", "namespace": "default"},
        "spec": {
            "replicas": REPLICAS,
            "selector": {"matchLabels": {"app": "web"}},
            "template": {
                "metadata": {"labels": {"app": "web"}},
                "spec": {"terminationGracePeriodSeconds": 0, "containers": [container]},
            },
        },
    }


def _silent(_line: str) -> None:
    """Take a line of progress and forget it."""
