"""Nodes as bytes, with their NodeClaims and CSINodes."""

from dataclasses import dataclass
from typing import Final

from tests import build
from tests.performance.recorded_parts import (
    BORN,
    Json,
    encoded,
    host_of,
    managed,
    metadata,
    owner,
    stamp,
)

from daiku.api import encode
from daiku.cloud.kwok import catalogue as kwok_catalogue
from daiku.model import labels, nodepool_hash
from daiku.model.condition import Condition
from daiku.model.instance_type import InstanceType
from daiku.model.nodeclaim import NodeClaim

POOLS: Final = ("default", "batch", "web")
INSTANCE_TYPE: Final = "s-16x-amd64-linux"


@dataclass(frozen=True, slots=True)
class NodeSource:
    """One node, which has been ready for a day."""

    number: int
    of_type: InstanceType
    hashes: dict[str, str]
    """NodePool -> the hash of its template."""

    @property
    def pool(self) -> str:
        """Name of its NodePool."""
        return POOLS[0 if self.number % 10 < 8 else self.number % 10 - 7]

    @property
    def name(self) -> str:
        """Of its NodeClaim."""
        return f"{self.pool}-{self.number:05d}"

    @property
    def host(self) -> str:
        """Name of the Node."""
        return host_of(self.number)

    @property
    def known(self) -> NodeClaim:
        """Its NodeClaim as a value."""
        zone = kwok_catalogue.ZONES[self.number % len(kwok_catalogue.ZONES)]
        return build.node_claim(
            self.name, pool=self.pool, instance_type=INSTANCE_TYPE, zone=zone, since=BORN
        )

    @property
    def labels(self) -> Json:
        """What its instance type and its NodeClaim say."""
        return {**self.of_type.requirements.single_values(), **self.known.meta.labels}

    @property
    def _notes(self) -> Json:
        return {
            labels.NODEPOOL_HASH: self.hashes[self.pool],
            labels.NODEPOOL_HASH_VERSION: nodepool_hash.VERSION,
        }

    def node_claim(self, version: int) -> bytes:
        """Its NodeClaim."""
        body = encode.node_claim(self.known)
        body["metadata"] = metadata(
            version,
            self.name,
            labels=self.labels,
            annotations=self._notes,
            finalizers=[labels.TERMINATION_FINALIZER],
            ownerReferences=[
                owner("karpenter.sh/v1", "NodePool", self.pool) | {"controller": False}
            ],
            managedFields=managed(
                "karpenter", spec=list(body["spec"]), status=["capacity", "conditions"]
            ),
        )
        quiet = Condition(type="Consolidatable", status="True", reason="Consolidatable")
        body["status"] = {
            "nodeName": self.host,
            "providerID": f"kwok://{self.host}",
            "capacity": encode.quantities(self.of_type.capacity),
            "allocatable": encode.quantities(self.of_type.allocatable),
            "lastPodEventTime": stamp(BORN),
            "conditions": [
                {
                    "type": c.type,
                    "status": c.status,
                    "reason": c.reason,
                    "message": "",
                    "lastTransitionTime": stamp(BORN),
                    "observedGeneration": 1,
                }
                for c in (*self.known.conditions, quiet)
            ],
        }
        return encoded(body)

    def node(self, version: int) -> bytes:
        """Its Node."""
        labels_of = {
            **self.labels,
            labels.HOSTNAME: self.host,
            labels.REGISTERED: "true",
            labels.INITIALIZED: "true",
            "beta.kubernetes.io/arch": "amd64",
            "beta.kubernetes.io/os": "linux",
        }
        annotations = {
            **self._notes,
            "node.alpha.kubernetes.io/ttl": "0",
            "csi.volume.kubernetes.io/nodeid": '{"ebs.csi.aws.com":"i-0123456789abcdef0"}',
            "volumes.kubernetes.io/controller-managed-attach-detach": "true",
        }
        meta = metadata(
            version,
            self.host,
            labels=labels_of,
            annotations=annotations,
            finalizers=[labels.TERMINATION_FINALIZER],
            ownerReferences=[owner("karpenter.sh/v1", "NodeClaim", self.name)],
            managedFields=managed(
                "kubelet", metadata=list(labels_of), status=["conditions", "images", "nodeInfo"]
            ),
        )
        room = encode.quantities(self.of_type.capacity)
        status = node_status(room, encode.quantities(self.of_type.allocatable))
        spec = {"providerID": f"kwok://{self.host}"}
        return encoded(
            {"apiVersion": "v1", "kind": "Node", "metadata": meta, "spec": spec, "status": status}
        )

    def csi_node(self, version: int) -> bytes:
        """Its CSINode."""
        driver = {
            "name": "ebs.csi.aws.com",
            "nodeID": self.host,
            "topologyKeys": [labels.ZONE],
            "allocatable": {"count": 25},
        }
        body = {
            "apiVersion": "storage.k8s.io/v1",
            "kind": "CSINode",
            "metadata": metadata(
                version, self.host, ownerReferences=[owner("v1", "Node", self.host)]
            ),
            "spec": {"drivers": [driver]},
        }
        return encoded(body)


def node_status(capacity: Json, allocatable: Json) -> Json:
    """What a kubelet says of its node: conditions, images, versions."""
    ready = {
        "MemoryPressure": "False",
        "DiskPressure": "False",
        "PIDPressure": "False",
        "Ready": "True",
    }
    return {
        "capacity": capacity,
        "allocatable": allocatable,
        "conditions": [
            {
                "type": kind,
                "status": status,
                "reason": f"Kubelet{kind}",
                "message": f"kubelet says {kind} is {status}",
                "lastHeartbeatTime": stamp(),
                "lastTransitionTime": stamp(BORN),
            }
            for kind, status in ready.items()
        ],
        "addresses": [{"type": "InternalIP", "address": "10.0.0.7"}, {"type": "Hostname", "address": "ip-10-0-0-7"}],
        "daemonEndpoints": {"kubeletEndpoint": {"Port": 10250}},
        "nodeInfo": {
            "machineID": "0123456789abcdef" * 2,
            "kernelVersion": "6.12.40-64.114.amzn2023.x86_64",
            "osImage": "Amazon Linux 2023.8.20250818",
            "containerRuntimeVersion": "containerd://2.1.4",
            "kubeletVersion": "v1.36.0-eks-3abbec1",
            "operatingSystem": "linux",
            "architecture": "amd64",
        },
        "images": [
            {
                "names": [
                    f"123456789012.dkr.ecr.eu-central-1.amazonaws.com/service-{n}@sha256:{'0123456789abcdef' * 4}",
                    f"123456789012.dkr.ecr.eu-central-1.amazonaws.com/service-{n}:v1.{n}",
                ],
                "sizeBytes": 123456789 + n,
            }
            for n in range(20)
        ],
    }  # fmt: skip
