"""What the metrics server reads of the cluster, and the two objects that it writes.

A client of its own, of three verbs: the one of `kubernetes` would need more memory than all of this part.
"""

import json
import time
import urllib.parse
from collections.abc import Mapping
from typing import Any, cast

import urllib3

from daiku_local.agent.objects import Json, items, mapping
from daiku_local.metrics import usage
from daiku_local.metrics.traffic import Service
from daiku_local.world import World

TIMEOUT_SECONDS = 10.0
FRESH_SECONDS = 1.0
"""How long the front door takes it that the same pods serve."""


class ClusterError(Exception):
    """The API server said no (its status and body), or did not answer (503)."""

    def __init__(self, status: int, body: Json) -> None:
        self.status = status
        self.body = body
        super().__init__(f"{status}: {body.get('message')}")


class Cluster:
    """The world's API server, as the administrator; safe to use from several threads."""

    def __init__(self, world: World) -> None:
        self._endpoint = world.kubernetes_endpoint
        self._pool = urllib3.PoolManager(
            ca_certs=str(world.pki / "ca.crt"),
            cert_file=str(world.pki / "admin.crt"),
            key_file=str(world.pki / "admin.key"),
            timeout=TIMEOUT_SECONDS,
            retries=False,
        )
        self._serving: dict[Service, tuple[float, int]] = {}

    def get(self, path: str, query: Mapping[str, str] | None = None) -> Json:
        """Read one object, or a list.

        Raises:
            ClusterError: It is not there, or nobody answers.
        """
        return self._call("GET", path + (f"?{urllib.parse.urlencode(query)}" if query else ""))

    def create(self, path: str, body: Json) -> Json:
        """Create an object in the collection at `path`.

        Raises:
            ClusterError: It cannot be, or nobody answers.
        """
        return self._call("POST", path, body)

    def pods_behind(self, service: Service) -> list[Json]:
        """The pods that a Service selects.

        Raises:
            ClusterError: There is no such Service, or nobody answers.
        """
        namespace, name = service
        found = self.get(f"/api/v1/namespaces/{namespace}/services/{urllib.parse.quote(name)}")
        selector = ",".join(
            f"{k}={v}" for k, v in sorted(mapping(found, "spec", "selector").items())
        )
        if not selector:
            return []
        path = f"/api/v1/namespaces/{namespace}/pods"
        return cast("list[Json]", items(self.get(path, {"labelSelector": selector}), "items"))

    def serving(self, service: Service) -> int:
        """How many pods behind a Service would answer a request, as of a moment ago.

        Raises:
            ClusterError: There is no such Service, or nobody answers.
        """
        since, count = self._serving.get(service, (float("-inf"), 0))
        now = time.monotonic()
        if now - since > FRESH_SECONDS:
            count = sum(map(usage.is_serving, self.pods_behind(service)))
            self._serving[service] = (now, count)
        return count

    def _call(self, method: str, path: str, body: Json | None = None) -> Json:
        try:
            answer = self._pool.request(method, self._endpoint + path, json=body)
            content: Any = json.loads(answer.data)
        except (urllib3.exceptions.HTTPError, ValueError) as error:
            raise ClusterError(503, {"message": f"no answer of the API server: {error}"}) from error
        if answer.status >= 400:
            raise ClusterError(answer.status, content)
        return content
