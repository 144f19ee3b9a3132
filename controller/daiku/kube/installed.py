"""Whether the CRDs of the cluster know every field that this controller writes.

The API server drops fields that a CRD does not know without a word. A controller beside older CRDs would write the same
status again for ever, or launch nodes without what was decided about them; so it ends before it has read a first object
of such a kind, and so before it decides anything. What the API server says of its own kinds (OpenAPI) may be read by
everybody: this needs no permission on CRDs.

CRDs that are not there at all may still come, and are waited for elsewhere (`watch`).
"""

from collections.abc import Iterator, Mapping
from typing import Any, Final

import msgspec

from daiku.api import kinds
from daiku.api.kinds import Kind
from daiku.kube import errors
from daiku.kube.client import Client

WRITTEN: Final[Mapping[str, tuple[str, ...]]] = {
    kinds.NODE_POOLS.name: (
        "status.conditions", "status.nodeClassObservedGeneration", "status.nodes", "status.resources",
    ),
    kinds.NODE_CLAIMS.name: (
        "spec.expireAfter", "spec.nodeClassRef.group", "spec.requirements.minValues", "spec.resources.requests",
        "spec.startupTaints", "spec.taints", "spec.terminationGracePeriod", "status.allocatable", "status.capacity",
        "status.conditions", "status.imageID", "status.lastPodEventTime", "status.nodeName", "status.providerID",
    ),
    kinds.EC2_NODE_CLASSES.name: (
        "status.amis", "status.capacityReservations", "status.conditions", "status.instanceProfile",
        "status.securityGroups", "status.subnets",
    ),
}  # fmt: skip
"""By kind: every field of the object that the controller writes, and that not all versions of its CRD have."""

Json = dict[str, Any]


class OldCrdError(Exception):
    """A CRD of the cluster lacks fields; the message names them and says what to do."""


def check(client: Client, kind: Kind) -> None:
    """See that what is written of `kind` can be kept.

    Raises:
        OldCrdError: The API server would drop something.
        KubeError: It cannot be asked.
    """
    if kind.name not in WRITTEN:
        return
    lacking = list(_lacking(client, kind))
    if lacking:
        raise OldCrdError(
            f"the CRDs of this cluster are older than this controller: {kind.name} of {kind.api_version} has no "
            f"{', '.join(lacking)}. Apply those that come with it (`pulumi up`, or `kubectl apply --server-side -f` of "
            "its folder crds), then it starts by itself"
        )


def _lacking(client: Client, kind: Kind) -> Iterator[str]:
    """Fields that `kind` should have and has not; none when the kind is not there, or not to be looked at."""
    try:
        document: Json = msgspec.json.decode(client.get(f"/openapi/v3/apis/{kind.api_version}"))
    except (errors.NotFound, errors.Denied):
        return
    schemas: Mapping[str, Json] = document.get("components", {}).get("schemas", {})
    for schema in schemas.values():
        names = schema.get("x-kubernetes-group-version-kind", ())
        if any(each.get("kind") == kind.name for each in names):
            yield from (path for path in WRITTEN[kind.name] if not _has(schema, path))


def _has(schema: Json, path: str) -> bool:
    """Whether an object of `schema` can hold the field at `path`; lists are seen through."""
    for name in path.split("."):
        inside: Json = schema.get("items", schema)
        if name not in inside.get("properties", {}):
            return bool(inside.get("x-kubernetes-preserve-unknown-fields"))
        schema = inside["properties"][name]
    return True
