"""Volumes for kube-scheduler to judge: claims that are bound in a zone, that wait for a pod, that nobody can have.

Nothing provisions volumes here, so `serve` stands in: it makes the volume of a claim for which kube-scheduler has
chosen a node, in the zone of that node, as a CSI provisioner would. The PersistentVolume controller is the real one.
"""

import json
import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from tests.e2e import oracle
from tests.e2e.oracle import NAMESPACES, ZONES, Judge

from daiku.api import decode_volumes
from daiku.events import Object
from daiku.model import labels
from daiku.model.node import Node
from daiku_local.agent.objects import dig, items

STORAGE: Final = "/apis/storage.k8s.io/v1"
CLAIMS: Final = f"/api/v1/namespaces/{NAMESPACES[0]}/persistentvolumeclaims"
VOLUMES: Final = "/api/v1/persistentvolumes"
DRIVER: Final = "oracle.csi.example.com"
BY_HAND: Final = "kubernetes.io/no-provisioner"
SELECTED: Final = "volume.kubernetes.io/selected-node"


@dataclass(frozen=True, kw_only=True)
class Storage:
    """Classes, volumes and claims of one cluster; names begin with `prefix`."""

    judge: Judge
    prefix: str
    zone_of: dict[str, str]
    """Of every node that has one."""
    made: dict[str, bool] = field(default_factory=dict[str, bool])
    """Claims, in the order in which they were made -> whether it has its volume."""

    def claim(self, rng: random.Random) -> str:
        """The name of a claim: mostly of its own, at times shared, late, or of nobody."""
        known = [name for name, done in self.made.items() if done]
        kind = rng.choice(
            ["bound", "bound", "waits", "waits", "two-zones", "by-hand", "at-once", "none"]
        )
        if kind == "bound" and known and rng.random() < 0.5:
            return rng.choice(known)
        if kind == "none":
            return f"{self.prefix}-nobody"
        name = f"{self.prefix}-{len(self.made)}"
        path = self.judge.make(CLAIMS, {"metadata": {"name": name}, "spec": self._wanted(kind)})
        bound = kind == "bound"
        if bound:
            # A volume that knows its claim is bound at once; the other way round it may take 15 seconds.
            uid = self.judge.api.get(path)["metadata"]["uid"]
            self._volume(name, {"claimRef": {**_ref(name), "uid": uid}}, rng.choice(ZONES))
            oracle.until(lambda: self.judge.api.get(path), _is_bound)
        self.made[name] = bound
        return name

    def serve(self) -> None:
        """Make the volumes of claims for which a node was chosen."""
        for name in [name for name, done in self.made.items() if not done]:
            claim = self.judge.api.get(f"{CLAIMS}/{name}")
            node = dig(claim, "metadata", "annotations", SELECTED)
            of_class = dig(claim, "spec", "storageClassName")
            if node and not dig(claim, "spec", "volumeName") and not of_class.endswith("by-hand"):
                ref = {"claimRef": {**_ref(name), "uid": claim["metadata"]["uid"]}}
                self._volume(
                    name, {**ref, "storageClassName": of_class}, self.zone_of.get(node, "")
                )
                self.made[name] = True

    def objects(self) -> list[Object]:
        """Everything about volumes, as it is now."""
        kinds: Sequence[tuple[str, Any]] = (
            (CLAIMS, decode_volumes.persistent_volume_claim),
            (VOLUMES, decode_volumes.persistent_volume),
            (f"{STORAGE}/storageclasses", decode_volumes.storage_class),
            (f"{STORAGE}/csinodes", decode_volumes.csi_node),
        )
        return [
            read(json.dumps(each).encode())
            for path, read in kinds
            for each in items(self.judge.api.get(path), "items")
        ]

    def _wanted(self, kind: str) -> dict[str, Any]:
        return {
            "accessModes": ["ReadWriteMany"],
            "resources": {"requests": {"storage": "1Gi"}},
            "storageClassName": "" if kind == "bound" else f"{self.prefix}-{kind}",
        }

    def _volume(self, name: str, more: Mapping[str, Any], zone: str) -> None:
        in_zone = {"key": labels.ZONE, "operator": "In", "values": [zone]}
        term = {"nodeSelectorTerms": [{"matchExpressions": [in_zone]}]}
        spec = {
            "capacity": {"storage": "1Gi"},
            "accessModes": ["ReadWriteMany"],
            "persistentVolumeReclaimPolicy": "Retain",
            "csi": {"driver": DRIVER, "volumeHandle": name},
            **({"nodeAffinity": {"required": term}} if zone else {}),
            **more,
        }
        self._make(VOLUMES, name, spec=spec)

    def _make(self, collection: str, name: str, **body: Any) -> None:
        self.judge.make(collection, {"metadata": {"name": name}, **body})

    def begin(self, rng: random.Random, nodes: Sequence[Node]) -> None:
        """Make the classes, a volume or two by hand, and say how many volumes some nodes take."""
        late = {"volumeBindingMode": "WaitForFirstConsumer"}
        two = [{"matchLabelExpressions": [{"key": labels.ZONE, "values": list(ZONES[:2])}]}]
        bodies: dict[str, dict[str, Any]] = {
            "waits": {"provisioner": DRIVER, **late},
            "two-zones": {"provisioner": DRIVER, **late, "allowedTopologies": two},
            "by-hand": {"provisioner": BY_HAND, **late},
            "at-once": {"provisioner": DRIVER, "volumeBindingMode": "Immediate"},
        }
        for kind, body in bodies.items():
            self._make(f"{STORAGE}/storageclasses", f"{self.prefix}-{kind}", **body)
        for number in range(rng.randint(0, 2)):
            of_class = {"storageClassName": f"{self.prefix}-by-hand"}
            self._volume(f"{self.prefix}-hand-{number}", of_class, rng.choice(ZONES))
        for node in nodes:
            if rng.random() < 0.6:
                driver = {
                    "name": DRIVER,
                    "nodeID": node.meta.name,
                    "topologyKeys": [labels.ZONE],
                    "allocatable": {"count": rng.randint(1, 2)},
                }
                self._make(f"{STORAGE}/csinodes", node.meta.name, spec={"drivers": [driver]})


def begin(judge: Judge, rng: random.Random, prefix: str, nodes: Sequence[Node]) -> Storage:
    """The storage of a new cluster."""
    zones = {n.meta.name: n.meta.labels.get(labels.ZONE, "") for n in nodes}
    storage = Storage(judge=judge, prefix=prefix, zone_of=zones)
    storage.begin(rng, nodes)
    return storage


def mounted(manifest: dict[str, Any], claims: Sequence[str]) -> dict[str, Any]:
    """The pod with these claims as its volumes."""
    volumes = [
        {"name": f"v{number}", "persistentVolumeClaim": {"claimName": name}}
        for number, name in enumerate(claims)
    ]
    return {**manifest, "spec": {**manifest["spec"], **({"volumes": volumes} if volumes else {})}}


def _ref(name: str) -> dict[str, str]:
    return {
        "apiVersion": "v1",
        "kind": "PersistentVolumeClaim",
        "namespace": NAMESPACES[0],
        "name": name,
    }


def _is_bound(claim: Any) -> bool:
    return dig(claim, "status", "phase") == "Bound"
