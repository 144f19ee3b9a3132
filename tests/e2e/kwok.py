"""`daiku run` with the kwok cloud as its own process, on a real control plane, and what tests of it have in common."""

import json
import os
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from tests import manifests, own_account
from tests.e2e.conftest import Journey, wait
from tests.manifests import Json
from tests.running import Controller

from daiku.kube.client import Client
from daiku.kube.credentials import Credentials
from daiku_local import environment, toolchain


def price(controller: Controller) -> float:
    """What it says that all nodes cost, in USD per hour; metrics of the cluster are set every 5 s."""
    time.sleep(6)
    return controller.metric("daiku_cluster_price_usd_per_hour")


def run(journey: Journey, folders: pytest.TempPathFactory, *bodies: Json) -> Iterator[Controller]:
    """The controller, as itself, on a cluster with our CRDs, a node class and `bodies`; killed at the end."""
    here = environment.of_commands(journey.here, toolchain.ensure().folder, os.environ)
    admin, folder = Client(Credentials(here)), folders.mktemp("controller")
    manifests.install(admin, manifests.node_class(), *bodies)
    own = own_account.kubeconfig(admin, Path(here["KUBECONFIG"]), folder / "kubeconfig")
    made = Controller(here | {"KUBECONFIG": str(own)}, folder / "controller.log")
    made.start()
    yield made
    made.kill()
    refused = [line for line in made.log.read_text().splitlines() if "forbidden" in line]
    assert not refused, "its role lacks a right"


def apply(journey: Journey, body: Json) -> None:
    """Have an object be like this."""
    file = journey.folder.parent / f"{body['kind']}-{body['metadata']['name']}.json"
    file.write_text(json.dumps(body))
    journey.run("kubectl", "apply", "-f", str(file))


@dataclass
class Api:
    """The API server without the detour over a command, for looking often."""

    journey: Journey
    client: Client = field(init=False)

    def __post_init__(self) -> None:
        here = environment.of_commands(self.journey.here, toolchain.ensure().folder, os.environ)
        self.client = Client(Credentials(here))

    def all(self, path: str, selector: str = "") -> list[Json]:
        query = {"labelSelector": selector} if selector else {}
        pages = self.client.list(path, query)
        return [json.loads(bytes(raw)) for page in pages for raw in page.items]

    def pods(self, app: str) -> list[Json]:
        return self.all("/api/v1/namespaces/default/pods", f"app={app}")

    def node_of(self, app: str) -> list[str]:
        """Where its pods run that are not going, in order."""
        running = (p for p in self.pods(app) if is_ready(p) and not is_leaving(p))
        return sorted(p["spec"]["nodeName"] for p in running)

    def claims(self) -> list[Json]:
        return self.all("/apis/karpenter.sh/v1/nodeclaims")

    def nodes(self) -> list[str]:
        return sorted(n["metadata"]["name"] for n in self.all("/api/v1/nodes"))

    def said(self, reason: str) -> list[str]:
        """Messages of the events of this reason."""
        found = self.all("/api/v1/events")
        return [e["message"] for e in found if e["reason"] == reason]

    def patch(self, path: str, body: Json) -> None:
        self.client.patch(path, body)


@dataclass
class Endpoints:
    """Looks at the endpoints of a Service again and again; the fewest that were ready is what counts."""

    api: Api
    service: str
    fewest: int = 1_000
    looks: int = 0

    def look(self) -> int:
        slices = self.api.all(
            "/apis/discovery.k8s.io/v1/namespaces/default/endpointslices",
            f"kubernetes.io/service-name={self.service}",
        )
        ready = sum(
            bool(e["conditions"].get("ready")) for s in slices for e in s.get("endpoints") or ()
        )
        self.looks += 1
        self.fewest = min(self.fewest, ready)
        return ready

    def until(self, what: str, is_so: Callable[[], bool], seconds: float) -> None:
        """Look on until `is_so`."""

        def seen() -> bool:
            self.look()
            return is_so()

        wait(what, seen, seconds, every=0.05)


def is_ready(pod: Json) -> bool:
    return any(
        c["type"] == "Ready" and c["status"] == "True" for c in pod["status"].get("conditions", ())
    )


def is_leaving(body: Json) -> bool:
    return "deletionTimestamp" in body["metadata"]


def still(what: str, look: Callable[[], Sequence[str]], *, seconds: float, most: float) -> None:
    """Wait until what is seen has not changed for so many seconds."""
    seen: list[Any] = [None, time.monotonic()]

    def is_still() -> bool:
        found = list(look())
        if found != seen[0]:
            seen[:] = [found, time.monotonic()]
        return time.monotonic() - seen[1] > seconds

    wait(what, is_still, most)
