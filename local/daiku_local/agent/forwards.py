"""Where the ports of a local pod are, told to kwok, which speaks the protocol of `kubectl port-forward`.

kwok reads it from objects of its kind PortForward, one for each pod, of the pod's name. They go with their pods.
"""

import select
import socket
from collections.abc import Iterable
from typing import Any, Final

from daiku_local.agent.kubernetes_api import KubernetesApi, KubernetesError
from daiku_local.agent.objects import Json
from daiku_local.agent.pods import Key

GROUP: Final = "kwok.x-k8s.io"
MERGE: Final = "application/merge-patch+json"
CRDS: Final = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
CRD: Final[Json] = {
    "apiVersion": "apiextensions.k8s.io/v1",
    "kind": "CustomResourceDefinition",
    "metadata": {"name": f"portforwards.{GROUP}"},
    "spec": {
        "group": GROUP,
        "scope": "Namespaced",
        "names": {
            "kind": "PortForward",
            "listKind": "PortForwardList",
            "plural": "portforwards",
            "singular": "portforward",
        },
        "versions": [
            {
                "name": "v1alpha1",
                "served": True,
                "storage": True,
                "schema": {
                    "openAPIV3Schema": {
                        "type": "object",
                        "x-kubernetes-preserve-unknown-fields": True,
                    }
                },
                "subresources": {"status": {}},
            }
        ],
    },
}
"""kwok's kind, as far as is needed to keep it."""
_PIECE: Final = 65_536


def publish(api: KubernetesApi, pod: Key, ip: str, ports: Iterable[int]) -> None:
    """Say where the ports of a pod are.

    Raises:
        KubernetesError: It cannot be written.
    """
    path = f"/apis/{GROUP}/v1alpha1/namespaces/{pod.namespace}/portforwards"
    owner = {"apiVersion": "v1", "kind": "Pod", "name": pod.name, "uid": pod.uid}
    body: Json = {
        "apiVersion": f"{GROUP}/v1alpha1",
        "kind": "PortForward",
        "metadata": {"name": pod.name, "ownerReferences": [owner]},
        "spec": {
            "forwards": [
                {"ports": [port], "target": {"address": ip, "port": port}} for port in ports
            ]
        },
    }
    try:
        api.create(path, body)
    except KubernetesError as error:
        if error.status != 409:
            raise
        # That of an earlier pod of this name.
        api.patch(f"{path}/{pod.name}", body, MERGE)


def tunnel(head: bytes, client: Any, port: int) -> None:
    """Hand a request, and all that follows from both sides, over to who listens on a port of this machine.

    Args:
        head: The request up to its empty line.
        client: A socket, perhaps of TLS.
        port: Of the loopback.

    Raises:
        OSError: Nobody listens there, or a side broke off.
    """
    with socket.create_connection(("127.0.0.1", port)) as other:
        other.sendall(head)
        while True:
            # What TLS has deciphered already is not seen by select.
            is_pending = getattr(client, "pending", lambda: 0)()
            ready = [client] if is_pending else select.select([client, other], [], [])[0]
            for each in ready:
                piece = each.recv(_PIECE)
                if not piece:
                    return
                (other if each is client else client).sendall(piece)
