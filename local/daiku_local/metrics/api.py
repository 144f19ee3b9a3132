"""metrics.k8s.io/v1beta1, served to the API server alone.

Who is asking was found out and allowed by the API server, which shows that it is it by its front-proxy certificate:
without that no connection comes about, so nobody can put on another's name.
"""

import ssl
import urllib.parse
from collections.abc import Iterable
from http import HTTPStatus
from pathlib import Path
from typing import Any, cast

from daiku_local.agent import objects
from daiku_local.agent.objects import Json, dig
from daiku_local.control_plane import certificates
from daiku_local.metrics import usage
from daiku_local.metrics.cluster import Cluster, ClusterError
from daiku_local.metrics.http_server import HOST, Handler, Server
from daiku_local.metrics.registration import PATH
from daiku_local.metrics.traffic import Traffic

RESOURCES = (("nodes", "NodeMetrics", False), ("pods", "PodMetrics", True))
"""Name, kind, and whether its objects are in namespaces."""
SELECTORS = ("labelSelector", "fieldSelector")


class Metrics:
    """Answers by path."""

    def __init__(self, cluster: Cluster, traffic: Traffic) -> None:
        self._cluster = cluster
        self._traffic = traffic

    def answer(self, target: str) -> Json | None:
        """The object or list at a request target; None if there is no such path.

        Raises:
            ClusterError: What it is of is not there, or the cluster cannot be read.
        """
        url = urllib.parse.urlsplit(target)
        asked = dict(urllib.parse.parse_qsl(url.query))
        query = {key: asked[key] for key in SELECTORS if key in asked}
        if url.path == PATH:
            return _resources()
        match url.path.removeprefix(f"{PATH}/").split("/"):
            case ["nodes"]:
                return usage.listed("NodeMetrics", self._nodes(self._list("/api/v1/nodes", query)))
            case ["nodes", name]:
                return self._nodes([self._cluster.get(f"/api/v1/nodes/{name}")])[0]
            case ["pods"]:
                return usage.listed("PodMetrics", self._pods(self._list("/api/v1/pods", query)))
            case ["namespaces", namespace, "pods"]:
                pods = self._list(f"/api/v1/namespaces/{namespace}/pods", query)
                return usage.listed("PodMetrics", self._pods(pods))
            case ["namespaces", namespace, "pods", name]:
                return self._pod(self._cluster.get(f"/api/v1/namespaces/{namespace}/pods/{name}"))
            case _:
                return None

    def _list(self, path: str, query: dict[str, str]) -> list[Json]:
        return cast("list[Json]", objects.items(self._cluster.get(path, query), "items"))

    def _pod(self, pod: Json) -> Json:
        if found := self._pods([pod]):
            return found[0]
        name = dig(pod, "metadata", "name")
        raise ClusterError(404, _status(404, f"pod {name} does not run: no metrics are known"))

    def _pods(self, pods: Iterable[Json]) -> list[Json]:
        load = self._load()
        now = objects.timestamp()
        return [
            usage.of_pod(pod, load.get(_name(pod), 0.0), now)
            for pod in pods
            if usage.is_running(pod)
        ]

    def _nodes(self, nodes: list[Json]) -> list[Json]:
        pods = self._list("/api/v1/pods", {"fieldSelector": "status.phase=Running"})
        place = {_name(pod): dig(pod, "spec", "nodeName") for pod in pods}
        of_node: dict[Any, list[Json]] = {}
        for metrics in self._pods(pods):
            of_node.setdefault(place[_name(metrics)], []).append(metrics)
        now = objects.timestamp()
        return [usage.of_node(n, of_node.get(dig(n, "metadata", "name"), ()), now) for n in nodes]

    def _load(self) -> dict[tuple[str, str], float]:
        """What requests cost each pod, in millicores, by namespace and name."""
        load: dict[tuple[str, str], float] = {}
        for service, millicores in self._traffic.millicores().items():
            try:
                pods = self._cluster.pods_behind(service)
            except ClusterError as error:
                if error.status != HTTPStatus.NOT_FOUND:
                    raise
                continue
            for name, share in usage.shares(millicores, pods).items():
                load[service[0], name] = load.get((service[0], name), 0.0) + share
        return load


def make(metrics: Metrics, port: int, pki: Path) -> Server:
    """A server that listens on `port` for holders of the front-proxy certificate; `serve_forever` runs it.

    Raises:
        OSError: Somebody else listens there.
    """

    class Api(Handler):
        def do_GET(self) -> None:  # noqa: N802 - http.server calls it so
            """Answer one request that the API server passes on."""
            if not _is_front_proxy(self.connection.getpeercert()):
                problem = "only the API server's front proxy may ask"
                self.answer(_status(HTTPStatus.UNAUTHORIZED, problem), HTTPStatus.UNAUTHORIZED)
                return
            try:
                found = metrics.answer(self.path)
            except ClusterError as error:
                self.answer(error.body, error.status)
                return
            if found is None:
                problem = f"nothing is served at {self.path}"
                self.answer(_status(HTTPStatus.NOT_FOUND, problem), HTTPStatus.NOT_FOUND)
            else:
                self.answer(found)

    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.minimum_version = ssl.TLSVersion.TLSv1_3
    name = certificates.METRICS_SERVICE
    context.load_cert_chain(pki / f"{name}.crt", pki / f"{name}.key")
    context.load_verify_locations(pki / f"{certificates.FRONT_PROXY_AUTHORITY}.crt")
    context.verify_mode = ssl.CERT_REQUIRED
    server = Server((HOST, port), Api)
    # The handshake is left to the connection's own thread: one that says nothing must not hold up the others.
    server.socket = context.wrap_socket(
        server.socket, server_side=True, do_handshake_on_connect=False
    )
    return server


def _is_front_proxy(certificate: Json | None) -> bool:
    subject = dict(pair for part in (certificate or {}).get("subject", ()) for pair in part)
    return subject.get("commonName") == certificates.FRONT_PROXY


def _name(of: Json) -> tuple[str, str]:
    return str(dig(of, "metadata", "namespace")), str(dig(of, "metadata", "name"))


def _status(code: int, message: str) -> Json:
    reason = HTTPStatus(code).phrase.replace(" ", "")
    head = {"kind": "Status", "apiVersion": "v1", "status": "Failure"}
    return head | {"code": int(code), "reason": reason, "message": message}


def _resources() -> Json:
    return {
        "kind": "APIResourceList",
        "apiVersion": "v1",
        "groupVersion": usage.GROUP_VERSION,
        "resources": [
            {
                "name": name,
                "singularName": "",
                "namespaced": namespaced,
                "kind": kind,
                "verbs": ["get", "list"],
            }
            for name, kind, namespaced in RESOURCES
        ],
    }
