"""A live cluster as one Kubernetes List: what the controller watches, and what its cloud sells.

Whatever could be a secret and decides nothing is left out: environment, commands and probes of containers, user data
of node classes, the copies of whole manifests that kubectl and the API server keep in metadata. One object stands on
one line, so that two snapshots can be compared.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import msgspec

from daiku import cloud_choice
from daiku.api import catalogue, kinds
from daiku.api.kinds import Kind
from daiku.cli import cluster_name, controller_settings, surroundings
from daiku.cloud.errors import CloudError
from daiku.kube import credentials, errors
from daiku.kube.client import Client
from daiku.model.nodeclass import NodeClass
from daiku.runtime import options

ATTEMPTS_MAX: Final = 3
"""Lists that took so long that the server forgot their end are begun again this often."""
LAST_APPLIED: Final = "kubectl.kubernetes.io/last-applied-configuration"
CONTAINER_FIELDS: Final = ("name", "image", "resources", "ports", "restartPolicy")
VOLUME_FIELDS: Final = ("name", "persistentVolumeClaim", "ephemeral")
BULKY: Final = (
    "images",
    "containerStatuses",
    "initContainerStatuses",
    "ephemeralContainerStatuses",
)
"""Fields of a status that are most of its bytes and are never read."""
CONTAINERS: Final = ("containers", "initContainers", "ephemeralContainers")

Json = dict[str, Any]


class CaptureError(Exception):
    """The cluster cannot be read; the message says why and what to do."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Snapshot:
    """A cluster as a file."""

    content: bytes
    notes: tuple[str, ...]
    """What is not in it, and why."""
    summary: str
    """How many objects of which kind."""
    why_no_types: str = ""
    """Why it holds no instance types; empty when it does."""


def take(environ: Mapping[str, str], step: Callable[[str, int, int], None]) -> Snapshot:
    """Read the cluster that `environ` leads to.

    Args:
        environ: Environment variables: KUBECONFIG, and those of `daiku run` for the cloud.
        step: Is told what is read now, how many steps are behind it, and how many there are.

    Raises:
        CaptureError: The cluster cannot be read.
    """
    notes: list[str] = []
    objects: list[Json] = []
    counts: dict[str, int] = {}
    wanted = list(kinds.BY_NAME.values())
    try:
        client = Client(credentials.Credentials(environ))
        for number, kind in enumerate(wanted):
            step(f"reading {kind.plural}", number, len(wanted) + 1)
            found = _list(client, kind)
            if found is None:
                notes.append(
                    f"the cluster has no {kind.plural} ({kind.api_version} is not installed)"
                )
                continue
            objects += found
            counts[kind.name] = len(found)
    except errors.Denied as error:
        remedy = "without it nothing can be decided as the controller would; ask for the right to list it"
        raise CaptureError(f"{error}; {remedy}") from error
    except (credentials.NoClusterError, errors.KubeError) as error:
        raise CaptureError(surroundings.said(error)) from error
    settings = controller_settings.read(client, notes)
    objects += [settings] if settings is not None else []
    step("reading instance types", len(wanted), len(wanted) + 1)
    why_no_types = ""
    try:
        own = controller_settings.environment_of(settings)
        objects += _catalogue(objects, {**own, **environ}, client)
    except _NoCatalogueError as error:
        why_no_types = str(error)
        notes.append(
            f"no instance types in it, so `daiku plan` needs --instance-types with it: {error}"
        )
    lines = b",\n".join(msgspec.json.encode(each) for each in objects)
    return Snapshot(
        content=b'{"apiVersion":"v1","kind":"List","metadata":{},"items":[\n' + lines + b"\n]}\n",
        notes=tuple(notes),
        why_no_types=why_no_types,
        summary=", ".join(f"{kind} {count}" for kind, count in counts.items() if count),
    )


def clean(found: Json, kind: Kind) -> Json:
    """An object without what decides nothing and could be a secret; `found` itself is changed."""
    metadata: Json = found.get("metadata") or {}
    metadata.pop("managedFields", None)
    annotations: Json = metadata.get("annotations") or {}
    annotations.pop(LAST_APPLIED, None)
    status: Json = found.get("status") or {}
    for field in BULKY:
        status.pop(field, None)
    spec: Json = found.get("spec") or {}
    # User data of EC2NodeClasses is a boot script, and may hold a token.
    spec.pop("userData", None)
    template: Json = spec.get("template") or {}
    for holder in (spec, template.get("spec") or {}):
        for field in CONTAINERS:
            if field in holder:
                holder[field] = _only(holder[field], CONTAINER_FIELDS)
        if "volumes" in holder:
            holder["volumes"] = _only(holder["volumes"], VOLUME_FIELDS)
    return {"apiVersion": kind.api_version, "kind": kind.name, **found}


def _only(found: Iterable[Json] | None, fields: Sequence[str]) -> list[Json]:
    return [{field: each[field] for field in fields if field in each} for each in found or ()]


def _list(client: Client, kind: Kind) -> list[Json] | None:
    """Every object of a kind, or None where the cluster does not know the kind.

    Raises:
        KubeError: The API server did not answer, or not with a list.
    """
    for attempt in range(1, ATTEMPTS_MAX + 1):
        try:
            return [
                clean(msgspec.json.decode(bytes(raw)), kind)
                for page in client.list(kind.path)
                for raw in page.items
            ]
        except errors.NotFound:
            return None
        except errors.Expired:
            if attempt == ATTEMPTS_MAX:
                raise
    return None


class _NoCatalogueError(Exception):
    """What can be bought is not known; the message says why."""


def _catalogue(objects: Sequence[Json], environ: Mapping[str, str], client: Client) -> list[Json]:
    """What the cloud sells for the node classes among `objects`.

    Raises:
        _NoCatalogueError: The cloud cannot be asked.
    """
    known = {
        name: [
            kind.decode(msgspec.json.encode(each)) for each in objects if each.get("kind") == name
        ]
        for name, kind in kinds.NODE_CLASSES.items()
    }
    name = cluster_name.find(
        environ, [o for o in objects if o.get("kind") == kinds.EC2_NODE_CLASSES.name]
    )
    only_kwok = bool(known[kinds.KWOK_NODE_CLASSES.name]) and not known[kinds.EC2_NODE_CLASSES.name]
    named = {"CLOUD": "kwok" if only_kwok else "aws", **environ, cluster_name.VARIABLE: name}
    if named["CLOUD"] == "aws" and not name:
        raise _NoCatalogueError(f"set {cluster_name.VARIABLE} to the name of the EKS cluster")
    try:
        chosen = options.read((), named)
        cloud = cloud_choice.make(chosen, named, client)
        classes = [each for each in known[cloud.node_class_kind] if isinstance(each, NodeClass)]
        if not classes:
            raise _NoCatalogueError(f"the cluster has no {cloud.node_class_kind}")
        found = catalogue.encode(cloud.catalogue(classes, 1))
    except (options.OptionsError, cloud_choice.StartError, CloudError) as error:
        raise _NoCatalogueError(str(error)) from error
    if not found:
        raise _NoCatalogueError(f"no {cloud.node_class_kind} is ready")
    return found
