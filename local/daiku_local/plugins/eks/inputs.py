"""Which inputs of `eks.Cluster` the stand-in honours, and what it says to the others."""

from typing import Any, Final

from daiku_local.plugins import sdk
from daiku_local.plugins.errors import Failure
from daiku_local.plugins.values import Plain

TOKEN: Final = "eks:index:Cluster"  # noqa: S105 - a type token

HONOURED: Final = frozenset(
    [
        "accessEntries",
        "authenticationMode",
        "bootstrapSelfManagedAddons",
        "clusterSecurityGroup",
        "clusterSecurityGroupTags",
        "clusterTags",
        "corednsAddonOptions",
        "createOidcProvider",
        "deletionProtection",
        "enabledClusterLogTypes",
        "encryptionConfigKeyArn",
        "endpointPrivateAccess",
        "endpointPublicAccess",
        "ipFamily",
        "kubeProxyAddonOptions",
        "kubernetesServiceIpAddressRange",
        "name",
        "nodeSecurityGroupTags",
        "privateSubnetIds",
        "publicAccessCidrs",
        "publicSubnetIds",
        "serviceRole",
        "skipDefaultNodeGroup",
        "skipDefaultSecurityGroups",
        "subnetIds",
        "tags",
        "upgradePolicy",
        "useDefaultVpcCni",
        "version",
        "vpcCniOptions",
        "vpcId",
    ]
)
_HARMLESS: Final = frozenset({"providerCredentialOpts", "proxy"})
"""They shape how the real component's kubeconfig signs in; the world's kubeconfig needs neither."""
_FALSE_ONLY: Final = frozenset({"autoMode", "createInstanceRole", "fargate"})
_ANY_ADDON: Final = frozenset(
    {"configurationValues", "resolveConflictsOnCreate", "resolveConflictsOnUpdate"}
)
_ADDON_OPTIONS: Final[dict[str, frozenset[str]]] = {
    "corednsAddonOptions": _ANY_ADDON | {"enabled", "version"},
    "kubeProxyAddonOptions": _ANY_ADDON | {"enabled", "version"},
    "vpcCniOptions": _ANY_ADDON | {"addonVersion", "serviceAccountRoleArn"},
}


def failures(given: Plain) -> list[Failure]:
    """Find the inputs that cannot be honoured, and what is missing."""
    shape = sdk.shape_of("eks", "eks:cluster:Cluster")
    present = {key: value for key, value in given.items() if value is not None}
    found: list[Failure] = []
    for name, value in sorted(present.items()):
        if name not in shape.nested:
            reason = f"is no property of {TOKEN}{sdk.nearest(name, shape.nested)}"
            found.append(Failure(path=name, reason=reason))
        elif name in _FALSE_ONLY and value is False:
            continue
        elif name not in HONOURED | _HARMLESS:
            reason = "is not honoured by the stand-in for eks: leave it out of the local stack"
            found.append(Failure(path=name, reason=reason))
        else:
            found += _unknown_options(name, value)
    if present.get("skipDefaultNodeGroup") is not True:
        reason = "must be true: the stand-in for eks has no default node group; use a NodeGroup"
        found.append(Failure(path="skipDefaultNodeGroup", reason=reason))
    if not any(present.get(k) for k in ("subnetIds", "privateSubnetIds", "publicSubnetIds")):
        reason = "or privateSubnetIds or publicSubnetIds is required: the laptop has no default VPC"
        found.append(Failure(path="subnetIds", reason=reason))
    if present.get("subnetIds") and (present.keys() & {"privateSubnetIds", "publicSubnetIds"}):
        reason = "excludes privateSubnetIds and publicSubnetIds: give one or the other"
        found.append(Failure(path="subnetIds", reason=reason))
    return found


def _unknown_options(name: str, value: Any) -> list[Failure]:
    allowed = _ADDON_OPTIONS.get(name)
    if allowed is None or not isinstance(value, dict):
        return []
    return [
        Failure(path=f"{name}.{key}", reason="is not honoured by the stand-in for eks")
        for key in sorted(value)  # pyright: ignore[reportUnknownVariableType, reportUnknownArgumentType] - keys of JSON
        if key not in allowed
    ]
