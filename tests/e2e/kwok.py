"""`daiku run` with the kwok cloud as its own process, on a real control plane, and what tests of it have in common."""

import json
import os
import signal
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from tests.e2e.conftest import Journey, wait

import daiku
from daiku.kube.client import Client
from daiku.kube.credentials import Credentials
from daiku_local import environment, toolchain

REF = {"group": "karpenter.kwok.sh", "kind": "KWOKNodeClass", "name": "default"}
Json = dict[str, Any]


@dataclass
class Controller:
    """`daiku run` with the kwok cloud, started and killed at will."""

    journey: Journey
    log: Path
    port: int = 0
    process: subprocess.Popen[bytes] = field(init=False)

    def start(self) -> None:
        self.port, health = _free_port(), _free_port()
        here = environment.of_commands(self.journey.here, toolchain.ensure().folder, os.environ)
        ports = ["--metrics-port", str(self.port), "--health-probe-port", str(health)]
        flags = ["run", "--cloud", "kwok", "--bind-address", "127.0.0.1", *ports]
        with self.log.open("ab") as output:
            self.process = subprocess.Popen(
                [str(Path(sys.executable).parent / "daiku"), *flags],
                env=here | {"POD_NAMESPACE": "kube-system"},
                stdout=output,
                stderr=subprocess.STDOUT,
            )

    def kill(self) -> None:
        self.process.send_signal(signal.SIGKILL)
        self.process.wait()

    def metrics(self) -> list[str]:
        """The lines of its metrics."""
        url = f"http://127.0.0.1:{self.port}/metrics"
        with urllib.request.urlopen(url, timeout=5) as answer:
            return answer.read().decode().splitlines()

    def price(self) -> float:
        """What it says that all nodes cost, in USD per hour; metrics of the cluster are set every 5 s."""
        time.sleep(6)
        return next(
            float(line.split()[1])
            for line in self.metrics()
            if line.startswith("daiku_cluster_price_usd_per_hour")
        )


def run(journey: Journey, folders: pytest.TempPathFactory, *bodies: Json) -> Iterator[Controller]:
    """The controller on a cluster with our CRDs, a node class and `bodies`; killed at the end."""
    for file in sorted((Path(daiku.__file__).parent / "crds").glob("*.yaml")):
        journey.run("kubectl", "create", "-f", str(file))
    folder = folders.mktemp("controller")
    for body in (node_class(), *bodies):
        wait("a new kind is served", lambda body=body: apply(journey, body, check=False), 60)
    made = Controller(journey, folder / "controller.log")
    made.start()
    yield made
    if made.process.poll() is None:
        made.kill()


def apply(journey: Journey, body: Json, *, check: bool = True) -> bool:
    """Have an object be like this."""
    file = journey.folder.parent / f"{body['kind']}-{body['metadata']['name']}.json"
    file.write_text(json.dumps(body))
    arguments = ("local", "exec", "--", "kubectl", "apply", "-f", str(file))
    return journey.daiku(*arguments, check=check).returncode == 0


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def node_class() -> Json:
    """The node class of all NodePools here."""
    return {
        "apiVersion": f"{REF['group']}/v1alpha1",
        "kind": REF["kind"],
        "metadata": {"name": REF["name"]},
    }


def node_pool(name: str = "default", **disruption: Any) -> Json:
    """A NodePool of on-demand nodes that consolidates after five seconds."""
    return {
        "apiVersion": "karpenter.sh/v1",
        "kind": "NodePool",
        "metadata": {"name": name},
        "spec": {
            "template": {"spec": {"nodeClassRef": REF, "requirements": [
                {"key": "karpenter.sh/capacity-type", "operator": "In", "values": ["on-demand"]},
                {"key": "kubernetes.io/arch", "operator": "In", "values": ["amd64"]},
                {"key": "kubernetes.io/os", "operator": "In", "values": ["linux"]},
            ]}},
            "disruption": {"consolidateAfter": "5s", "budgets": [{"nodes": "100%"}], **disruption},
        },
    }  # fmt: skip


def deployment(name: str, replicas: int, *, cpu: str = "900m", **template: Any) -> Json:
    """A Deployment; `template` goes into the pods' spec, `annotations` to their metadata."""
    annotations = template.pop("annotations", {})
    labels = {"app": name}
    container = {
        "name": name,
        "image": "public.ecr.aws/eks-distro/kubernetes/pause:3.7",
        "resources": {"requests": {"cpu": cpu, "memory": "256Mi"}},
    }
    pod = {"terminationGracePeriodSeconds": 1, "containers": [container], **template}
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": name},
        "spec": {
            "replicas": replicas,
            "selector": {"matchLabels": labels},
            "template": {"metadata": {"labels": labels, "annotations": annotations}, "spec": pod},
        },
    }


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
