"""kube-scheduler as the judge: small random clusters, and what it says to one pod on one node.

A pod is made behind a gate, gets a node as its nominated one, and is let go. kube-scheduler looks at a nominated node
first and takes it if all of its filters agree; where the pod ends up is therefore its judgement of that one node.
"""

import json
import random
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeVar

from daiku.api import decode
from daiku.model import labels
from daiku.model.node import Node
from daiku.model.pod import Pod
from daiku_local.agent.kubernetes_api import KubernetesApi, KubernetesError
from daiku_local.agent.objects import dig, items

T = TypeVar("T")
NODES = "/api/v1/nodes"
NAMESPACES = ("default", "oracle")
ZONES = ("zone-a", "zone-b", "zone-c")
GATE = "daiku.dev/oracle"
MERGE = "application/merge-patch+json"
SECONDS_MAX = 20.0
LAG_SECONDS = (0.5, 1.0, 2.0, 4.0, 8.0)
"""How long kube-scheduler may be behind in what it knows of volumes, on a busy machine; waited one after the other."""


@dataclass(frozen=True, kw_only=True)
class Judge:
    """The API server and kube-scheduler of a world."""

    api: KubernetesApi
    made: list[tuple[str, str]] = field(default_factory=list[tuple[str, str]])
    """Path and uid of what is to be removed again, in the order in which it was made."""
    refusals: list[str] = field(default_factory=list[str])
    """What kube-scheduler said each time that it bound a pod nowhere."""

    def make_nodes(self, manifests: Iterable[Mapping[str, Any]]) -> list[Node]:
        """Nodes as they are once they are ready."""
        paths = [self.make(NODES, manifest) for manifest in manifests]
        return [
            decode.node(json.dumps(until(lambda p=path: self.api.get(p), _is_ready)).encode())
            for path in paths
        ]

    def place(
        self,
        manifest: Mapping[str, Any],
        node: str,
        meanwhile: Callable[[], object] = lambda: None,
        *,
        expected: bool = False,
    ) -> Pod:
        """The pod after kube-scheduler was asked about `node`: bound there, or elsewhere, or nowhere.

        Args:
            manifest: The pod.
            node: Its nominated node.
            meanwhile: Done again and again while kube-scheduler judges.
            expected: Whether it should be bound. A refusal of a pod with volumes is asked about again then, as
                kube-scheduler may not have heard of a volume yet that everybody else knows; a lasting one stays.
        """
        judged = self._ask(manifest, node, meanwhile)
        for lag in LAG_SECONDS if expected and "volumes" in manifest["spec"] else ():
            if judged.node_name:
                break
            time.sleep(lag)
            judged = self._ask(manifest, node, meanwhile)
        return judged

    def _ask(self, manifest: Mapping[str, Any], node: str, meanwhile: Callable[[], object]) -> Pod:
        collection = f"/api/v1/namespaces/{manifest['metadata']['namespace']}/pods"
        gated = {**manifest, "spec": {**manifest["spec"], "schedulingGates": [{"name": GATE}]}}
        path = self.make(collection, gated)
        self.api.patch(f"{path}/status", {"status": {"nominatedNodeName": node}})
        self.api.patch(path, {"spec": {"schedulingGates": []}}, MERGE)

        def look() -> Any:
            meanwhile()
            return self.api.get(path)

        seen = until(look, _is_judged)
        judged = decode.pod(json.dumps(seen).encode())
        if not judged.node_name:
            self.refusals.extend(c.get("message", "") for c in items(seen, "status", "conditions"))
            # As long as it waits, kube-scheduler keeps room for it on the nominated node.
            self.api.delete(path, uid=judged.meta.uid, grace_seconds=0)
            until(lambda: self._is_gone(path), bool)
        return judged

    def clear(self) -> None:
        """Remove everything that was made."""
        paths = [path for path, _ in self.made]
        for path, uid in reversed(self.made):
            try:
                self.api.delete(path, uid=uid, grace_seconds=0)
            except KubernetesError as error:
                if error.status != 404:
                    raise
        self.made.clear()
        for path in paths:
            until(lambda p=path: self._is_gone(p), bool)

    def _is_gone(self, path: str) -> bool:
        try:
            self.api.get(path)
        except KubernetesError as error:
            return error.status == 404
        return False

    def make(self, collection: str, manifest: Mapping[str, Any]) -> str:
        """Make an object that `clear` removes again; its path."""
        made = self.api.create(collection, dict(manifest))
        path = f"{collection}/{dig(made, 'metadata', 'name')}"
        self.made.append((path, dig(made, "metadata", "uid")))
        return path


def until(look: Callable[[], T], is_so: Callable[[T], bool]) -> T:
    """What is seen once `is_so`."""
    began = time.monotonic()
    while not is_so(seen := look()):
        if time.monotonic() - began > SECONDS_MAX:
            raise TimeoutError(f"not within {SECONDS_MAX} s; it is {seen}")
        time.sleep(0.02)
    return seen


def _is_ready(node: Any) -> bool:
    ready = any(
        c["type"] == "Ready" and c["status"] == "True" for c in items(node, "status", "conditions")
    )
    return ready and not any(
        t["key"].startswith("node.kubernetes.io/") for t in items(node, "spec", "taints")
    )


def _is_judged(pod: Any) -> bool:
    refused = any(c.get("reason") == "Unschedulable" for c in items(pod, "status", "conditions"))
    return refused or bool(dig(pod, "spec", "nodeName"))


def node(
    name: str,
    own: Mapping[str, str],
    resources: Mapping[str, str],
    taints: Iterable[Mapping[str, str]] = (),
) -> dict[str, Any]:
    """A manifest of a node that kwok keeps alive."""
    return {
        "metadata": {
            "name": name,
            "annotations": {"kwok.x-k8s.io/node": "fake"},
            "labels": {labels.HOSTNAME: name, **own},
        },
        "spec": {"providerID": f"kwok://{name}", "taints": list(taints)},
        "status": {"capacity": dict(resources), "allocatable": dict(resources)},
    }


def random_nodes(rng: random.Random, prefix: str) -> list[dict[str, Any]]:
    """A few nodes over a few zones; some tainted, some without a zone."""
    found: list[dict[str, Any]] = []
    for index in range(rng.randint(2, 5)):
        own = {"disk": rng.choice(["ssd", "hdd"])}
        if rng.random() < 0.9:
            own[labels.ZONE] = rng.choice(ZONES)
        size = {"cpu": rng.choice(["1", "2", "4"]), "memory": "8Gi", "pods": "20"}
        taints = [{"key": "dedicated", "effect": "NoSchedule"}] if rng.random() < 0.2 else []
        found.append(node(f"{prefix}-{index}", own, size, taints))
    return found


def random_pod(rng: random.Random, name: str) -> dict[str, Any]:
    """A pod with any of the constraints that there are."""
    spec: dict[str, Any] = {
        "terminationGracePeriodSeconds": 0,
        "containers": [
            {
                "name": "c",
                "image": "oracle",
                "resources": {"requests": {"cpu": rng.choice(["100m", "250m", "500m"])}},
            }
        ],
    }
    if rng.random() < 0.2:
        spec["nodeSelector"] = {"disk": rng.choice(["ssd", "hdd"])}
    if rng.random() < 0.2:
        spec["tolerations"] = [{"key": "dedicated", "operator": "Exists"}]
    if rng.random() < 0.15:
        port = {"containerPort": 80, "hostPort": rng.choice([8080, 8081])}
        if rng.random() < 0.5:
            port["hostIP"] = rng.choice(["10.0.0.1", "10.0.0.2"])
        spec["containers"][0]["ports"] = [port]
    if rng.random() < 0.5:
        spec["topologySpreadConstraints"] = _spreads(rng)
    affinity = {
        kind: {"requiredDuringSchedulingIgnoredDuringExecution": [_term(rng) for _ in range(count)]}
        for kind, count in (
            ("podAffinity", rng.choice([0, 0, 0, 1, 2])),
            ("podAntiAffinity", rng.choice([0, 0, 0, 1])),
        )
        if count
    }
    if rng.random() < 0.2:
        affinity["nodeAffinity"] = _node_affinity(rng)
    if affinity:
        spec["affinity"] = affinity
    own = {"app": rng.choice("ab"), "version": rng.choice("12"), "release": rng.choice("xy")}
    where = rng.choice([*NAMESPACES[:1] * 4, NAMESPACES[1]])
    return {"metadata": {"name": name, "namespace": where, "labels": own}, "spec": spec}


def _spreads(rng: random.Random) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = []
    for key in rng.sample([labels.ZONE, labels.HOSTNAME], rng.randint(1, 2)):
        spread: dict[str, Any] = {
            "topologyKey": key,
            "maxSkew": rng.choice([1, 1, 2]),
            "whenUnsatisfiable": "DoNotSchedule",
            "labelSelector": _selector(rng),
        }
        if rng.random() < 0.2:
            spread["minDomains"] = rng.randint(2, 4)
        if rng.random() < 0.3:
            spread["nodeAffinityPolicy"] = "Ignore"
        if rng.random() < 0.3:
            spread["nodeTaintsPolicy"] = "Honor"
        if rng.random() < 0.2:
            spread["matchLabelKeys"] = ["release"]
        found.append(spread)
    return found


def _term(rng: random.Random) -> dict[str, Any]:
    term: dict[str, Any] = {
        "topologyKey": rng.choice([labels.ZONE, labels.HOSTNAME]),
        "labelSelector": _selector(rng),
    }
    if rng.random() < 0.2:
        term["namespaces"] = rng.sample(NAMESPACES, rng.randint(1, 2))
    if rng.random() < 0.2:
        name = {"kubernetes.io/metadata.name": NAMESPACES[1]}
        term["namespaceSelector"] = rng.choice([{}, {"matchLabels": name}])
    if rng.random() < 0.2:
        term[rng.choice(["matchLabelKeys", "mismatchLabelKeys"])] = ["release"]
    return term


def _selector(rng: random.Random) -> dict[str, Any]:
    expression = rng.choice(
        [
            {"key": "app", "operator": "In", "values": ["a"]},
            {"key": "app", "operator": "NotIn", "values": ["b"]},
            {"key": "app", "operator": "Exists"},
            {"key": "tier", "operator": "DoesNotExist"},
        ]
    )
    return rng.choice(
        [
            {"matchLabels": {"app": "a"}},
            {"matchLabels": {"app": "b"}},
            {"matchLabels": {"app": "a", "version": "1"}},
            {"matchExpressions": [expression]},
            {},
        ]
    )


def _node_affinity(rng: random.Random) -> dict[str, Any]:
    expression = rng.choice(
        [
            {"key": labels.ZONE, "operator": "In", "values": list(rng.sample(ZONES, 2))},
            {"key": labels.ZONE, "operator": "NotIn", "values": [rng.choice(ZONES)]},
            {"key": "disk", "operator": "Exists"},
        ]
    )
    terms = [{"matchExpressions": [expression]}, *([{}] if rng.random() < 0.3 else [])]
    return {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": terms}}
