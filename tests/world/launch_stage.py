"""A control plane, an AWS account and one controller at a time: where launches are watched from outside."""

import contextlib
import datetime as dt
import json
import os
import time
from collections.abc import Callable, Generator, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests import manifests
from tests.running import Controller
from tests.world.aws_account import Account, Network, network, role

from daiku.kube import errors
from daiku.kube.client import Client
from daiku.kube.credentials import Credentials
from daiku_local import down, environment, toolchain, up

SECONDS_MAX = 60.0
CLUSTER = "errors"
CLAIMS = "/apis/karpenter.sh/v1/nodeclaims"
PODS = "/api/v1/namespaces/default/pods"
EVENTS = "/api/v1/events"
CAPACITY_TYPE = "karpenter.sh/capacity-type"


@dataclass(kw_only=True)
class Stage:
    """A control plane, an AWS account and an EC2NodeClass that is ready."""

    account: Account
    client: Client
    place: Network
    pods: Iterator[int]

    def want(
        self,
        *types: str,
        way: str = "on-demand",
        zones: tuple[str, ...] = (),
        extra: dict[str, str] | None = None,
    ) -> str:
        """A pod that one of these types holds (none named: any), and nothing beside it; its name."""
        name = f"pod-{next(self.pods)}"
        needs = [{"key": CAPACITY_TYPE, "operator": "In", "values": way.split()}]
        if types:
            key = "node.kubernetes.io/instance-type"
            needs.append({"key": key, "operator": "In", "values": [*types]})
        if zones:
            key = "topology.kubernetes.io/zone"
            needs.append({"key": key, "operator": "In", "values": [*zones]})
        affinity = {"nodeSelectorTerms": [{"matchExpressions": needs}]}
        container = {
            "name": "pause",
            "image": "pause",
            "resources": {
                "requests": {"cpu": "1500m", **(extra or {})},
                "limits": {**(extra or {})},
            },
        }
        required = {"requiredDuringSchedulingIgnoredDuringExecution": affinity}
        spec = {
            "containers": [container],
            "affinity": {"nodeAffinity": required},
            "tolerations": [{"key": "karpenter.sh/unregistered", "operator": "Exists"}],
        }
        self.client.create(PODS, {"metadata": {"name": name}, "spec": spec})
        return name

    def claims(self) -> dict[str, Any]:
        return {c["metadata"]["name"]: c for c in items(self.client, CLAIMS)}

    def launched(self, before: set[str]) -> tuple[str, str, str]:
        """(type, zone, capacity type) of the claim that is launched next and was not there `before`."""

        def look() -> tuple[str, str, str] | None:
            for name, claim in self.claims().items():
                labels = claim["metadata"]["labels"]
                if name not in before and claim.get("status", {}).get("providerID"):
                    return (
                        labels["node.kubernetes.io/instance-type"],
                        labels["topology.kubernetes.io/zone"],
                        labels[CAPACITY_TYPE],
                    )
            return None

        return until(look, "a launched claim")

    def condition(self, before: set[str]) -> tuple[str, dict[str, Any]]:
        """The next new claim that is not launched, and what its condition Launched says."""

        def look() -> tuple[str, dict[str, Any]] | None:
            for name, claim in self.claims().items():
                for condition in claim.get("status", {}).get("conditions", []):
                    if (
                        name not in before
                        and condition["type"] == "Launched"
                        and condition["status"] == "Unknown"
                        and condition["reason"] not in {"Launched", "AwaitingReconciliation"}
                    ):
                        return name, condition
            return None

        return until(look, "a claim that says why it is not launched")

    def given_up(self, code: str) -> str:
        """The message of the event of a claim that was given up because of `code`."""

        def look() -> str:
            for event in items(self.client, EVENTS):
                if event["reason"] == "InsufficientCapacityError" and code in event["message"]:
                    return str(event["message"])
            return ""

        return until(look, f"an event that tells of {code}")


def until(look: Callable[[], Any], what: str) -> Any:
    end = time.monotonic() + SECONDS_MAX
    while time.monotonic() < end:
        with contextlib.suppress(errors.NotFound):
            if found := look():
                return found
        time.sleep(0.1)
    raise AssertionError(f"waited {SECONDS_MAX} s for {what}")


def items(client: Client, path: str) -> list[Any]:
    return [json.loads(bytes(raw)) for page in client.list(path) for raw in page.items]


@contextmanager
def standing(folder: Path) -> Generator[Stage]:
    """The stage in a folder of its own, gone afterwards."""
    now = dt.datetime.now(dt.UTC)  # noqa: TID251 - certificates must be valid in real time
    made = up.up(folder, toolchain.ensure(), now, _silent)
    try:
        variables = environment.of_commands(made, toolchain.ensure().folder, os.environ)
        client = Client(Credentials({**os.environ, **variables}))
        account = Account(world=made, signer=None, process_id=0)  # pyright: ignore[reportArgumentType] - not asked for
        place = network(account)
        account.client("eks").create_cluster(
            name=CLUSTER,
            roleArn=role(account, "cluster", "eks.amazonaws.com"),
            version="1.34",
            resourcesVpcConfig={"subnetIds": place.subnets},
        )
        manifests.install(client, _node_class(place), _node_pool())
        yield Stage(account=account, client=client, place=place, pods=iter(range(1000)))
    finally:
        down.down(folder, _silent)


@dataclass
class Lead:
    """The one `daiku run`; only one can lead."""

    stage: Stage
    folder: Path
    name: str = ""
    controller: Controller | None = None

    def be(self, name: str, **environ: str) -> None:
        """Have the controller of this name run and lead; one of another name is stopped, and forgets."""
        if self.name == name:
            return
        self.stop()
        variables = environment.of_commands(
            self.stage.account.world, toolchain.ensure().folder, os.environ
        )
        variables |= {"CLUSTER_NAME": CLUSTER, "BATCH_IDLE_DURATION": "200ms", **environ}
        made = Controller(variables, self.folder / name, flags=())
        made.start()
        self.name, self.controller = name, made
        path = manifests.PATHS["EC2NodeClass"]
        made.until(lambda: '"leading"' in made.log.read_text(), "it leads", SECONDS_MAX)
        made.until(
            lambda: _is_ready(items(self.stage.client, path)[0]),
            "the EC2NodeClass is Ready",
            SECONDS_MAX,
        )

    def stop(self) -> None:
        if self.controller is not None:
            self.controller.stop()
        self.name, self.controller = "", None


def _node_class(place: Network) -> dict[str, Any]:
    return {
        "apiVersion": "karpenter.k8s.aws/v1",
        "kind": "EC2NodeClass",
        "metadata": {"name": "default"},
        "spec": {
            "instanceProfile": place.profile,
            "amiSelectorTerms": [{"alias": "al2023@latest"}],
            "subnetSelectorTerms": [{"id": subnet} for subnet in place.subnets],
            "securityGroupSelectorTerms": [{"id": place.group}],
        },
    }


def _node_pool() -> dict[str, Any]:
    reference = {"group": "karpenter.k8s.aws", "kind": "EC2NodeClass", "name": "default"}
    ways = {"key": CAPACITY_TYPE, "operator": "In", "values": ["spot", "on-demand"]}
    spec = {"nodeClassRef": reference, "requirements": [ways]}
    return {
        "apiVersion": "karpenter.sh/v1",
        "kind": "NodePool",
        "metadata": {"name": "errors"},
        "spec": {"template": {"spec": spec}},
    }


def _is_ready(found: dict[str, Any]) -> bool:
    conditions = found.get("status", {}).get("conditions", [])
    return any(c["type"] == "Ready" and c["status"] == "True" for c in conditions)


def _silent(_line: str) -> None:
    """Progress is for people."""
