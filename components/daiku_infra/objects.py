"""Kubernetes manifests as Pulumi resources.

The generated classes of pulumi_kubernetes know each kind's properties; `create` picks the class by
the manifest's kind. Custom resources have no class of their own, and are sent exactly as written.
"""

from typing import Any

import pulumi

from daiku_infra.manifests import Manifest
from daiku_infra.providers import kubernetes

_KINDS: dict[str, Any] = {
    "ClusterRole": kubernetes.rbac.v1.ClusterRole,
    "ClusterRoleBinding": kubernetes.rbac.v1.ClusterRoleBinding,
    "CustomResourceDefinition": kubernetes.apiextensions.v1.CustomResourceDefinition,
    "Deployment": kubernetes.apps.v1.Deployment,
    "PodDisruptionBudget": kubernetes.policy.v1.PodDisruptionBudget,
    "Role": kubernetes.rbac.v1.Role,
    "RoleBinding": kubernetes.rbac.v1.RoleBinding,
    "ServiceAccount": kubernetes.core.v1.ServiceAccount,
}


class CustomObject(pulumi.CustomResource):
    """An object of a kind that a CustomResourceDefinition made.

    pulumi_kubernetes' own class renames snake_case keys at any depth, and with them labels, tags and
    user data that happen to look like one of its properties. This one leaves the spec alone.
    """

    metadata: pulumi.Output[dict[str, Any]]
    """Metadata, as the API server has it."""

    def __init__(
        self, resource_name: str, manifest: Manifest, opts: pulumi.ResourceOptions
    ) -> None:
        """Register the object that `manifest` describes."""
        token = f"kubernetes:{manifest['apiVersion']}:{manifest['kind']}"
        super().__init__(token, resource_name, manifest, opts)


def create(resource_name: str, manifest: Manifest, opts: pulumi.ResourceOptions) -> Any:
    """Register the object that `manifest` describes."""
    kind = _KINDS.get(manifest["kind"])
    if kind is None:
        return CustomObject(resource_name, manifest, opts)
    body = {key: value for key, value in manifest.items() if key not in {"apiVersion", "kind"}}
    return kind(resource_name, opts=opts, **{_SNAKE.get(key, key): body[key] for key in body})


_SNAKE = {"roleRef": "role_ref"}
