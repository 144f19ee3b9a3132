"""Kubernetes manifests as plain dicts: the controller's Deployment, and this stack's NodePools.

Values that are known late, such as a role's ARN, pass through as they are. No Pulumi in here.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from daiku_infra import rbac, tags

Manifest = dict[str, Any]

NAME = "daiku"
"""Name of the controller's objects."""
SYSTEM_TAINT = "CriticalAddonsOnly"
"""Key of the taint and of the label of system nodes, which only system pods tolerate."""
METRICS_PORT = 8080
"""Port of /metrics."""
HEALTH_PORT = 8081
"""Port of /healthz and /readyz."""

_SELECTOR = {"app.kubernetes.io/name": NAME}
_LABELS = {**_SELECTOR, "app.kubernetes.io/managed-by": "pulumi"}
_USER_ID = 65532
_WAIT_UNTIL_READY = {"pulumi.com/waitFor": "condition=Ready"}
"""An update ends when the controller has said that it can work with the object, or why not."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Controller:
    """What the controller's manifests are made from."""

    namespace: str
    """Namespace of everything of it that has one."""
    image: Any
    """Image reference."""
    replicas: int
    """Pods, of which one leads."""
    cluster: str
    """Name of the cluster."""
    region: str
    """AWS region of the cluster."""
    role_arn: Any
    """IAM role that its ServiceAccount names; None where EKS associates one with it."""
    queue_name: Any
    """Interruption queue."""
    cpu_request: str
    """CPU that each pod asks for."""
    memory: str
    """Memory that each pod asks for, and its limit."""
    priority_class: str = "system-cluster-critical"
    """Priority of its pods."""
    environment: dict[str, str] = field(default_factory=dict[str, str])
    """Settings beyond those above, by environment name."""


def service_account(controller: Controller) -> Manifest:
    """The identity of the controller, in Kubernetes and through the annotation in AWS."""
    manifest = _object("v1", "ServiceAccount", namespace=controller.namespace)
    if controller.role_arn is not None:
        manifest["metadata"]["annotations"] = {
            "eks.amazonaws.com/role-arn": controller.role_arn,
            "eks.amazonaws.com/sts-regional-endpoints": "true",
        }
    return manifest


def cluster_role(controller: Controller) -> Manifest:
    """What it may do anywhere."""
    rules = rbac.cluster_rules(makes_nodes=controller.environment.get("CLOUD") == "kwok")
    return _object("rbac.authorization.k8s.io/v1", "ClusterRole", rules=rules)


def cluster_role_binding(controller: Controller) -> Manifest:
    """Who may do it."""
    return _binding("ClusterRole", controller)


def role(controller: Controller) -> Manifest:
    """What it may do in its own namespace."""
    return _object(
        "rbac.authorization.k8s.io/v1",
        "Role",
        namespace=controller.namespace,
        rules=rbac.lease_rules(),
    )


def role_binding(controller: Controller) -> Manifest:
    """Who may do it."""
    return _binding("Role", controller)


def disruption_budget(controller: Controller) -> Manifest:
    """A drain of system nodes takes one pod of it at a time."""
    return _object(
        "policy/v1",
        "PodDisruptionBudget",
        namespace=controller.namespace,
        spec={"maxUnavailable": 1, "selector": {"matchLabels": _SELECTOR}},
    )


def metrics_service(controller: Controller) -> Manifest:
    """Where metrics are read: every pod by itself, since only the leader has most of them."""
    return _object(
        "v1",
        "Service",
        namespace=controller.namespace,
        spec={
            "clusterIP": "None",
            "selector": _SELECTOR,
            "ports": [{"name": "metrics", "port": METRICS_PORT, "targetPort": "metrics"}],
        },
    )


def service_monitor(controller: Controller) -> Manifest:
    """How Prometheus' operator finds the metrics."""
    return _object(
        "monitoring.coreos.com/v1",
        "ServiceMonitor",
        namespace=controller.namespace,
        spec={
            "selector": {"matchLabels": _SELECTOR},
            "namespaceSelector": {"matchNames": [controller.namespace]},
            "endpoints": [{"port": "metrics", "path": "/metrics"}],
        },
    )


def deployment(controller: Controller) -> Manifest:
    """The controller, on nodes that it did not make itself."""
    return _object(
        "apps/v1",
        "Deployment",
        namespace=controller.namespace,
        spec={
            "replicas": controller.replicas,
            "revisionHistoryLimit": 3,
            "strategy": {
                "type": "RollingUpdate",
                "rollingUpdate": {"maxSurge": 1, "maxUnavailable": 1},
            },
            "selector": {"matchLabels": _SELECTOR},
            "template": {"metadata": {"labels": _LABELS}, "spec": _pod_spec(controller)},
        },
    )


def node_class(
    name: str,
    spec: dict[str, Any],
    *,
    cluster: str,
    profile: Any,
    common_tags: dict[str, str],
    security_group_ids: Sequence[Any] = (),
) -> Manifest:
    """An EC2NodeClass; what the stack knows better than its author is filled in where it is absent.

    Args:
        name: Name of the object.
        spec: Its spec, in the words of the API.
        cluster: Name of the cluster, by which subnets and the security group are found.
        profile: Instance profile of the cluster's node role.
        common_tags: Tags that everything of the cluster carries.
        security_group_ids: Groups that nodes are in beside the one that is found by its tag.
    """
    found_by_tag = [{"tags": tags.discovery(cluster)}]
    filled = {
        "subnetSelectorTerms": found_by_tag,
        "securityGroupSelectorTerms": [*found_by_tag, *({"id": i} for i in security_group_ids)],
        **({} if "role" in spec else {"instanceProfile": profile}),
        **spec,
        "tags": {**common_tags, **spec.get("tags", {})},
    }
    manifest = _object("karpenter.k8s.aws/v1", "EC2NodeClass", name=name, spec=filled)
    manifest["metadata"]["annotations"] = dict(_WAIT_UNTIL_READY)
    return manifest


def node_pool(name: str, spec: dict[str, Any]) -> Manifest:
    """A NodePool that is gone only when its nodes are.

    Its NodeClaims are its dependents, and a foreground deletion waits for those: so whoever deletes
    the pool sees it until the last instance has been drained and terminated.
    """
    manifest = _object("karpenter.sh/v1", "NodePool", name=name, spec=spec)
    manifest["metadata"]["annotations"] = {
        "pulumi.com/deletionPropagationPolicy": "foreground",
        **_WAIT_UNTIL_READY,
    }
    return manifest


def _pod_spec(controller: Controller) -> dict[str, Any]:
    """The pod: where it may run, and as whom."""
    return {
        "serviceAccountName": NAME,
        "priorityClassName": controller.priority_class,
        "nodeSelector": {"kubernetes.io/os": "linux"},
        "tolerations": [{"key": SYSTEM_TAINT, "operator": "Exists"}],
        # On a node of its own making the controller could drain itself, and nobody would be left to
        # make another one.
        "affinity": {
            "nodeAffinity": {
                "requiredDuringSchedulingIgnoredDuringExecution": {
                    "nodeSelectorTerms": [
                        {
                            "matchExpressions": [
                                {"key": "karpenter.sh/nodepool", "operator": "DoesNotExist"}
                            ]
                        }
                    ]
                }
            }
        },
        "topologySpreadConstraints": [
            _spread("kubernetes.io/hostname", "DoNotSchedule"),
            _spread("topology.kubernetes.io/zone", "ScheduleAnyway"),
        ],
        "securityContext": {
            "runAsNonRoot": True,
            "runAsUser": _USER_ID,
            "runAsGroup": _USER_ID,
            "fsGroup": _USER_ID,
            "seccompProfile": {"type": "RuntimeDefault"},
        },
        "containers": [_container(controller)],
        "volumes": [{"name": "scratch", "emptyDir": {"sizeLimit": "64Mi"}}],
    }


def _container(controller: Controller) -> dict[str, Any]:
    """The one container of the pod."""
    return {
        "name": "controller",
        "image": controller.image,
        "args": ["run"],
        "env": _environment(controller),
        "ports": [
            {"name": "metrics", "containerPort": METRICS_PORT},
            {"name": "health", "containerPort": HEALTH_PORT},
        ],
        "livenessProbe": {**_probe("/healthz"), "initialDelaySeconds": 30, "periodSeconds": 10},
        "readinessProbe": {**_probe("/readyz"), "initialDelaySeconds": 1, "periodSeconds": 3},
        "resources": {
            "requests": {"cpu": controller.cpu_request, "memory": controller.memory},
            "limits": {"memory": controller.memory},
        },
        "securityContext": {
            "allowPrivilegeEscalation": False,
            "readOnlyRootFilesystem": True,
            "capabilities": {"drop": ["ALL"]},
        },
        "volumeMounts": [{"name": "scratch", "mountPath": "/tmp"}],  # noqa: S108  (in the container)
    }


def _environment(controller: Controller) -> list[dict[str, Any]]:
    """Settings by environment name. $(POD_IP) can only refer to what stands before it."""
    plain: dict[str, Any] = {
        "CLUSTER_NAME": controller.cluster,
        "INTERRUPTION_QUEUE": controller.queue_name,
        "AWS_REGION": controller.region,
        "BIND_ADDRESS": "$(POD_IP)",
        **controller.environment,
    }
    return [
        _from_field("POD_NAME", "metadata.name"),
        _from_field("POD_NAMESPACE", "metadata.namespace"),
        _from_field("POD_IP", "status.podIP"),
        *({"name": name, "value": value} for name, value in plain.items()),
    ]


def _from_field(name: str, path: str) -> dict[str, Any]:
    """A variable that holds a field of the pod itself."""
    return {"name": name, "valueFrom": {"fieldRef": {"fieldPath": path}}}


def _probe(path: str) -> dict[str, Any]:
    """A probe of the health port."""
    return {"httpGet": {"path": path, "port": HEALTH_PORT}, "timeoutSeconds": 5}


def _spread(topology_key: str, when_unsatisfiable: str) -> dict[str, Any]:
    """Spread pods of the same revision: those of the last one must not hold a place of the next."""
    return {
        "topologyKey": topology_key,
        "maxSkew": 1,
        "whenUnsatisfiable": when_unsatisfiable,
        "labelSelector": {"matchLabels": _SELECTOR},
        "matchLabelKeys": ["pod-template-hash"],
    }


def _binding(kind: str, controller: Controller) -> Manifest:
    """Bind the role of this kind to the controller's ServiceAccount."""
    scope = {"namespace": controller.namespace} if kind == "Role" else {}
    return _object(
        "rbac.authorization.k8s.io/v1",
        f"{kind}Binding",
        **scope,
        roleRef={"apiGroup": "rbac.authorization.k8s.io", "kind": kind, "name": NAME},
        subjects=[{"kind": "ServiceAccount", "name": NAME, "namespace": controller.namespace}],
    )


def _object(
    api_version: str, kind: str, *, name: str = NAME, namespace: str | None = None, **body: Any
) -> Manifest:
    """A manifest with the labels that everything of the controller has."""
    metadata: dict[str, Any] = {"name": name, "labels": dict(_LABELS)}
    if namespace:
        metadata["namespace"] = namespace
    return {"apiVersion": api_version, "kind": kind, "metadata": metadata, **body}
