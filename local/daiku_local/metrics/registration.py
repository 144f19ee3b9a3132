"""How the API server comes to ask this machine for metrics.k8s.io: an APIService and its Service.

The Service is an ExternalName of localhost, since a loopback address may not be an endpoint. The certificate is for
the Service's name and of the world's authority, so nothing is skipped when the API server checks who answers.
"""

import base64
import time
from typing import Final

from daiku_local.agent.objects import Json
from daiku_local.control_plane import certificates
from daiku_local.metrics.cluster import Cluster, ClusterError

PATH: Final = "/apis/metrics.k8s.io/v1beta1"
"""Where the API is served."""
_NAMESPACE: Final = "kube-system"
_PATIENCE_SECONDS: Final = 60.0
"""A new API server takes a moment to make its own namespaces."""


def register(cluster: Cluster, port: int, authority: bytes) -> None:
    """Have the API server send requests for metrics.k8s.io to `port` of this machine.

    Raises:
        ClusterError: It does not take the objects.
    """
    services = f"/api/v1/namespaces/{_NAMESPACE}/services"
    _create(cluster, services, _service(port))
    _create(cluster, "/apis/apiregistration.k8s.io/v1/apiservices", _api_service(port, authority))


def _create(cluster: Cluster, path: str, body: Json) -> None:
    deadline = time.monotonic() + _PATIENCE_SECONDS
    while True:
        try:
            cluster.create(path, body)
        except ClusterError as error:
            if time.monotonic() > deadline or error.status not in (403, 404, 429, 503):
                raise
            time.sleep(0.1)
        else:
            return


def _service(port: int) -> Json:
    return {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {"name": certificates.METRICS_SERVICE, "namespace": _NAMESPACE},
        "spec": {
            "type": "ExternalName",
            "externalName": "localhost",
            "ports": [{"name": "https", "port": port}],
        },
    }


def _api_service(port: int, authority: bytes) -> Json:
    return {
        "apiVersion": "apiregistration.k8s.io/v1",
        "kind": "APIService",
        "metadata": {"name": "v1beta1.metrics.k8s.io"},
        "spec": {
            "group": "metrics.k8s.io",
            "version": "v1beta1",
            "groupPriorityMinimum": 100,
            "versionPriority": 100,
            "caBundle": base64.b64encode(authority).decode(),
            "service": {
                "name": certificates.METRICS_SERVICE,
                "namespace": _NAMESPACE,
                "port": port,
            },
        },
    }
