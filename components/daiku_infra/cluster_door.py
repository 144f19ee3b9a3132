"""The API server for a drain: NodePools, NodeClaims, nodes, and the controller's Lease.

Credentials are those of the kubeconfig. Where it says to run a program for a token, as EKS' do, the
token is made in this process instead: a destroy needs no `aws` on the PATH.
"""

# The kubernetes library has no types; its answers are JSON.
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false
# pyright: reportUnknownArgumentType=false, reportMissingTypeArgument=false

import json
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from typing import Any, cast

import urllib3.exceptions
from kubernetes import client, config
from kubernetes.client.exceptions import ApiException

from daiku_infra.draining import UnreachableError

CORE = "karpenter.sh"
_WANTED = ("nodepools", "nodeclaims")
_KEPT = ((CORE, "nodeclaims"), (CORE, "nodepools"), ("karpenter.k8s.aws", "ec2nodeclasses"))
_TIMES: tuple[float, float] = (5.0, 30.0)
"""Seconds to connect and to answer."""
_FINALIZER_START = "karpenter."


def open_door(
    kubeconfig: str | Mapping[str, Any],
    *,
    token: Callable[[], str],
    namespace: str,
    lease: str,
) -> "ClusterDoor":
    """Prepare to speak to the cluster of a kubeconfig; nothing is asked yet.

    Args:
        kubeconfig: It, as JSON or read already.
        token: Makes a token, where the kubeconfig names a program for that.
        namespace: Namespace of the controller.
        lease: Name of its Lease.
    """
    content = json.loads(kubeconfig) if isinstance(kubeconfig, str) else dict(kubeconfig)
    for user in content.get("users", ()):
        if user.get("user", {}).pop("exec", None) is not None:
            user["user"]["token"] = token()
    api = config.new_client_from_config_dict(content)
    api.configuration.retries = False
    return ClusterDoor(api, namespace=namespace, lease=lease)


class ClusterDoor:
    """One API server, as far as a drain needs it."""

    def __init__(self, api: client.ApiClient, *, namespace: str, lease: str) -> None:
        """Speak through `api`; the controller's Lease is `lease` in `namespace`."""
        self._custom = client.CustomObjectsApi(api)
        self._core = client.CoreV1Api(api)
        self._leases = client.CoordinationV1Api(api)
        self._namespace = namespace
        self._lease = lease

    def nodes_wanted(self) -> list[str]:
        """Names of NodePools and NodeClaims that exist."""
        return [
            f"{plural}/{item['metadata']['name']}"
            for plural in _WANTED
            for item in self._all(CORE, plural)
        ]

    def delete_wanted(self) -> None:
        """Delete NodePools, then NodeClaims, of which the controller drains the nodes."""
        for plural in _WANTED:
            for item in self._all(CORE, plural):
                self._delete(CORE, plural, item["metadata"]["name"])

    def renewed(self) -> str:
        """When the controller's Lease was renewed, as written there; "" without one."""
        try:
            found = _asked(
                lambda: self._leases.read_namespaced_lease(
                    self._lease, self._namespace, _request_timeout=_TIMES
                )
            )
        except ApiException as error:
            if error.status == 404:
                return ""
            raise
        return f"{found.spec.holder_identity} {found.spec.renew_time}"

    def release(self) -> list[str]:
        """Delete what the controller kept, and take its finalizers away."""
        names: list[str] = []
        for group, plural in _KEPT:
            for item in self._all(group, plural):
                name = item["metadata"]["name"]
                self._delete(group, plural, name)
                self._patch(group, plural, name)
                names.append(f"{plural}/{name}")
        return [*names, *self._release_nodes()]

    def _release_nodes(self) -> Iterator[str]:
        """Delete the Node objects of instances that are gone."""
        nodes = _asked(
            lambda: self._core.list_node(
                label_selector="karpenter.sh/nodepool", _request_timeout=_TIMES
            )
        )
        for node in nodes.items:
            name = node.metadata.name
            others = [
                f for f in node.metadata.finalizers or [] if not f.startswith(_FINALIZER_START)
            ]
            body: dict[str, Any] = {"metadata": {"finalizers": others or None}}
            _unless_gone(lambda name=name: self._core.delete_node(name, _request_timeout=_TIMES))
            _unless_gone(partial(self._core.patch_node, name, body, _request_timeout=_TIMES))
            yield f"nodes/{name}"

    def _all(self, group: str, plural: str) -> list[dict[str, Any]]:
        """Objects of one kind; none where the kind itself is gone."""
        try:
            found = _asked(
                lambda: self._custom.list_cluster_custom_object(
                    group, "v1", plural, _request_timeout=_TIMES
                )
            )
        except ApiException as error:
            if error.status == 404:
                return []
            raise
        return cast("dict[str, Any]", found)["items"]

    def _delete(self, group: str, plural: str, name: str) -> None:
        _unless_gone(
            lambda: self._custom.delete_cluster_custom_object(
                group, "v1", plural, name, _request_timeout=_TIMES
            )
        )

    def _patch(self, group: str, plural: str, name: str) -> None:
        _unless_gone(
            lambda: self._custom.patch_cluster_custom_object(
                group,
                "v1",
                plural,
                name,
                {"metadata": {"finalizers": None}},
                _request_timeout=_TIMES,
            )
        )


def _unless_gone(call: Callable[[], Any]) -> None:
    """Do it; what is gone already is done."""
    try:
        _asked(call)
    except ApiException as error:
        if error.status not in {404, 409}:
            raise


def _asked(call: Callable[[], Any]) -> Any:
    """Make a call; no answer, or none for us, means that the API server cannot help."""
    try:
        return call()
    except urllib3.exceptions.HTTPError as error:
        raise UnreachableError(f"{type(error).__name__}: {error}") from error
    except ApiException as error:
        if error.status in {0, 401, 403, 500, 502, 503, 504}:
            raise UnreachableError(f"it answered {error.status} {error.reason}") from error
        raise
