"""A cluster of thousands of nodes as bytes, each object as an API server sends it: managedFields, status and all.

18 pods of ReplicaSets and two of DaemonSets fill each node but for half a core. A quarter of the ReplicaSets spread
over zones, one in forty strictly; a tenth prefer to be apart. Two old revisions of each ReplicaSet are there too.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Final

from tests import manifests
from tests.performance import recorded_nodes, recorded_pods
from tests.performance.recorded_nodes import INSTANCE_TYPE, POOLS
from tests.performance.recorded_parts import (
    BORN,
    encoded,
    managed,
    metadata,
    owner,
    stamp,
    uid_of,
)
from tests.performance.recorded_pods import PROBE, PodSource

from daiku.api import decode_karpenter
from daiku.cloud.kwok import catalogue as kwok_catalogue
from daiku.model import nodepool_hash

APPS_EACH: Final = 18
DAEMONS: Final = ("aws-node", "kube-proxy")
NAMESPACES: Final = 50
PROBES: Final = "probes"
"""NodePool of nodes for pods that ask for one of their own."""
SIZES: Final = (600, 700, 800, 900, 1000, 1100)
"""Millicores of the pods of one ReplicaSet or another: any 18 in a row ask for 15.3 cores."""


@dataclass(slots=True)
class Recording:
    """Every object of the cluster by the path of its collection."""

    objects: dict[str, dict[str, bytes]] = field(default_factory=dict[str, dict[str, bytes]])
    apps: list[PodSource] = field(default_factory=list[PodSource])
    running: list[tuple[int, str, int]] = field(default_factory=list[tuple[int, str, int]])
    """Pods of ReplicaSets: number of the ReplicaSet, name, number of the node."""
    version: int = 1000

    def put(self, path: str, key: str, content: bytes) -> None:
        """Add an object."""
        self.objects.setdefault(path, {})[key] = content

    def next(self) -> int:
        """A new resource version."""
        self.version += 1
        return self.version


def make(nodes: int, replica_sets: int) -> Recording:
    """The cluster with so many nodes."""
    made = Recording()
    of_type = next(t for t in kwok_catalogue.built_in() if t.name == INSTANCE_TYPE)
    _namespaces(made)
    hashes = dict(_pools(made))
    for number in range(replica_sets):
        _workload(made, number, replicas=nodes * APPS_EACH // replica_sets)
    daemons = [_daemon_set(made, name) for name in DAEMONS]
    for number in range(nodes):
        source = recorded_nodes.NodeSource(number, of_type, hashes)
        made.put("/apis/karpenter.sh/v1/nodeclaims", source.name, source.node_claim(made.next()))
        made.put("/api/v1/nodes", source.host, source.node(made.next()))
        made.put("/apis/storage.k8s.io/v1/csinodes", source.host, source.csi_node(made.next()))
        for daemon in daemons:
            _put_pod(made, daemon, f"{daemon.name}-{number:05d}", number)
        for position in range(APPS_EACH):
            index = number * APPS_EACH + position
            app = index % replica_sets
            name = f"{made.apps[app].name}-{index // replica_sets:05x}"
            _put_pod(made, made.apps[app], name, number)
            made.running.append((app, name, number))
    return made


def _put_pod(made: Recording, source: PodSource, name: str, node: int) -> None:
    content = source.pod(name, uid_of(name), made.next(), node, "running")
    made.put("/api/v1/pods", f"{source.namespace}/{name}", content)


def _namespaces(made: Recording) -> None:
    for name in ("default", "kube-system", *(f"team-{number:02d}" for number in range(NAMESPACES))):
        meta = metadata(made.next(), name, labels={"kubernetes.io/metadata.name": name})
        body = {
            "apiVersion": "v1",
            "kind": "Namespace",
            "metadata": meta,
            "status": {"phase": "Active"},
        }
        made.put("/api/v1/namespaces", name, encoded(body))


def _pools(made: Recording) -> Iterator[tuple[str, str]]:
    """The node class and the NodePools; gives the hash of each."""
    node_class = manifests.node_class()
    node_class["metadata"] = metadata(made.next(), "default")
    ready = {"type": "Ready", "status": "True", "reason": "Ready", "observedGeneration": 1}
    node_class["status"] = {"conditions": [ready | {"lastTransitionTime": stamp(BORN)}]}
    made.put("/apis/karpenter.kwok.sh/v1alpha1/kwoknodeclasses", "default", encoded(node_class))
    for name in (*POOLS, PROBES):
        body = manifests.node_pool(
            name,
            only={
                "karpenter.kwok.sh/instance-cpu": ["16"],
                "karpenter.kwok.sh/instance-family": ["s"],
            },
            consolidateAfter="30s",
            budgets=[{"nodes": "10%"}],
        )
        body["metadata"] = metadata(made.next(), name)
        if name == PROBES:
            body["spec"]["template"]["spec"]["requirements"].append(
                {"key": PROBE, "operator": "Exists"}
            )
        body["spec"]["template"]["spec"]["expireAfter"] = "Never"
        made.put("/apis/karpenter.sh/v1/nodepools", name, encoded(body))
        yield name, nodepool_hash.of(decode_karpenter.node_pool(encoded(body)).template)


def _workload(made: Recording, number: int, replicas: int) -> None:
    """A ReplicaSet in use, two of old revisions, the budget of every other; and what its pods are like."""
    app, namespace = f"service-{number:04d}", f"team-{number % NAMESPACES:02d}"
    for revision in range(3):
        name = f"{app}-{number * 7919 + revision:09x}"[:253]
        spec = recorded_pods.pod_spec(app, SIZES[number % len(SIZES)], number)
        names = {"app": app, "pod-template-hash": name.rpartition("-")[2]}
        wanted = replicas if revision == 2 else 0
        body = {
            "apiVersion": "apps/v1",
            "kind": "ReplicaSet",
            "metadata": metadata(
                made.next(),
                name,
                namespace=namespace,
                labels=names,
                annotations={"deployment.kubernetes.io/revision": str(revision + 1)},
                ownerReferences=[owner("apps/v1", "Deployment", app)],
                managedFields=managed(
                    "kube-controller-manager", spec=list(spec), status=["replicas"]
                ),
            ),
            "spec": {
                "replicas": wanted,
                "selector": {"matchLabels": names},
                "template": {"metadata": {"labels": names}, "spec": spec},
            },
            "status": {"replicas": wanted, "readyReplicas": wanted, "observedGeneration": 1},
        }
        made.put("/apis/apps/v1/replicasets", f"{namespace}/{name}", encoded(body))
    made.apps.append(recorded_pods.source_of(namespace, name, "ReplicaSet", names, spec))
    if number % 2 == 0:
        budget = {
            "apiVersion": "policy/v1",
            "kind": "PodDisruptionBudget",
            "metadata": metadata(made.next(), app, namespace=namespace),
            "spec": {"maxUnavailable": "10%", "selector": {"matchLabels": {"app": app}}},
            "status": {
                "disruptionsAllowed": 4,
                "currentHealthy": replicas,
                "desiredHealthy": replicas - 4,
                "expectedPods": replicas,
            },
        }
        made.put("/apis/policy/v1/poddisruptionbudgets", f"{namespace}/{app}", encoded(budget))


def _daemon_set(made: Recording, name: str) -> PodSource:
    names = {"k8s-app": name}
    spec = recorded_pods.pod_spec(name, 75, 1) | {
        "tolerations": [{"operator": "Exists"}],
        "hostNetwork": True,
    }
    body = {
        "apiVersion": "apps/v1",
        "kind": "DaemonSet",
        "metadata": metadata(made.next(), name, namespace="kube-system"),
        "spec": {
            "selector": {"matchLabels": names},
            "template": {"metadata": {"labels": names}, "spec": spec},
        },
    }
    made.put("/apis/apps/v1/daemonsets", f"kube-system/{name}", encoded(body))
    return recorded_pods.source_of("kube-system", name, "DaemonSet", names, spec)
