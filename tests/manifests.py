"""The CRDs, a node class, NodePools and Deployments, as whole clusters of tests have them with the kwok cloud."""

import json
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import yaml

import daiku
from daiku.kube import errors
from daiku.kube.client import Client

Json = dict[str, Any]

CRDS = sorted((Path(daiku.__file__).parent / "crds").glob("*.yaml"))
REF = {"group": "karpenter.kwok.sh", "kind": "KWOKNodeClass", "name": "default"}
PATHS = {
    "CustomResourceDefinition": "/apis/apiextensions.k8s.io/v1/customresourcedefinitions",
    "Deployment": "/apis/apps/v1/namespaces/default/deployments",
    "EC2NodeClass": "/apis/karpenter.k8s.aws/v1/ec2nodeclasses",
    "KWOKNodeClass": "/apis/karpenter.kwok.sh/v1alpha1/kwoknodeclasses",
    "PodDisruptionBudget": "/apis/policy/v1/namespaces/default/poddisruptionbudgets",
    "NodePool": "/apis/karpenter.sh/v1/nodepools",
    "Service": "/api/v1/namespaces/default/services",
}
SERVED_SECONDS = 60.0
"""How long the API server may take to serve a new CRD."""


def install(client: Client, *bodies: Json) -> None:
    """Have our CRDs in the cluster, and then these objects."""
    for file in CRDS:
        client.create(PATHS["CustomResourceDefinition"], yaml.safe_load(file.read_text()))
    create(client, *bodies)


def create(client: Client, *bodies: Json) -> None:
    """Make these objects, each once its kind is served."""
    deadline = time.monotonic() + SERVED_SECONDS
    for body in bodies:
        while not _is_created(client, body):
            assert time.monotonic() < deadline, f"{body['kind']} is not served"
            time.sleep(0.2)


def _is_created(client: Client, body: Json) -> bool:
    try:
        client.create(PATHS[body["kind"]], body)
    except (errors.NotFound, errors.TooMany):
        return False
    return True


def items(client: Client, path: str) -> list[Json]:
    """All objects there."""
    return json.loads(client.get(path))["items"]


def node_class() -> Json:
    """The node class of all NodePools here."""
    return {
        "apiVersion": f"{REF['group']}/v1alpha1",
        "kind": REF["kind"],
        "metadata": {"name": REF["name"]},
    }


def node_pool(
    name: str = "default", *, only: Mapping[str, list[str]] | None = None, **disruption: Any
) -> Json:
    """A NodePool of on-demand Linux nodes that consolidates after five seconds; `only` these values of labels."""
    wanted = {
        "karpenter.sh/capacity-type": ["on-demand"],
        "kubernetes.io/arch": ["amd64"],
        "kubernetes.io/os": ["linux"],
        **(only or {}),
    }
    requirements = [{"key": k, "operator": "In", "values": v} for k, v in wanted.items()]
    return {
        "apiVersion": "karpenter.sh/v1",
        "kind": "NodePool",
        "metadata": {"name": name},
        "spec": {
            "template": {"spec": {"nodeClassRef": REF, "requirements": requirements}},
            "disruption": {"consolidateAfter": "5s", "budgets": [{"nodes": "100%"}], **disruption},
        },
    }


def deployment(
    name: str,
    replicas: int,
    *,
    cpu: str = "900m",
    memory: str = "256Mi",
    env: Mapping[str, str] | None = None,
    **template: Any,
) -> Json:
    """A Deployment; `template` goes into the pods' spec, `annotations` to their metadata."""
    annotations = template.pop("annotations", {})
    labels = {"app": name}
    container = {
        "name": name,
        "image": "public.ecr.aws/eks-distro/kubernetes/pause:3.7",
        "env": [{"name": key, "value": value} for key, value in (env or {}).items()],
        "resources": {"requests": {"cpu": cpu, "memory": memory}},
    }
    pod = {"terminationGracePeriodSeconds": 1, "containers": [container], **template}
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": name},
        "spec": {
            "replicas": replicas,
            "selector": {"matchLabels": labels},
            "template": {"metadata": {"labels": labels, "annotations": annotations}, "spec": pod},
        },
    }
