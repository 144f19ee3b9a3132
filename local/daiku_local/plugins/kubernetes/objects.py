"""What is to know of Kubernetes objects as Pulumi resources: names, and fields that cannot change."""

import re
from typing import Any, Final, cast

from daiku_local.plugins.servicer import Subject
from daiku_local.plugins.values import UNKNOWN, Plain

AUTONAMED: Final = "pulumi.com/autonamed"
SERVER_METADATA: Final = ("uid", "resourceVersion", "creationTimestamp", "generation")
"""What the server sets: not known before the object exists."""

_WORKLOAD: Final = (".spec.selector",)
_IMMUTABLE: Final[dict[str, tuple[str, ...]]] = {
    "apps:DaemonSet": _WORKLOAD,
    "apps:Deployment": _WORKLOAD,
    "apps:ReplicaSet": _WORKLOAD,
    "apps:StatefulSet": (
        *_WORKLOAD,
        ".spec.podManagementPolicy",
        ".spec.serviceName",
        ".spec.volumeClaimTemplates",
    ),
    "batch:Job": (*_WORKLOAD, ".spec.template", ".spec.completionMode"),
    ":ConfigMap": (".data", ".binaryData"),
    ":PersistentVolumeClaim": (
        ".spec.accessModes",
        ".spec.dataSource",
        ".spec.selector",
        ".spec.storageClassName",
        ".spec.volumeName",
    ),
    ":Pod": (".spec.containers", ".spec.nodeName", ".spec.nodeSelector", ".spec.volumes"),
    ":Secret": (".data", ".stringData", ".type"),
    ":Service": (".spec.clusterIP",),
    "apiextensions.k8s.io:CustomResourceDefinition": (
        ".spec.group",
        ".spec.names.plural",
        ".spec.scope",
    ),
    "policy:PodDisruptionBudget": (),
    "rbac.authorization.k8s.io:ClusterRoleBinding": (".roleRef",),
    "rbac.authorization.k8s.io:RoleBinding": (".roleRef",),
    "scheduling.k8s.io:PriorityClass": (".value", ".preemptionPolicy"),
    "storage.k8s.io:StorageClass": (
        ".parameters",
        ".provisioner",
        ".reclaimPolicy",
        ".volumeBindingMode",
    ),
}
_ALWAYS: Final = (".kind", ".metadata.name", ".metadata.namespace")


def api_of(token: str) -> tuple[str, str]:
    """Give (apiVersion, kind) of a type token such as `kubernetes:apps/v1:Deployment`."""
    _, version, kind = token.split(":")
    return version.removeprefix("core/"), kind


def group_of(api_version: str) -> str:
    """Give the group of an apiVersion, "" for the core one."""
    return api_version.rpartition("/")[0]


def metadata(obj: Plain) -> Plain:
    """Give the metadata of an object, empty where there is none or it is not known."""
    found = obj.get("metadata")
    return cast("Plain", found) if isinstance(found, dict) else {}


def annotation(obj: Plain, name: str) -> str | None:
    """Give one annotation of an object, None where there is none or it is not known."""
    annotations = metadata(obj).get("annotations")
    value = cast("Plain", annotations).get(name) if isinstance(annotations, dict) else None
    return value if isinstance(value, str) else None


def is_true(obj: Plain, name: str) -> bool:
    """Tell whether an annotation says "true"."""
    return annotation(obj, name) == "true"


def named(subject: Subject, old: Plain, new: Plain, seed: bytes) -> Plain:
    """Give `new` with a name: its own, the one that it had, or one made from the resource's."""
    given = metadata(new)
    if given.get("name") or given.get("generateName") or new.get("metadata") is UNKNOWN:
        return new
    kept = metadata(old).get("name") if is_true(old, AUTONAMED) else None
    name = kept or f"{subject.name}-{seed.hex()[:8]}"
    annotations = {**cast("Plain", given.get("annotations") or {}), AUTONAMED: "true"}
    return {**new, "metadata": {**given, "name": name, "annotations": annotations}}


def identifier(obj: Plain) -> str:
    """Give the id of the resource of an object: namespace/name, or name."""
    meta = metadata(obj)
    return f"{meta['namespace']}/{meta['name']}" if meta.get("namespace") else str(meta["name"])


def split(identifier: str) -> tuple[str | None, str]:
    """Give (namespace, name) of an id."""
    namespace, _, name = identifier.rpartition("/")
    return namespace or None, name


def replaces(old: Plain, new: Plain, path: str, *, mutable: frozenset[str]) -> bool:
    """Tell whether a change at `path` needs a new object.

    Args:
        old: The old inputs.
        new: The new inputs.
        path: What changes, such as `spec.selector.matchLabels.app`.
        mutable: Kinds (ConfigMap, Secret) whose data may change in place.
    """
    dotted = "." + path
    if dotted == ".apiVersion":
        return group_of(str(old.get("apiVersion"))) != group_of(str(new.get("apiVersion")))
    kind = str(new.get("kind"))
    fixed = _IMMUTABLE.get(f"{group_of(str(new.get('apiVersion')))}:{kind}", ())
    if kind in mutable:
        fixed = tuple(field for field in fixed if "ata" not in field)
    return any(re.match(rf"{re.escape(field)}(\W|$)", dotted) for field in (*_ALWAYS, *fixed))


def without_nulls(value: Any) -> Any:
    """Give a value without fields that are None: a program that says None says nothing."""
    if isinstance(value, dict):
        fields = cast("Plain", value)
        return {k: without_nulls(v) for k, v in fields.items() if v is not None}
    if isinstance(value, list):
        return [without_nulls(item) for item in cast("list[Any]", value)]
    return value


def substance(obj: Plain) -> Plain:
    """Give an object without what the server and controllers write on their own."""
    hidden = {*SERVER_METADATA, "managedFields"}
    meta = {key: value for key, value in metadata(obj).items() if key not in hidden}
    keep_status = obj.get("kind") in {"Service", "Ingress"}
    return {
        key: value
        for key, value in {**obj, "metadata": meta}.items()
        if not key.startswith("__") and (key != "status" or keep_status)
    }
