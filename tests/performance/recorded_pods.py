"""Pods as bytes: one template for each workload, filled in for each pod and each state that it is in."""

from dataclasses import dataclass
from typing import Final

from tests.performance.recorded_parts import BORN, Json, encoded, host_of, managed, owner, stamp

from daiku.model import labels

PROBE: Final = "stream.example/probe"
"""Label by which a pod of the stream asks for a node of its own."""


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
        host = host_of(node) if isinstance(node, int) else node
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


def probe_source() -> PodSource:
    """Pods that need a node of their own, which their label names."""
    spec = pod_spec("probe", 12000, 1) | {"nodeSelector": {PROBE: "%(name)b"}}
    return source_of("default", "probe", "", {"app": "probe"}, spec)


def small_source() -> PodSource:
    """Pods for which any node has room."""
    return source_of("default", "small", "", {"app": "small"}, pod_spec("small", 100, 1))


def _container(app: str, millicores: int, number: int) -> Json:
    resources = {
        "requests": {"cpu": f"{millicores}m", "memory": f"{millicores * 2}Mi"},
        "limits": {"memory": f"{millicores * 2}Mi"},
    }
    probe = {
        "httpGet": {"path": "/healthz", "port": 8080, "scheme": "HTTP"},
        "periodSeconds": 10,
        "failureThreshold": 3,
    }
    return {
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


def pod_spec(app: str, millicores: int, number: int) -> Json:
    """Spec of a pod of workload `app`, whose number says what it minds."""
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
        "containers": [_container(app, millicores, number)],
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


def source_of(namespace: str, name: str, kind: str, names: Json, spec: Json) -> PodSource:
    """What pods of a workload have in common; without `kind` nobody owns them."""
    owners = [owner("apps/v1", kind, name)] if kind else []
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
        "managedFields": managed(
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
