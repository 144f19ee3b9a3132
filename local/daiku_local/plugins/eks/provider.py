"""The stand-in for `eks` as the engine sees it: a component provider of one component."""

# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false
# pyright: reportUnknownArgumentType=false

from typing import Any

import pulumi
import pulumi.provider
from pulumi.errors import InputPropertiesError, InputPropertyErrorDetails

from daiku_local.plugins import sdk, values
from daiku_local.plugins.eks import cluster, inputs, kubeconfig

_NO_PROPERTY: list[InputPropertyErrorDetails] = []
"""Never left out: without a list of properties the SDK fails to send the message."""
_GET_KUBECONFIG = "eks:index:Cluster/getKubeconfig"


class EksProvider(pulumi.provider.Provider):
    """Constructs `eks:index:Cluster`."""

    def __init__(self) -> None:
        super().__init__(sdk.version("eks"), "{}")

    def construct(
        self,
        name: str,
        resource_type: str,
        inputs: Any,
        options: pulumi.ResourceOptions | None = None,
    ) -> pulumi.provider.ConstructResult:
        """Make the component and its children.

        Raises:
            InputPropertiesError: The type is another, or an input cannot be honoured.
        """
        _refuse(resource_type, inputs)
        component = cluster.Cluster(name, inputs, options)
        return pulumi.provider.ConstructResult(component.urn, component.state)

    def call(self, token: str, args: Any) -> pulumi.provider.CallResult:
        """Give the kubeconfig; the laptop has one administrator and no profiles or roles."""
        del args
        if token != _GET_KUBECONFIG:
            message = f"the stand-in for eks knows no method {token}; it knows: {_GET_KUBECONFIG}"
            raise InputPropertiesError(message, _NO_PROPERTY)
        # The SDK has not asked yet, at this point, whether the engine takes secrets, and would send
        # the value of a secret Output in clear.
        return pulumi.provider.CallResult({"result": values.marked_secret(kubeconfig.as_json())})


def _refuse(resource_type: str, given: dict[str, Any]) -> None:
    if resource_type != inputs.TOKEN:
        raise InputPropertiesError(
            f"the stand-in for eks knows no {resource_type}; it knows: {inputs.TOKEN}; use "
            f"resources of aws.eks, a real account, or leave it out of the local stack",
            _NO_PROPERTY,
        )
    if failures := inputs.failures(given):
        raise InputPropertiesError(
            f"{len(failures)} inputs of {resource_type} cannot be honoured on the laptop",
            [{"property_path": f.path, "reason": f.reason} for f in failures],
        )
