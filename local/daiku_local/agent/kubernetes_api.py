"""The API server in seven verbs on plain JSON objects.

`kubernetes` gives credentials and transport; its object model is not used, because a status that
is written back must hold exactly the fields that were meant.
"""

# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, cast

import kubernetes
import urllib3

from daiku_local.agent.objects import Json, dig

STRATEGIC_MERGE = "application/strategic-merge-patch+json"
REQUEST_TIMEOUT_SECONDS = (5, 30)
"""To connect, and between two reads."""
WATCH_SECONDS = 240
"""How long the API server keeps one watch open; then it is asked for again."""


class KubernetesError(Exception):
    """The API server did not do what was asked, or was not reached (status 0)."""

    status: int
    """HTTP status, 0 when there was no answer."""
    reason: str
    """Kubernetes' reason, such as NotFound, AlreadyExists, Conflict, Expired."""

    def __init__(self, status: int, reason: str, message: str) -> None:
        super().__init__(message)
        self.status = status
        self.reason = reason


class KubernetesApi:
    """A connection to one API server, safe to use from several threads."""

    def __init__(self, kubeconfig: Path) -> None:
        configuration: Any = kubernetes.client.Configuration()
        kubernetes.config.load_kube_config(
            config_file=str(kubeconfig), client_configuration=configuration, persist_config=False
        )
        configuration.proxy = None  # the API server is on this machine
        configuration.retries = False  # every caller has a loop of its own
        configuration.connection_pool_maxsize = 32
        self._client: Any = kubernetes.client.ApiClient(configuration)

    def get(self, path: str, query: Mapping[str, str] | None = None) -> Json:
        """Read one object, or a list."""
        return self._json("GET", path, query=query)

    def create(self, path: str, body: Json) -> Json:
        """Create an object in the collection at `path`."""
        return self._json("POST", path, body=body)

    def patch(self, path: str, body: Json, kind: str = STRATEGIC_MERGE) -> Json:
        """Change the fields that `body` names."""
        return self._json("PATCH", path, body=body, content_type=kind)

    def delete(self, path: str, *, uid: str, grace_seconds: int | None = None) -> None:
        """Delete the object at `path` if it still has this uid."""
        options: Json = {"kind": "DeleteOptions", "apiVersion": "v1", "preconditions": {"uid": uid}}
        if grace_seconds is not None:
            options["gracePeriodSeconds"] = grace_seconds
        self._json("DELETE", path, body=options)

    def watch(self, path: str, query: Mapping[str, str], resource_version: str) -> Iterator[Json]:
        """Give the changes of a list since `resource_version`, until the API server ends the watch.

        Raises:
            KubernetesError: With status 410 when the list must be read anew.
        """
        parameters = {
            **query,
            "watch": "true",
            "resourceVersion": resource_version,
            "allowWatchBookmarks": "true",
            "timeoutSeconds": str(WATCH_SECONDS),
        }
        response = self._send("GET", path, query=parameters, timeout=(5, WATCH_SECONDS + 30))
        buffer = b""
        try:
            for chunk in response.stream(65536):
                *lines, buffer = (buffer + chunk).split(b"\n")
                for line in filter(None, lines):
                    event = cast("Json", json.loads(line))
                    if event["type"] == "ERROR":
                        raise _error(dig(event, "object", "code") or 500, event["object"])
                    yield event
        except urllib3.exceptions.HTTPError as error:
            raise KubernetesError(
                0, "Unreachable", f"the watch of {path} broke: {error}"
            ) from error
        finally:
            response.close()

    def _json(
        self,
        method: str,
        path: str,
        *,
        query: Mapping[str, str] | None = None,
        body: Json | None = None,
        content_type: str = "application/json",
    ) -> Json:
        response = self._send(method, path, query=query, body=body, content_type=content_type)
        try:
            return cast("Json", json.loads(response.read()))
        except (urllib3.exceptions.HTTPError, ValueError) as error:
            raise KubernetesError(
                0, "Unreachable", f"{method} {path}: no answer: {error}"
            ) from error
        finally:
            response.release_conn()

    def _send(
        self,
        method: str,
        path: str,
        *,
        query: Mapping[str, str] | None = None,
        body: Json | None = None,
        content_type: str = "application/json",
        timeout: tuple[int, int] = REQUEST_TIMEOUT_SECONDS,
    ) -> Any:
        headers = {"Accept": "application/json"} | ({"Content-Type": content_type} if body else {})
        request = self._client.param_serialize(
            method,
            path,
            query_params=list((query or {}).items()),
            header_params=headers,
            body=body,
            auth_settings=["BearerToken"],
        )
        try:
            response = self._client.call_api(*request, _request_timeout=timeout).response
        except (urllib3.exceptions.HTTPError, kubernetes.client.ApiException) as error:
            raise KubernetesError(
                0, "Unreachable", f"{method} {path}: no answer from the API server: {error}"
            ) from error
        if 200 <= response.status < 300:
            return response
        raise _error(response.status, _body(response))


def _body(response: Any) -> Json:
    text = response.read()
    response.release_conn()
    try:
        content: Any = json.loads(text)
    except ValueError:
        content = None
    return (
        cast("Json", content)
        if isinstance(content, dict)
        else {"message": text.decode(errors="replace")}
    )


def _error(status: int, body: Json) -> KubernetesError:
    reason = dig(body, "reason") or str(status)
    return KubernetesError(status, reason, f"{reason}: {dig(body, 'message') or 'no message'}")
