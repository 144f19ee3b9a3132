"""Kubernetes manifests as Pulumi resources, sent exactly as they are written.

The generated classes of pulumi_kubernetes rename snake_case keys at any depth of what they have no
type for, and with them labels, tags and user data that happen to look like one of their properties.
They also cost a second to import. Type and provider are the same here, so a stack cannot tell.
"""

from typing import Any

import pulumi

from daiku_infra.manifests import Manifest


class KubernetesObject(pulumi.CustomResource):
    """One object in a cluster."""

    metadata: pulumi.Output[dict[str, Any]]
    """Its metadata, as the API server has it."""

    def __init__(
        self, resource_name: str, manifest: Manifest, opts: pulumi.ResourceOptions
    ) -> None:
        """Register the object that `manifest` describes."""
        super().__init__(token_of(manifest), resource_name, manifest, opts)


def token_of(manifest: Manifest) -> str:
    """Pulumi's type of an object, such as kubernetes:apps/v1:Deployment."""
    version: str = manifest["apiVersion"]
    group = version if "/" in version else f"core/{version}"
    return f"kubernetes:{group}:{manifest['kind']}"
