"""A cluster of thousands of nodes as bytes, each object as an API server sends it: managedFields, status and all.

18 pods of ReplicaSets and two of DaemonSets fill each node but for half a core. A quarter of the ReplicaSets spread
over zones, one in forty strictly; a tenth prefer to be apart. Two old revisions of each ReplicaSet are there too.
"""

import hashlib
import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any, Final

from tests import build, manifests

from daiku.api import decode_karpenter, encode
from daiku.cloud.kwok import catalogue as kwok_catalogue
from daiku.model import labels, nodepool_hash
from daiku.model.condition import Condition
from daiku.model.instance_type import InstanceType
from daiku.runtime import clock

Json = dict[str, Any]

APPS_EACH: Final = 18
DAEMONS: Final = ("aws-node", "kube-proxy")
NAMESPACES: Final = 50
PROBE: Final = "stream.example/probe"
"""Label by which a pod of the stream asks for a node of its own."""
POOLS: Final = ("default", "batch", "web")
PROBES: Final = "probes"
"""NodePool of nodes for such pods."""
INSTANCE_TYPE: Final = "s-16x-amd64-linux"
SIZES: Final = (600, 700, 800, 900, 1000, 1100)
"""Millicores of the pods of one ReplicaSet or another: any 18 in a row ask for 15.3 cores."""
BORN: Final = clock.now() - timedelta(days=1)


def stamp(at: datetime | None = None) -> str:
    """A time as it is written."""
    return encode.time(at or clock.now())


def encoded(value: Json) -> bytes:
    """As compact as the API server is."""
    return json.dumps(value, separators=(",", ":")).encode()


@dataclass(frozen=True, slots=True)
class PodSource:
    """What pods of one workload have in common."""

    namespace: str
    name: str
    kind: str
    template: bytes
    """With places for what differs from pod to pod."""

    def pod(self, name: str, uid: str, version: int, node: int | str, status: str) -> bytes:
        """One pod in one of the states of `STATUSES`; `deleting` is running and told to go."""
        host = f"ip-10-{node // 250}-{node % 250}-7" if isinstance(node, int) else node
        values = {
            b"name": name.encode(),
            b"uid": uid.encode(),
            b"version": b"%d" % version,
            b"born": stamp(BORN).encode(),
            b"now": stamp().encode(),
            b"ip": b"10.%d.%d.%d" % (version >> 16 & 255, version >> 8 & 255, version & 255),
            b"node": b'"nodeName":"%b",' % host.encode() if host else b"",
            b"deleted": b'"deletionTimestamp":"%b","deletionGracePeriodSeconds":30,'
            % stamp().encode()
            if status == "deleting"
            else b"",
        }
        state = "running" if status == "deleting" else status
        return self.template % {**values, b"status": STATUSES[state] % values}


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
        _node(made, number, of_type, hashes)
        for source in daemons:
            name = f"{source.name}-{number:05d}"
            _put_pod(made, source, name, number)
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


def uid_of(name: str) -> str:
    """As long as a real one."""
    return hashlib.md5(name.encode(), usedforsecurity=False).hexdigest()


def metadata(made: Recording, name: str, **more: Any) -> Json:
    """Metadata of an object that has been there for a day."""
    return {
        "name": name,
        "uid": uid_of(name),
        "resourceVersion": str(made.next()),
        "generation": 1,
        "creationTimestamp": stamp(BORN),
        **more,
    }


def _managed(manager: str, **fields: list[str]) -> list[Json]:
    """Whose fields are whose, in the way the API server says so."""
    return [
        {
            "manager": manager,
            "operation": "Update",
            "apiVersion": "v1",
            "time": stamp(BORN),
            "fieldsType": "FieldsV1",
            "fieldsV1": {f"f:{part}": {f"f:{name}": {} for name in names}},
            **({"subresource": "status"} if part == "status" else {}),
        }
        for part, names in fields.items()
    ]


def _namespaces(made: Recording) -> None:
    for name in ("default", "kube-system", *(f"team-{number:02d}" for number in range(NAMESPACES))):
        meta = metadata(made, name, labels={"kubernetes.io/metadata.name": name})
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
    node_class["metadata"] = metadata(made, "default")
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
        body["metadata"] = metadata(made, name)
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
        spec = _pod_spec(app, SIZES[number % len(SIZES)], number)
        names = {"app": app, "pod-template-hash": name.rpartition("-")[2]}
        wanted = replicas if revision == 2 else 0
        body = {
            "apiVersion": "apps/v1",
            "kind": "ReplicaSet",
            "metadata": metadata(
                made,
                name,
                namespace=namespace,
                labels=names,
                annotations={"deployment.kubernetes.io/revision": str(revision + 1)},
                ownerReferences=[_owner("apps/v1", "Deployment", app)],
                managedFields=_managed(
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
    made.apps.append(_source(namespace, name, "ReplicaSet", names, spec))
    if number % 2 == 0:
        budget = {
            "apiVersion": "policy/v1",
            "kind": "PodDisruptionBudget",
            "metadata": metadata(made, app, namespace=namespace),
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
    spec = _pod_spec(name, 75, 1) | {"tolerations": [{"operator": "Exists"}], "hostNetwork": True}
    body = {
        "apiVersion": "apps/v1",
        "kind": "DaemonSet",
        "metadata": metadata(made, name, namespace="kube-system"),
        "spec": {
            "selector": {"matchLabels": names},
            "template": {"metadata": {"labels": names}, "spec": spec},
        },
    }
    made.put("/apis/apps/v1/daemonsets", f"kube-system/{name}", encoded(body))
    return _source("kube-system", name, "DaemonSet", names, spec)


def _owner(api_version: str, kind: str, name: str) -> Json:
    return {
        "apiVersion": api_version,
        "kind": kind,
        "name": name,
        "uid": uid_of(name),
        "controller": True,
        "blockOwnerDeletion": True,
    }


def probe_source() -> PodSource:
    """Pods that need a node of their own, which their label names."""
    spec = _pod_spec("probe", 12000, 1) | {"nodeSelector": {PROBE: "%(name)b"}}
    return _source("default", "probe", "", {"app": "probe"}, spec)


def small_source() -> PodSource:
    """Pods for which any node has room."""
    return _source("default", "small", "", {"app": "small"}, _pod_spec("small", 100, 1))


def _pod_spec(app: str, millicores: int, number: int) -> Json:
    resources = {
        "requests": {"cpu": f"{millicores}m", "memory": f"{millicores * 2}Mi"},
        "limits": {"memory": f"{millicores * 2}Mi"},
    }
    probe = {
        "httpGet": {"path": "/healthz", "port": 8080, "scheme": "HTTP"},
        "periodSeconds": 10,
        "failureThreshold": 3,
    }
    container = {
        "name": app,
        "image": f"123456789012.dkr.ecr.eu-central-1.amazonaws.com/{app}:v1.{number}",
        "env": [{"name": f"SETTING_{n}", "value": f"a value of some length, {n}"} for n in range(10)],
        "ports": [{"name": "http", "containerPort": 8080, "protocol": "TCP"}],
        "resources": resources,
        "livenessProbe": probe,
        "readinessProbe": probe,
        "imagePullPolicy": "IfNotPresent",
        "terminationMessagePath": "/dev/termination-log",
        "terminationMessagePolicy": "File",
        "volumeMounts": [
            {"name": "kube-api-access", "readOnly": True, "mountPath": "/var/run/secrets/kubernetes.io/serviceaccount"},
            {"name": "config", "mountPath": "/etc/config"},
        ],
    }  # fmt: skip
    spec: Json = {
        "volumes": [
            {"name": "config", "configMap": {"name": app, "defaultMode": 420}},
            {
                "name": "kube-api-access",
                "projected": {
                    "defaultMode": 420,
                    "sources": [
                        {"serviceAccountToken": {"expirationSeconds": 3607, "path": "token"}},
                        {"configMap": {"name": "kube-root-ca.crt", "items": [{"key": "ca.crt", "path": "ca.crt"}]}},
                    ],
                },
            },
        ],
        "containers": [container],
        "restartPolicy": "Always",
        "terminationGracePeriodSeconds": 30,
        "dnsPolicy": "ClusterFirst",
        "serviceAccountName": app,
        "serviceAccount": app,
        "securityContext": {},
        "schedulerName": "default-scheduler",
        "tolerations": [
            {"key": f"node.kubernetes.io/{what}", "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 300}
            for what in ("not-ready", "unreachable")
        ],
        "priority": 0,
        "enableServiceLinks": True,
        "preemptionPolicy": "PreemptLowerPriority",
    }  # fmt: skip
    selector = {"matchLabels": {"app": app}}
    if number % 4 == 0:
        strict = "DoNotSchedule" if number % 40 == 0 else "ScheduleAnyway"
        spec["topologySpreadConstraints"] = [
            {
                "maxSkew": 5,
                "topologyKey": labels.ZONE,
                "whenUnsatisfiable": strict,
                "labelSelector": selector,
            }
        ]
    if number % 10 == 5:
        term = {"topologyKey": labels.HOSTNAME, "labelSelector": selector}
        spec["affinity"] = {
            "podAntiAffinity": {
                "preferredDuringSchedulingIgnoredDuringExecution": [
                    {"weight": 1, "podAffinityTerm": term}
                ]
            }
        }
    return spec


def _source(namespace: str, name: str, kind: str, names: Json, spec: Json) -> PodSource:
    owners = [_owner("apps/v1", kind, name)] if kind else []
    meta = {
        "name": "%(name)b",
        "generateName": f"{name}-",
        "namespace": namespace,
        "uid": "%(uid)b",
        "resourceVersion": "%(version)b",
        "creationTimestamp": "%(born)b",
        "labels": names,
        "annotations": {"prometheus.io/scrape": "true", "kubectl.kubernetes.io/restartedAt": "2026-03-01T12:00:00Z"},
        "ownerReferences": owners,
        "managedFields": _managed(
            "kube-controller-manager",
            metadata=["annotations", "generateName", "labels", "ownerReferences"],
            spec=[f"containers:k:{{name:{name}}}:{part}" for part in spec["containers"][0]],
            status=[f"conditions:k:{{type:{kind}}}:{part}" for kind in CONDITIONS for part in WRITTEN],
        ),
    }  # fmt: skip
    body = encoded({"kind": "Pod", "apiVersion": "v1", "metadata": meta, "spec": spec})
    # What a pod has only in some states.
    body = body.replace(b'"metadata":{', b'"metadata":{%(deleted)b', 1)
    body = body.replace(b'"spec":{"volumes"', b'"spec":{%(node)b"volumes"', 1)
    return PodSource(namespace, name, kind, body[:-1] + b',"status":%(status)b}')


WRITTEN: Final = ("lastProbeTime", "lastTransitionTime", "status", "type")
"""Fields of a condition."""
CONDITIONS: Final = (
    "PodReadyToStartContainers", "Initialized", "Ready", "ContainersReady", "PodScheduled",
)  # fmt: skip


def _status(phase: str, time: str, *, ready: bool) -> bytes:
    conditions = [
        {
            "type": each,
            "status": "False" if not ready and "Ready" in each and "Start" not in each else "True",
            "lastProbeTime": None,
            "lastTransitionTime": time,
        }
        for each in CONDITIONS
    ]
    running = {
        "name": "main",
        "state": {"running": {"startedAt": "%(born)b"}},
        "lastState": {},
        "ready": ready,
        "restartCount": 0,
        "started": True,
        "image": "123456789012.dkr.ecr.eu-central-1.amazonaws.com/service:v1",
        "imageID": "123456789012.dkr.ecr.eu-central-1.amazonaws.com/service@sha256:" + "0123456789abcdef" * 4,
        "containerID": "containerd://" + "0123456789abcdef" * 4,
    }  # fmt: skip
    return encoded(
        {
            "phase": phase,
            "conditions": conditions,
            "hostIP": "10.0.0.7",
            "podIP": "%(ip)b",
            "podIPs": [{"ip": "%(ip)b"}],
            "startTime": "%(born)b",
            "containerStatuses": [running],
            "qosClass": "Burstable",
        }
    )


STATUSES: Final = {
    "new": b'{"phase":"Pending","qosClass":"Burstable"}',
    "unschedulable": encoded(
        {
            "phase": "Pending",
            "conditions": [
                {
                    "type": "PodScheduled",
                    "status": "False",
                    "lastProbeTime": None,
                    "lastTransitionTime": "%(now)b",
                    "reason": "Unschedulable",
                    "message": "0/5000 nodes are available: 5000 Insufficient cpu.".replace("%", ""),
                }
            ],
            "qosClass": "Burstable",
        }
    ),
    "bound": encoded(
        {
            "phase": "Pending",
            "conditions": [
                {"type": "PodScheduled", "status": "True", "lastProbeTime": None, "lastTransitionTime": "%(now)b"}
            ],
            "qosClass": "Burstable",
        }
    ),
    "running": _status("Running", "%(born)b", ready=True),
    "unready": _status("Running", "%(now)b", ready=False),
}  # fmt: skip
"""What kube-scheduler and kubelet say of a pod."""


def _node(made: Recording, number: int, of_type: InstanceType, hashes: dict[str, str]) -> None:
    pool = POOLS[0 if number % 10 < 8 else number % 10 - 7]
    name, zone = f"{pool}-{number:05d}", kwok_catalogue.ZONES[number % 4]
    host = f"ip-10-{number // 250}-{number % 250}-7"
    known = build.node_claim(name, pool=pool, instance_type=INSTANCE_TYPE, zone=zone, since=BORN)
    room = encode.quantities(of_type.capacity)
    allocatable = encode.quantities(of_type.allocatable)
    labels_of = {**of_type.requirements.single_values(), **known.meta.labels}
    body = encode.node_claim(known)
    notes = {
        labels.NODEPOOL_HASH: hashes[pool],
        labels.NODEPOOL_HASH_VERSION: nodepool_hash.VERSION,
    }
    body["metadata"] = metadata(
        made,
        name,
        labels=labels_of,
        annotations=notes,
        finalizers=[labels.TERMINATION_FINALIZER],
        ownerReferences=[_owner("karpenter.sh/v1", "NodePool", pool) | {"controller": False}],
        managedFields=_managed(
            "karpenter", spec=list(body["spec"]), status=["capacity", "conditions"]
        ),
    )
    provider_id = f"kwok://{host}"
    body["status"] = {
        "nodeName": host,
        "providerID": provider_id,
        "capacity": room,
        "allocatable": allocatable,
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
            for c in (
                *known.conditions,
                Condition(type="Consolidatable", status="True", reason="Consolidatable"),
            )
        ],
    }
    made.put("/apis/karpenter.sh/v1/nodeclaims", name, encoded(body))
    node = {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": metadata(
            made,
            host,
            labels={
                **labels_of,
                labels.HOSTNAME: host,
                labels.REGISTERED: "true",
                labels.INITIALIZED: "true",
                "beta.kubernetes.io/arch": "amd64",
                "beta.kubernetes.io/os": "linux",
                "failure-domain.beta.kubernetes.io/zone": zone,
            },
            annotations={
                **notes,
                "node.alpha.kubernetes.io/ttl": "0",
                "csi.volume.kubernetes.io/nodeid": '{"ebs.csi.aws.com":"i-0123456789abcdef0"}',
                "volumes.kubernetes.io/controller-managed-attach-detach": "true",
            },
            finalizers=[labels.TERMINATION_FINALIZER],
            ownerReferences=[_owner("karpenter.sh/v1", "NodeClaim", name)],
            managedFields=_managed("kubelet", metadata=list(labels_of), status=["conditions", "images", "nodeInfo"]),
        ),
        "spec": {"providerID": provider_id},
        "status": node_status(room, allocatable),
    }  # fmt: skip
    made.put("/api/v1/nodes", host, encoded(node))
    csi = {
        "apiVersion": "storage.k8s.io/v1",
        "kind": "CSINode",
        "metadata": metadata(made, host, ownerReferences=[_owner("v1", "Node", host)]),
        "spec": {
            "drivers": [
                {
                    "name": "ebs.csi.aws.com",
                    "nodeID": host,
                    "topologyKeys": [labels.ZONE],
                    "allocatable": {"count": 25},
                }
            ]
        },
    }
    made.put("/apis/storage.k8s.io/v1/csinodes", host, encoded(csi))


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
