"""The front door: where load comes in, in place of the load balancer that a laptop lacks.

`GET /NAMESPACE/SERVICE` takes as long as the request would compute, and is then counted for the pods behind that
Service. So C clients that ask without pause, as `ab -c C` does, are the load of C cores.
"""

import time
import urllib.parse
from http import HTTPStatus

from daiku_local.agent.objects import Json
from daiku_local.metrics import traffic
from daiku_local.metrics.cluster import Cluster, ClusterError
from daiku_local.metrics.http_server import HOST, Handler, Server

HINT = b"ask for /NAMESPACE/SERVICE, such as /default/web\n"


def make(cluster: Cluster, counted: traffic.Traffic, port: int) -> Server:
    """A server that listens on `port`; `serve_forever` runs it.

    Raises:
        OSError: Somebody else listens there.
    """

    class Door(Handler):
        def do_GET(self) -> None:  # noqa: N802 - http.server calls it so
            """Answer for a pod behind the Service, if there is one."""
            if self.path == "/_health":
                self.answer(b"ok\n")
                return
            parts = urllib.parse.urlsplit(self.path).path.strip("/").split("/")
            if len(parts) < 2:
                self.answer(HINT, HTTPStatus.NOT_FOUND)
                return
            service = (parts[0], parts[1])
            try:
                if not cluster.serving(service):
                    problem = f"no pod behind Service {parts[0]}/{parts[1]} is ready\n".encode()
                    self.answer(problem, HTTPStatus.SERVICE_UNAVAILABLE)
                    return
            except ClusterError as error:
                self.answer(_said(error.body), error.status)
                return
            time.sleep(traffic.REQUEST_SECONDS)
            counted.record(service)
            self.answer(b"OK!\n")

    return Server((HOST, port), Door)


def _said(body: Json) -> bytes:
    return f"{body.get('message') or body}\n".encode()
