"""The ConfigMap of settings that Karpenter read before v1beta1, as environment variables of the controller.

Source: Karpenter's upgrade guide, karpenter-global-settings.
"""

from collections.abc import Mapping
from typing import Final

from daiku.cli.converting.tree import Tree, at, named

NAME: Final = "karpenter-global-settings"
VARIABLES: Final[Mapping[str, str]] = {
    "batchMaxDuration": "BATCH_MAX_DURATION",
    "batchIdleDuration": "BATCH_IDLE_DURATION",
    "aws.clusterCABundle": "CLUSTER_CA_BUNDLE",
    "aws.clusterName": "CLUSTER_NAME",
    "aws.clusterEndpoint": "CLUSTER_ENDPOINT",
    "aws.isolatedVPC": "ISOLATED_VPC",
    "aws.vmMemoryOverheadPercent": "VM_MEMORY_OVERHEAD_PERCENT",
    "aws.interruptionQueueName": "INTERRUPTION_QUEUE",
    "aws.reservedENIs": "RESERVED_ENIS",
}
"""Key -> environment variable."""


def is_settings(tree: Tree) -> bool:
    """Whether an object is that ConfigMap."""
    return tree.get("kind") == "ConfigMap" and named(tree) == NAME


def notes(tree: Tree) -> list[str]:
    """What becomes of each setting."""
    found = [f"ConfigMap {NAME}: settings are environment variables today; left out"]
    data = at(tree, "data")
    for key, value in data.items() if data is not None else ():
        variable = VARIABLES.get(str(key))
        found.append(
            f"ConfigMap {NAME}: set {variable}={value} in the controller's environment instead of {key}"
            if variable
            else f"ConfigMap {NAME}: {key} has no successor; left out"
        )
    return found
