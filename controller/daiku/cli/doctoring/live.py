"""A live cluster as evidence: what the controller watches, and what it does not but checks want."""

from collections.abc import Callable, Mapping
from typing import Any, Final

import msgspec

from daiku import reasons
from daiku.api import kinds, manifests
from daiku.api.manifests import Document
from daiku.cli import surroundings
from daiku.kube import credentials, errors, record
from daiku.kube.client import Client

MORE: Final[Mapping[str, tuple[str, str]]] = {
    "Deployment": ("apps/v1", "/apis/apps/v1/deployments"),
    "ValidatingWebhookConfiguration": (
        "admissionregistration.k8s.io/v1",
        "/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations",
    ),
    "MutatingWebhookConfiguration": (
        "admissionregistration.k8s.io/v1",
        "/apis/admissionregistration.k8s.io/v1/mutatingwebhookconfigurations",
    ),
}
"""Kind -> apiVersion and path."""
EVENTS: Final = (
    f"reason=FailedScheduling,source={record.COMPONENT}",
    f"reason={reasons.CAPACITY_UNAVAILABLE},source={record.COMPONENT}",
)
"""Events that checks want: of pods that wait, and of NodePools that the price guard keeps from their nodes."""


class UnreachableError(Exception):
    """The cluster cannot be read; the message says why and what to do."""


def read(
    environ: Mapping[str, str], step: Callable[[str, int, int], None], notes: list[str]
) -> list[Document]:
    """Every object that checks look at.

    Args:
        environ: Environment variables: KUBECONFIG.
        step: Is told what is read.
        notes: Takes kinds that cannot be read, and why.

    Raises:
        UnreachableError: There is no cluster to read.
    """
    wanted = {kind.name: (kind.api_version, kind.path) for kind in kinds.BY_NAME.values()} | MORE
    found: list[Document] = []
    try:
        client = Client(credentials.Credentials(environ))
    except credentials.NoClusterError as error:
        raise UnreachableError(
            f"{surroundings.said(error)}; or examine a saved cluster with --from FILE (made by `daiku snapshot`)"
        ) from error
    asked = [(name, *where, "") for name, where in wanted.items()]
    asked += [("Event", "v1", "/api/v1/events", which) for which in EVENTS]
    for number, (name, version, path, which) in enumerate(asked):
        step(f"reading {name}", number, len(asked))
        try:
            found += _documents(client, name, version, path, which)
        except errors.NotFound:
            notes.append(f"the cluster has no {name} ({version} is not installed)")
        except errors.Denied as error:
            notes.append(f"{name} not checked: {error}")
        except errors.KubeError as error:
            raise UnreachableError(str(error)) from error
    return found


def _documents(client: Client, kind: str, version: str, path: str, which: str) -> list[Document]:
    query = {"fieldSelector": which} if which else None
    items: list[dict[str, Any]] = [
        {**msgspec.json.decode(bytes(raw)), "apiVersion": version, "kind": kind}
        for page in client.list(path, query)
        for raw in page.items
    ]
    problems: list[str] = []
    return manifests.read(
        "cluster",
        msgspec.json.encode({"kind": "List", "apiVersion": "v1", "items": items}),
        problems,
    )
