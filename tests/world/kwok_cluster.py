"""A real control plane with `daiku run --cloud kwok`, a NodePool and a Deployment, for commands to be tried on."""

import datetime as dt
import os
import time
from collections.abc import Callable, Generator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from tests import manifests
from tests.manifests import Json
from tests.running import Controller

from daiku.kube.client import Client
from daiku.kube.credentials import Credentials
from daiku_local import down, environment, toolchain, up
from daiku_local.world import World

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

    def items(self, path: str) -> list[Json]:
        return manifests.items(self.client, path)

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
    manifests.install(client, manifests.node_class(), _node_pool(), _deployment())
    controller = Controller(
        environment.of_commands(world, toolchain.ensure().folder, os.environ),
        folder / "controller.log",
    )
    controller.start()
    made = Cluster(world, client, controller.port)
    try:
        controller.until(lambda: made.running() == REPLICAS, "all pods run", SECONDS_MAX)
        yield made
    finally:
        controller.stop()
        down.down(folder, _silent)


def until(condition: Callable[[], bool]) -> None:
    deadline = time.monotonic() + SECONDS_MAX
    while not condition():
        assert time.monotonic() < deadline, "it did not become true in time"
        time.sleep(0.2)


def _node_pool() -> Json:
    pool = manifests.node_pool(
        "kwok",
        only={"karpenter.kwok.sh/instance-cpu": ["2"]},
        consolidateAfter="Never",
        budgets=[{"nodes": "1"}],
    )
    pool["spec"]["limits"] = {"cpu": "100"}
    return pool


def _deployment() -> Json:
    return manifests.deployment(
        "web", REPLICAS, cpu="1500m", memory="0", terminationGracePeriodSeconds=0
    )


def _silent(_line: str) -> None:
    """Take a line of progress and forget it."""
