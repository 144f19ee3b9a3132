"""Manifests as public projects have them, hundreds of shapes: each is planned, noted or refused by name, never lost.

Shapes are those of kinds that charts and repositories bring along; what they hold is made up.
"""

import io
import itertools
import json
from collections.abc import Iterator
from typing import Any

import pytest
import yaml
from tests.unit.daiku_cli import reading

from daiku.api import configuration, manifests
from daiku.api.manifests import ManifestError
from daiku.cli import judging, planning
from daiku.cli.converting import conversion, tree

Json = dict[str, Any]
WORKLOADS: dict[str, str] = {
    "Deployment": "apps/v1",
    "StatefulSet": "apps/v1",
    "ReplicaSet": "apps/v1",
    "DaemonSet": "apps/v1",
    "Job": "batch/v1",
    "CronJob": "batch/v1",
    "ReplicationController": "v1",
    "Rollout": "argoproj.io/v1alpha1",
    "Pod": "v1",
}
ASKS: dict[str, Json] = {
    "nothing": {},
    "cpu": {"requests": {"cpu": "100m"}},
    "a cpu as a number": {"requests": {"cpu": 1}},
    "a fraction": {"requests": {"cpu": 0.5, "memory": "0.5Gi"}},
    "limits only": {"limits": {"cpu": "500m", "memory": "256Mi"}},
    "disk": {"requests": {"ephemeral-storage": "1Gi"}},
    "hugepages": {"limits": {"hugepages-2Mi": "64Mi"}},
    "a GPU": {"limits": {"nvidia.com/gpu": 1}},
    "null": {"requests": None, "limits": None},
}
SPECS: dict[str, Json] = {
    "plain": {},
    "init": {"initContainers": [{"name": "i", "image": "x"}]},
    "sidecar": {"initContainers": [{"name": "i", "image": "x", "restartPolicy": "Always"}]},
    "selector": {"nodeSelector": {"kubernetes.io/os": "linux"}},
    "old names": {"nodeSelector": {"beta.kubernetes.io/os": "linux", "beta.kubernetes.io/arch": "amd64"}},
    "tolerations": {"tolerations": [{"operator": "Exists"}, {"key": "a", "effect": "NoSchedule"}]},
    "seconds": {"tolerations": [{"key": "a", "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 30}]},
    "nulls": {"nodeSelector": None, "tolerations": None, "affinity": None, "volumes": None},
    "empty affinity": {"affinity": {"nodeAffinity": {}, "podAntiAffinity": {}}},
    "anti-affinity": {
        "affinity": {
            "podAntiAffinity": {
                "preferredDuringSchedulingIgnoredDuringExecution": [
                    {
                        "weight": 100,
                        "podAffinityTerm": {
                            "labelSelector": {"matchLabels": {"app": "web"}},
                            "topologyKey": "kubernetes.io/hostname",
                        },
                    }
                ]
            }
        }
    },
    "spread": {
        "topologySpreadConstraints": [
            {
                "maxSkew": 1,
                "topologyKey": "topology.kubernetes.io/zone",
                "whenUnsatisfiable": "ScheduleAnyway",
                "labelSelector": {"matchLabels": {"app": "web"}},
                "matchLabelKeys": ["pod-template-hash"],
            }
        ]
    },
    "volumes": {
        "volumes": [
            {"name": "a", "emptyDir": {}},
            {"name": "b", "configMap": {"name": "c", "items": [{"key": "d", "path": "e"}]}},
            {"name": "f", "projected": {"sources": [{"serviceAccountToken": {"path": "t"}}]}},
            {"name": "g", "hostPath": {"path": "/"}},
            {"name": "h", "csi": {"driver": "x"}},
        ]
    },
    "a claim": {"volumes": [{"name": "a", "persistentVolumeClaim": {"claimName": "b"}}]},
    "ephemeral": {"volumes": [{"name": "a", "ephemeral": {"volumeClaimTemplate": {"spec": {}}}}]},
    "host": {"hostNetwork": True, "hostPID": True, "dnsPolicy": "ClusterFirstWithHostNet"},
    "priority": {"priorityClassName": "system-cluster-critical"},
    "runtime": {"runtimeClassName": "gvisor"},
    "scheduler": {"schedulerName": "volcano"},
    "gates": {"schedulingGates": [{"name": "a"}]},
    "claims": {"resourceClaims": [{"name": "a", "resourceClaimTemplateName": "b"}]},
    "security": {"securityContext": {"fsGroup": 0, "seccompProfile": {"type": "RuntimeDefault"}}},
}  # fmt: skip
OTHERS = [
    "v1/Service",
    "v1/ConfigMap",
    "v1/Secret",
    "v1/ServiceAccount",
    "v1/Namespace",
    "v1/Endpoints",
    "v1/Event",
    "v1/PersistentVolumeClaim",
    "v1/PersistentVolume",
    "v1/ResourceQuota",
    "v1/LimitRange",
    "v1/Node",
    "v1/PodTemplate",
    "apps/v1/ControllerRevision",
    "policy/v1/PodDisruptionBudget",
    "policy/v1beta1/PodDisruptionBudget",
    "policy/v1beta1/PodSecurityPolicy",
    "autoscaling/v2/HorizontalPodAutoscaler",
    "autoscaling/v1/HorizontalPodAutoscaler",
    "networking.k8s.io/v1/Ingress",
    "networking.k8s.io/v1/NetworkPolicy",
    "networking.k8s.io/v1/IngressClass",
    "rbac.authorization.k8s.io/v1/Role",
    "rbac.authorization.k8s.io/v1/ClusterRole",
    "rbac.authorization.k8s.io/v1/RoleBinding",
    "rbac.authorization.k8s.io/v1/ClusterRoleBinding",
    "storage.k8s.io/v1/StorageClass",
    "storage.k8s.io/v1/CSIDriver",
    "storage.k8s.io/v1/CSINode",
    "storage.k8s.io/v1/VolumeAttachment",
    "scheduling.k8s.io/v1/PriorityClass",
    "node.k8s.io/v1/RuntimeClass",
    "apiextensions.k8s.io/v1/CustomResourceDefinition",
    "apiregistration.k8s.io/v1/APIService",
    "admissionregistration.k8s.io/v1/ValidatingWebhookConfiguration",
    "admissionregistration.k8s.io/v1/MutatingWebhookConfiguration",
    "coordination.k8s.io/v1/Lease",
    "discovery.k8s.io/v1/EndpointSlice",
    "certificates.k8s.io/v1/CertificateSigningRequest",
    "resource.k8s.io/v1/ResourceClaim",
    "resource.k8s.io/v1/DeviceClass",
    "snapshot.storage.k8s.io/v1/VolumeSnapshotClass",
    "argoproj.io/v1alpha1/Application",
    "argoproj.io/v1alpha1/ApplicationSet",
    "argoproj.io/v1alpha1/AppProject",
    "argoproj.io/v1alpha1/Workflow",
    "argoproj.io/v1alpha1/AnalysisTemplate",
    "kustomize.config.k8s.io/v1beta1/Kustomization",
    "kustomize.toolkit.fluxcd.io/v1/Kustomization",
    "helm.toolkit.fluxcd.io/v2/HelmRelease",
    "source.toolkit.fluxcd.io/v1/GitRepository",
    "monitoring.coreos.com/v1/ServiceMonitor",
    "monitoring.coreos.com/v1/PrometheusRule",
    "monitoring.coreos.com/v1/Prometheus",
    "cert-manager.io/v1/Certificate",
    "cert-manager.io/v1/ClusterIssuer",
    "gateway.networking.k8s.io/v1/Gateway",
    "gateway.networking.k8s.io/v1/HTTPRoute",
    "networking.istio.io/v1/VirtualService",
    "networking.istio.io/v1/DestinationRule",
    "keda.sh/v1alpha1/ScaledObject",
    "keda.sh/v1alpha1/ScaledJob",
    "external-secrets.io/v1/ExternalSecret",
    "serving.knative.dev/v1/Service",
    "eventing.knative.dev/v1/Broker",
    "tekton.dev/v1/Pipeline",
    "tekton.dev/v1/Task",
    "kafka.strimzi.io/v1beta2/Kafka",
    "postgresql.cnpg.io/v1/Cluster",
    "cluster.x-k8s.io/v1beta1/MachineDeployment",
    "cluster.x-k8s.io/v1beta1/Machine",
    "machine.openshift.io/v1beta1/MachineSet",
    "apps.kruise.io/v1alpha1/CloneSet",
    "batch.volcano.sh/v1alpha1/Job",
    "kubeflow.org/v1/PyTorchJob",
    "ray.io/v1/RayCluster",
    "sparkoperator.k8s.io/v1beta2/SparkApplication",
    "kyverno.io/v1/ClusterPolicy",
    "velero.io/v1/Schedule",
    "crossplane.io/v1/Provider",
    "eksctl.io/v1alpha5/ClusterConfig",
    "kind.x-k8s.io/v1alpha4/Cluster",
    "kubeadm.k8s.io/v1beta3/ClusterConfiguration",
    "skaffold/v4beta6/Config",
    "karpenter.sh/v1alpha1/NodeOverlay",
    "autoscaling.x-k8s.io/v1beta1/CapacityBuffer",
    "karpenter.sh/v1/NodeClaim",
    "karpenter.sh/v1alpha5/Provisioner",
    "karpenter.sh/v1alpha5/Machine",
    "karpenter.k8s.aws/v1alpha1/AWSNodeTemplate",
    "karpenter.sh/v1beta1/NodePool",
    "karpenter.k8s.aws/v1beta1/EC2NodeClass",
    "karpenter.sh/v1beta1/NodeClaim",
    "karpenter.azure.com/v1beta1/AKSNodeClass",
    "karpenter.k8s.gcp/v1alpha1/GCENodeClass",
    "example.com/v1/DenyList",
]
BODIES: tuple[Json, ...] = (
    {},
    {"spec": {}},
    {"spec": {"key": {"a": "b"}, "template": {"spec": {"containers": []}}}, "data": {"x": "y"}},
)


def workload(kind: str, asks: Json, spec: Json) -> Json:
    pod = {"containers": [{"name": "c", "image": "x", "resources": asks}], **spec}
    template = {"metadata": {"labels": {"app": "web"}}, "spec": pod}
    inner: Json = {"replicas": 2, "template": template}
    if kind == "Pod":
        inner = pod
    elif kind == "CronJob":
        inner = {"schedule": "* * * * *", "jobTemplate": {"spec": {"template": template}}}
    elif kind == "Job":
        inner = {"template": template}
    return {
        "apiVersion": WORKLOADS[kind],
        "kind": kind,
        "metadata": {"name": "web-1"},
        "spec": inner,
    }


def shapes() -> Iterator[tuple[str, Json]]:
    """Every shape with its name."""
    for kind in WORKLOADS:
        for name, asks in ASKS.items():
            yield f"{kind}, {name}", workload(kind, asks, {})
        for name, spec in SPECS.items():
            yield f"{kind}, {name}", workload(kind, ASKS["cpu"], spec)
    for each, (number, body) in itertools.product(OTHERS, enumerate(BODIES)):
        version, _, kind = each.rpartition("/")
        yield (
            f"{each} {number}",
            {
                "apiVersion": version,
                "kind": kind,
                "metadata": {"name": "web-1"},
                **body,
            },
        )


SHAPES = dict(shapes())
SEEN = {
    *("Namespace", "Node", "NodeClaim", "PersistentVolume", "PersistentVolumeClaim", "StorageClass"),
    *("CSINode", "VolumeAttachment", "PodDisruptionBudget", "LimitRange", "RuntimeClass", "DaemonSet"),
}  # fmt: skip
"""Kinds without pods of their own that a plan takes into account and has nothing to say of."""


def answer(content: bytes) -> planning.Answer | list[str]:
    request = planning.Request(sources=("-",), output="json")
    try:
        return planning.answer(request, io.BytesIO(content), lambda *_: None, lambda: 0.0)
    except ManifestError as error:
        return error.problems


def refusals(shape: Json) -> list[str]:
    """What is wrong with a shape by itself."""
    problems: list[str] = []
    documents = manifests.read("f", yaml.safe_dump(shape).encode(), problems)
    configuration.build(judging.judged(documents, problems, []), problems)
    return problems


def test_there_are_hundreds_of_shapes() -> None:
    assert len(SHAPES) > 450


def test_every_shape_is_planned_or_spoken_of() -> None:
    named = {
        name: {**shape, "metadata": {"name": f"web-{number}"}}
        for number, (name, shape) in enumerate(SHAPES.items())
    }
    refused = {name: refusals(shape) for name, shape in named.items()}
    taken = {name: shape for name, shape in named.items() if not refused[name]}

    found = answer(yaml.safe_dump_all([reading.node_pool(), *taken.values()]).encode())

    for name, lines in refused.items():
        assert all(named[name]["metadata"]["name"] in line for line in lines), (name, lines)
    assert isinstance(found, planning.Answer), found
    assert len(taken) > 400
    made = json.loads(found.text)
    pods = [pod for node in made["newNodes"] for pod in node["pods"]]
    pods += [pod for each in made["unschedulable"] for pod in each["pods"]]
    pods += [*made["placements"]]
    assert "undecided" not in made
    assert not [note for note in found.notes if note.startswith("audit")]
    said = " ".join(found.notes)
    for name, shape in taken.items():
        own, kind = shape["metadata"]["name"], shape["kind"]
        planned = any(f"/{own}-" in f"{pod}-" for pod in pods)
        noted = f"{kind} " in said or f"default/{own}" in said
        quiet = kind in SEEN or shape.get("spec", {}).get("schedulerName")
        assert planned or noted or quiet or "schedulingGates" in str(shape), name


def test_every_shape_is_converted_or_stays() -> None:
    for name, shape in SHAPES.items():
        text = yaml.safe_dump(shape)
        made = conversion.convert(tree.read("file", text.encode()), "")
        written = tree.write(made.objects)

        if not made.objects:
            assert any("web-1" in note for note in made.notes), name
        elif not shape["apiVersion"].startswith("karpenter"):
            assert written == text, name
        again = conversion.convert(tree.read("file", written.encode()), "")
        assert tree.write(again.objects) == written, name


@pytest.mark.parametrize("kind", ["NodePool", "EC2NodeClass", "KWOKNodeClass"])
@pytest.mark.parametrize("spec", [None, [], "text", 5, {}, {"template": []}, {"kubelet": [1]}])
def test_a_node_pool_or_class_of_any_shape_is_planned_or_refused_by_name(
    kind: str, spec: Any
) -> None:
    version = {
        "NodePool": "karpenter.sh/v1",
        "EC2NodeClass": "karpenter.k8s.aws/v1",
        "KWOKNodeClass": "karpenter.kwok.sh/v1alpha1",
    }[kind]
    shape = {"apiVersion": version, "kind": kind, "metadata": {"name": "web-1"}, "spec": spec}

    found = answer(yaml.safe_dump_all([reading.node_pool(), shape]).encode())

    assert not isinstance(found, list) or all("web-1" in line for line in found)
