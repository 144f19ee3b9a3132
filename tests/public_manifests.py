"""Files of manifests as public projects have them, any number of them, each with a record of what is in it.

Shapes are those of kinds that charts, operators, tutorials and clusters bring along; what they hold is made up. Names,
labels and settings that a reader might lose are tokens of which there is no second in a file.
"""

import json
import random
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from tests.yaml_writing import Named, Same, Writer

Json = dict[str, Any]

API_OF = {
    "Deployment": ("apps/v1", "apps/v1", "apps/v1", "extensions/v1beta1", "apps/v1beta1", "apps/v1beta2"),
    "StatefulSet": ("apps/v1", "apps/v1", "apps/v1beta1"),
    "ReplicaSet": ("apps/v1", "extensions/v1beta1"),
    "DaemonSet": ("apps/v1", "apps/v1", "extensions/v1beta1"),
    "Job": ("batch/v1",),
    "CronJob": ("batch/v1", "batch/v1beta1", "batch/v2alpha1"),
    "ReplicationController": ("v1",),
    "Rollout": ("argoproj.io/v1alpha1",),
    "Pod": ("v1",),
}  # fmt: skip
"""Kinds of which pods come, and versions that repositories still have."""
LOOKALIKES = (
    *("batch.volcano.sh/v1alpha1/Job", "apps.kruise.io/v1alpha1/StatefulSet", "apps.openshift.io/v1/DeploymentConfig"),
    *("apps.kruise.io/v1alpha1/CloneSet", "serving.knative.dev/v1/Service", "tekton.dev/v1/Task", "example.com/v1/Pod"),
    *("apps.kruise.io/v1beta1/DaemonSet", "kubeflow.org/v1/PyTorchJob", "example.com/v2/Deployment"),
)  # fmt: skip
"""Kinds of others that make pods too, some under a name of Kubernetes."""
OTHERS = (
    *("v1/Service", "v1/ServiceAccount", "v1/Namespace", "v1/PersistentVolumeClaim", "v1/LimitRange"),
    *("networking.k8s.io/v1/Ingress", "extensions/v1beta1/Ingress", "policy/v1beta1/PodDisruptionBudget"),
    *("rbac.authorization.k8s.io/v1/ClusterRole", "autoscaling/v2beta2/HorizontalPodAutoscaler", "v1/AllowList"),
    *("monitoring.coreos.com/v1/ServiceMonitor", "argoproj.io/v1alpha1/Application", "keda.sh/v1alpha1/ScaledObject"),
    *("helm.toolkit.fluxcd.io/v2/HelmRelease", "cert-manager.io/v1/Certificate", "eksctl.io/v1alpha5/ClusterConfig"),
    *("karpenter.azure.com/v1beta1/AKSNodeClass", "cluster.x-k8s.io/v1beta1/MachineDeployment"),
)  # fmt: skip
NAMELESS = (
    *("kustomize.config.k8s.io/v1beta1/Kustomization", "skaffold/v4beta6/Config", "kind.x-k8s.io/v1alpha4/Cluster"),
    *("kubeadm.k8s.io/v1beta3/ClusterConfiguration", "kubelet.config.k8s.io/v1beta1/KubeletConfiguration"),
    *("audit.k8s.io/v1/Policy", "apiserver.config.k8s.io/v1/EncryptionConfiguration"),
)  # fmt: skip
"""Kinds that are files of settings, whose objects have no name."""
POOL_KINDS = ("Provisioner", "AWSNodeTemplate", "NodePool", "EC2NodeClass")
NAMESPACES = ("", "", "default", "kube-system", "team-a", "本番")


@dataclass(frozen=True)
class Asked:
    """A workload, and how many pods of it there are to be now."""

    kind: str
    key: str
    """Namespace and name."""
    pods: int


@dataclass(slots=True)
class File:
    """A file, and what is in it."""

    seed: int
    content: bytes = b""
    workloads: list[Asked] = field(default_factory=list[Asked])
    objects: list[tuple[str, str]] = field(default_factory=list[tuple[str, str]])
    """Kind and name of all, where there is a name."""
    tokens: list[str] = field(default_factory=list[str])
    """What an author chose, in objects that are converted."""
    comments: list[str] = field(default_factory=list[str])
    is_old: bool = False
    """It holds something of Karpenter before v1, which a plan does not take."""
    is_template: bool = False
    """It is for Helm, and no YAML as it is."""


@dataclass(slots=True)
class Maker:
    """Makes what one file holds."""

    rng: random.Random
    file: File
    number: int = 0

    def token(self, word: str = "t") -> str:
        """A text of which there is no second."""
        self.number += 1
        return f"{word}{self.number}x"

    def kept(self, word: str = "k") -> str:
        """A token that no conversion may lose."""
        self.file.tokens.append(self.token(word))
        return self.file.tokens[-1]

    def some(self, share: float) -> bool:
        """Whether something that not everybody writes is written."""
        return self.rng.random() < share

    def head(self, version: str, kind: str, name: str = "") -> Json:
        """What every object begins with; is noted as one of the file's."""
        name = name or self.token("n")
        self.file.objects.append((kind, name))
        metadata: Json = {"name": name}
        if self.some(0.3):
            metadata["labels"] = {
                "app.kubernetes.io/name": self.token(),
                "app.kubernetes.io/version": "1.10",
            }
        if self.some(0.2):
            metadata["annotations"] = {
                "example.com/on": "yes",
                "example.com/config": '{"a": [1, "# b"]}\nmore: 1\n',
            }
        found = [("apiVersion", version), ("kind", kind), ("metadata", metadata)]
        if self.some(0.1):
            self.rng.shuffle(found)
        return dict(found)

    def placed(self, head: Json) -> str:
        """Give an object a namespace, or none; the key of namespace and name."""
        namespace = self.rng.choice(NAMESPACES)
        if namespace:
            head["metadata"]["namespace"] = namespace
        return f"{namespace or 'default'}/{head['metadata']['name']}"

    def workload(self) -> list[Json]:
        """Something that Kubernetes makes pods of."""
        kind = self.rng.choice(list(API_OF))
        found = self.head(self.rng.choice(API_OF[kind]), kind)
        key = self.placed(found)
        count = self.rng.choice([0, 1, 1, 2, 3, 7])
        labels = {"app": self.token()}
        template: Json = {"metadata": {"labels": labels}, "spec": self.pod()}
        spec: Json = {"selector": {"matchLabels": labels}, "template": template}
        if kind == "Pod":
            spec, count = template["spec"], 1
        elif kind == "CronJob":
            spec, count = (
                {"schedule": "*/5 * * * *", "jobTemplate": {"spec": {"template": template}}},
                0,
            )
        elif kind == "DaemonSet":
            count = -1
        elif kind == "Job":
            spec, count = self.job(template, count)
        elif self.some(0.3):
            count = 1
        else:
            spec = {"replicas": count, **spec}
        if kind == "StatefulSet" and self.some(0.5):
            claim: Json = {
                "accessModes": ["ReadWriteOnce"],
                "resources": {"requests": {"storage": "1Gi"}},
            }
            spec["volumeClaimTemplates"] = [{"metadata": {"name": "data"}, "spec": claim}]
        if kind == "Deployment" and self.some(0.2) and "selector" in spec:
            spec["selector"]["matchLabels"] = Named("labels", labels)
            template["metadata"]["labels"] = (
                {"<<": Same("labels"), "tier": "web"} if self.some(0.5) else Same("labels")
            )
        if kind == "Deployment" and self.some(0.1):
            spec |= {
                "revisionHistoryLimit": 2147483647,
                "strategy": {"rollingUpdate": {"maxSurge": "25%"}},
            }
        found["spec"] = spec
        if self.some(0.1):
            found["status"] = {} if kind != "Job" else None
        self.file.workloads.append(Asked(kind, key, count))
        return [found]

    def job(self, template: Json, count: int) -> tuple[Json, int]:
        """A Job's spec, and how many pods it has at once."""
        template["spec"]["restartPolicy"] = "Never"
        spec: Json = {"template": template, "backoffLimit": 4}
        if self.some(0.2):
            return {**spec, "suspend": True}, 0
        if self.some(0.5):
            return spec, 1
        return {**spec, "parallelism": count, "completions": 2, "completionMode": "Indexed"}, min(
            count, 2
        )

    def pod(self) -> Json:
        """A pod's spec."""
        requests = self.rng.choice(REQUESTS)
        container: Json = {
            "name": "main",
            "image": "registry.example.com/a/b:1.0@sha256:00",
            "resources": requests,
        }
        if self.some(0.2):
            container["command"] = ["sh", "-c", "set -e\n# not a comment\nexec sleep 1d\n"]
        if self.some(0.2):
            container["env"] = [
                {"name": "A", "value": "0644"},
                {"name": "B", "value": "on"},
                {"name": "C", "value": ""},
            ]
        spec: Json = {"containers": [container]}
        for _ in range(self.rng.choice([0, 0, 1, 2])):
            spec |= self.rng.choice(SPECS)
        return json.loads(json.dumps(spec))

    def lookalike(self) -> list[Json]:
        """Something that others make pods of, under the name of one of Kubernetes that may be beside it."""
        version, _, kind = self.rng.choice(LOOKALIKES).rpartition("/")
        near = [n for k, n in self.file.objects if k == kind and self.some(0.5)]
        found = self.head(version, kind, near[-1] if near else "")
        found["spec"] = {
            "replicas": 2,
            "template": {"spec": {"containers": [{"name": "c", "image": "x"}]}},
        }
        return [found]

    def other(self) -> list[Json]:
        """Something without pods."""
        version, _, kind = self.rng.choice(OTHERS).rpartition("/")
        spec = self.rng.choice(
            [{}, {"a": [{"key": "b", "value": None}]}, {"items": [{"k": 1}]}, {"big": 10**15}]
        )
        return [{**self.head(version, kind), **({"spec": spec} if self.some(0.8) else {})}]

    def nameless(self) -> list[Json]:
        """A file of settings."""
        version, _, kind = self.rng.choice(NAMELESS).rpartition("/")
        return [
            {
                "apiVersion": version,
                "kind": kind,
                "resources": ["a.yaml", "../b"],
                "nodes": [{"role": "worker"}],
            }
        ]

    def config_map(self) -> list[Json]:
        """Files in an object, YAML among them."""
        inner = "apiVersion: karpenter.sh/v1alpha5\nkind: Provisioner # inner\nmetadata: {name: a}\n---\nb: {{ .C }}\n"
        found = self.head("v1", self.rng.choice(["ConfigMap", "Secret"]))
        found["data"] = {
            "a.yaml": inner,
            "b.json": '{"c": 1}',
            "日本語": "値\n二行目\n",
            "n": "01",
            "empty": "",
        }
        return [found]

    def definition(self) -> list[Json]:
        """A CustomResourceDefinition, which has mappings under `key` and `items`."""
        found = self.head(
            "apiextensions.k8s.io/v1",
            "CustomResourceDefinition",
            f"{self.token('things')}.example.com",
        )
        properties = {
            "key": {"type": "string"},
            "items": {"type": "array", "items": {"type": "object"}},
        }
        schema = {
            "openAPIV3Schema": {
                "type": "object",
                "properties": {"spec": {"properties": properties}},
            }
        }
        found["spec"] = {
            "group": "example.com",
            "versions": [{"name": "v1", "served": True, "schema": schema}],
        }
        return [found]

    def in_list(self) -> list[Json]:
        """A List of several."""
        inside = [
            each for _ in range(self.rng.randint(0, 3)) for each in self.rng.choice(INSIDE)(self)
        ]
        found: Json = {"apiVersion": "v1", "kind": "List", "items": inside}
        if self.some(0.3):
            found["metadata"] = {"resourceVersion": "", "selfLink": ""}
        return [found]

    def pool(self) -> list[Json]:
        """Something of Karpenter, of any version."""
        kind = self.rng.choice(POOL_KINDS)
        return [POOLS[kind](self)]

    def requirements(self) -> list[Json]:
        """Requirements as NodePools of every version have them."""
        return [
            {
                "key": "karpenter.sh/capacity-type",
                "operator": "In",
                "values": ["spot", "on-demand"],
            },
            {
                "key": "node.kubernetes.io/instance-type",
                "operator": "NotIn",
                "values": [self.kept("m5.")],
            },
            {"key": "karpenter.k8s.aws/instance-cpu", "operator": "Gt", "values": ["3"]},
        ]

    def held(self) -> Json:
        """Labels, annotations and taints of nodes."""
        return {
            "labels": {"team": self.kept()},
            "annotations": {"example.com/owner": self.kept()},
            "taints": [{"key": self.kept("taint"), "value": "a", "effect": "NoSchedule"}],
        }

    def provisioner(self) -> Json:
        """v1alpha5."""
        self.file.is_old = True
        found = self.head("karpenter.sh/v1alpha5", "Provisioner")
        spec: Json = {**self.held(), "requirements": self.requirements()}
        spec["limits"] = {
            "resources": {"cpu": self.rng.choice([1000, "1k", "1000"]), "memory": "1000Gi"}
        }
        if self.some(0.7):
            spec["providerRef"] = {"name": self.kept("class")}
        elif self.some(0.5):
            spec["provider"] = {
                "subnetSelector": {"Name": self.kept("net")},
                "instanceProfile": self.kept("profile"),
            }
        if self.some(0.5):
            spec["consolidation"] = {"enabled": True}
        else:
            spec["ttlSecondsAfterEmpty"] = 30
        if self.some(0.3):
            spec |= {"ttlSecondsUntilExpired": 2592000, "weight": 10}
        if self.some(0.3):
            spec["kubeletConfiguration"] = {
                "maxPods": 110,
                "clusterDNS": [self.kept("dns")],
                "containerRuntime": "containerd",
            }
        return {**found, "spec": spec}

    def template(self) -> Json:
        """An AWSNodeTemplate."""
        self.file.is_old = True
        found = self.head("karpenter.k8s.aws/v1alpha1", "AWSNodeTemplate")
        return {
            **found,
            "spec": {
                "subnetSelector": {"karpenter.sh/discovery": self.kept("cluster")},
                "securityGroupSelector": {"aws-ids": f"sg-{self.kept()},sg-{self.kept()}"},
                "amiFamily": self.rng.choice(["AL2", "Bottlerocket", "Custom", "Ubuntu"]),
                "userData": f"#!/bin/bash\necho {self.kept()} # {self.kept()}\n",
                "tags": {"cost": self.kept(), "on": "yes"},
                "blockDeviceMappings": [
                    {
                        "deviceName": "/dev/xvda",
                        "ebs": {"volumeSize": "50Gi", "kmsKeyID": self.kept()},
                    }
                ],
            },
        }

    def node_pool(self) -> Json:
        """v1beta1 or v1."""
        version = self.rng.choice(["v1beta1", "v1"])
        self.file.is_old |= version != "v1"
        found, held = self.head(f"karpenter.sh/{version}", "NodePool"), self.held()
        ref = (
            {"apiVersion": "karpenter.k8s.aws/v1beta1"}
            if version == "v1beta1"
            else {"group": "karpenter.k8s.aws"}
        )
        taints = held.pop("taints")
        spec: Json = {"nodeClassRef": {**ref, "kind": "EC2NodeClass", "name": self.kept("class")}}
        spec |= {"requirements": self.requirements(), "taints": taints}
        disruption: Json = {
            "budgets": [
                {"nodes": "10%"},
                {"nodes": "0", "schedule": "0 9 * * 1-5", "duration": "8h"},
            ]
        }
        if version == "v1":
            spec["expireAfter"] = "720h"
            disruption |= {
                "consolidationPolicy": "WhenEmptyOrUnderutilized",
                "consolidateAfter": "1m",
            }
        else:
            disruption |= {"consolidationPolicy": "WhenUnderutilized", "expireAfter": "720h"}
            if self.some(0.5):
                spec["kubelet"] = {"maxPods": 50, "clusterDNS": [self.kept("dns")]}
        inner = {"template": {"metadata": held, "spec": spec}, "disruption": disruption}
        return {
            **found,
            "spec": {**inner, "limits": {"cpu": 1000, "memory": "1000Gi"}, "weight": 50},
        }

    def node_class(self) -> Json:
        """v1beta1 or v1."""
        version = self.rng.choice(["v1beta1", "v1"])
        self.file.is_old |= version != "v1"
        found = self.head(f"karpenter.k8s.aws/{version}", "EC2NodeClass")
        terms = [{"tags": {"karpenter.sh/discovery": self.kept("cluster")}}]
        spec: Json = {
            "subnetSelectorTerms": terms,
            "securityGroupSelectorTerms": [{"id": f"sg-{self.rng.randrange(16**8):08x}"}],
        }
        spec |= {
            "role": self.kept("role"),
            "tags": {"cost": self.kept()},
            "userData": f'a = "{self.kept()}"\n',
        }
        if version == "v1":
            spec["amiSelectorTerms"] = [{"alias": "bottlerocket@latest"}]
        else:
            spec["amiFamily"] = self.rng.choice(["AL2", "AL2023", "Bottlerocket"])
        return {**found, "spec": spec}

    def old_names(self) -> list[Json]:
        """A workload that says what Karpenter no longer listens to."""
        (found,) = self.workload()
        found["metadata"].setdefault("annotations", {})["karpenter.sh/do-not-evict"] = "true"
        return [found]


REQUESTS: tuple[Json, ...] = (
    {},
    {"requests": {"cpu": "100m", "memory": "128Mi"}},
    {"requests": {"cpu": 1, "memory": 1073741824}, "limits": {"cpu": 2}},
    {"requests": {"cpu": 0.25, "memory": "0.5Gi"}},
    {"requests": {"cpu": "1", "memory": "1e9"}},
    {"limits": {"cpu": "500m", "memory": "256M", "ephemeral-storage": "1Gi"}},
    {"requests": {"cpu": "9000", "memory": "8Ei"}},
    {"limits": {"nvidia.com/gpu": 1}},
    {"requests": {"cpu": "2", "hugepages-2Mi": "64Mi"}},
)
_APART = {"labelSelector": {"matchExpressions": [{"key": "app", "operator": "In", "values": ["web"]}]}, "topologyKey": "kubernetes.io/hostname"}  # fmt: skip # noqa: E501
SPECS: tuple[Json, ...] = (
    {"nodeSelector": {"kubernetes.io/os": "linux", "beta.kubernetes.io/arch": "amd64"}},
    {"nodeSelector": {"node-role.kubernetes.io/worker": ""}},
    {"tolerations": [{"operator": "Exists"}], "hostNetwork": True, "dnsPolicy": "ClusterFirstWithHostNet"},
    {"affinity": {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [_APART]}}},
    {"affinity": None, "tolerations": [], "volumes": None, "initContainers": []},
    {"terminationGracePeriodSeconds": 2147483647, "securityContext": {"runAsUser": 4294967295}},
    {"initContainers": [{"name": "i", "restartPolicy": "Always", "resources": {"requests": {"cpu": "3"}}}]},
    {"volumes": [{"name": "a", "persistentVolumeClaim": {"claimName": "not-there"}}]},
    {"volumes": [{"name": "a", "configMap": {"name": "b", "defaultMode": 420}}]},
    {"priorityClassName": "system-cluster-critical", "schedulerName": "volcano"},
    {"runtimeClassName": "gvisor", "serviceAccount": "old-field"},
    {"schedulingGates": [{"name": "example.com/gate"}]},
    {"topologySpreadConstraints": [{"maxSkew": 1, "topologyKey": "topology.kubernetes.io/zone", "whenUnsatisfiable": "DoNotSchedule", "labelSelector": {"matchLabels": {"app": "web"}}}]},  # noqa: E501
    {"nodeName": "ip-10-0-0-1.ec2.internal"},
)  # fmt: skip
INSIDE: tuple[Callable[[Maker], list[Json]], ...] = (
    Maker.workload, Maker.workload, Maker.other, Maker.config_map, Maker.pool,
)  # fmt: skip
SHAPES: tuple[Callable[[Maker], list[Json]], ...] = (
    *([Maker.workload] * 5), *([Maker.pool] * 3), Maker.lookalike, Maker.other, Maker.other, Maker.nameless,
    Maker.config_map, Maker.definition, Maker.in_list, Maker.old_names,
)  # fmt: skip
POOLS: dict[str, Callable[[Maker], Json]] = {
    "Provisioner": Maker.provisioner,
    "AWSNodeTemplate": Maker.template,
    "NodePool": Maker.node_pool,
    "EC2NodeClass": Maker.node_class,
}
HELM = (
    "{{- if .Values.enabled }}\n%s{{- end }}\n",
    '%s---\napiVersion: v1\nkind: Service\nmetadata:\n  name: {{ include "a.name" . }}\n',
)
"""Around a manifest."""


def file(seed: int) -> File:
    """The file of a number; the same number gives the same file."""
    rng = random.Random(seed)
    made = File(seed)
    maker, writer = Maker(rng, made), Writer.drawn(rng)
    values = [
        each for _ in range(rng.choice([1, 1, 2, 3, 5])) for each in rng.choice(SHAPES)(maker)
    ]
    made.comments = writer.comments
    if rng.random() < 0.07 and not any("<<" in str(v) or "Same(" in str(v) for v in values):
        whole = (
            values[0] if len(values) == 1 else {"apiVersion": "v1", "kind": "List", "items": values}
        )
        made.content = (
            json.dumps(whole, indent=rng.choice([None, 2, 4]), ensure_ascii=rng.random() < 0.5)
        ).encode()
        return made
    text = _joined([writer.document(value) for value in values], writer)
    if rng.random() < 0.04:
        made.is_template = True
        text = rng.choice(HELM) % text
    made.content = _encoded(text, rng)
    return made


def _joined(documents: list[str], writer: Writer) -> str:
    """Documents with what stands between them."""
    rng = writer.rng
    text = _commented(
        rng.choice(["", "", "---\n", "%YAML 1.1\n---\n", "{}\n", "{}\n---\n"]), writer
    )
    for number, each in enumerate(documents):
        if number:
            text += _commented(
                rng.choice(["---\n", "---\n", "--- {}\n", "---\n---\n", "...\n---\n"]), writer
            )
            if rng.random() < 0.1:
                text += f"{writer.comment()}\n---\n"
        text += each
        if rng.random() < 0.1:
            text += f"\n{writer.comment()}\n"
    return text + rng.choice(["", "", "\n\n", "---\n"])


def _commented(text: str, writer: Writer) -> str:
    """A text whose {} becomes a comment."""
    return text.replace("{}", writer.comment()) if "{}" in text else text


def _encoded(text: str, rng: random.Random) -> bytes:
    """Bytes with the line ends and marks of some editor."""
    if rng.random() < 0.15:
        text = text.replace("\n", "\r\n")
    if rng.random() < 0.1:
        text = text.removesuffix("\n").removesuffix("\r")
    content = text.encode()
    if rng.random() < 0.05:
        return text.encode("utf-16")
    return b"\xef\xbb\xbf" + content if rng.random() < 0.1 else content
