"""The API server in six verbs: get, list, watch, create, patch, delete.

Bytes in, bytes out: `daiku.api` knows what they mean. The `kubernetes` library gives transport and credentials; its
models are never built, because they cost more than everything else here together. Each request has a time limit, is
never repeated by itself (except once after a 401, with credentials read anew), and fails with one of `errors`.
"""

# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false
# pyright: reportAttributeAccessIssue=false
# The library has no types; its transport is wrapped here.

import ssl
from collections.abc import Iterator, Mapping, Sequence
from importlib import metadata
from typing import Any, Final
from urllib.parse import quote, urlencode

import msgspec
import urllib3
from kubernetes.client import rest

from daiku.api import decode
from daiku.kube import errors
from daiku.kube.credentials import Credentials
from daiku.kube.pace import Pace

CONNECT_SECONDS: Final = 5.0
READ_SECONDS: Final = 30.0
WATCH_SECONDS: Final = 290
"""How long the server keeps one watch open; then it is asked for again from where it ended."""
WATCH_SILENCE_SECONDS: Final = 320.0
"""A watch that says nothing for longer is dead: bookmarks come every minute, and the server ends it before."""
PAGE_SIZE: Final = 500
"""Objects per page of a list, as kubectl asks for."""

JSON: Final = "application/json"
MERGE_PATCH: Final = "application/merge-patch+json"
JSON_PATCH: Final = "application/json-patch+json"


class Client:
    """A connection to one API server. Any thread may use it."""

    def __init__(
        self, credentials: Credentials, *, connections: int = 64, pace: Pace | None = None
    ) -> None:
        configuration = credentials.configuration
        configuration.connection_pool_maxsize = connections
        configuration.retries = False
        configuration.keep_alive = True
        self._credentials = credentials
        self._pace = pace
        self._pool: Any = rest.RESTClientObject(configuration).pool_manager
        self._agent = f"daiku/{metadata.version('daiku')}"

    def get(
        self,
        path: str,
        query: Mapping[str, str] | None = None,
        *,
        seconds: float = READ_SECONDS,
    ) -> bytes:
        """Read one object, or whatever else lies at `path`, within so many seconds."""
        return self._request("GET", path, query=query, seconds=seconds).data

    def list(self, path: str, query: Mapping[str, str] | None = None) -> Iterator[decode.Page]:
        """Read a collection page by page.

        Raises:
            Expired: Reading took so long that the server forgot the rest; begin again.
        """
        token = ""
        while True:
            asked = {"limit": str(PAGE_SIZE), **(query or {})} | (
                {"continue": token} if token else {}
            )
            page = decode.page(self.get(path, asked))
            yield page
            token = page.next_page
            if not token:
                return

    def watch(
        self, path: str, resource_version: str, chosen: Mapping[str, str] | None = None
    ) -> Iterator[bytes]:
        """Read changes of a collection after `resource_version`, one line each, until the server ends it.

        `chosen` says which objects of it are meant, as a query.

        Raises:
            Expired: The version is forgotten: list again.
            Unreachable: The connection broke; go on from the last version that was seen.
        """
        query = {
            "watch": "true",
            "allowWatchBookmarks": "true",
            "resourceVersion": resource_version,
            "timeoutSeconds": str(WATCH_SECONDS),
            **(chosen or {}),
        }
        response = self._request("GET", path, query=query, stream=True)
        rest_of_line = b""
        try:
            for chunk in response.stream(65536):
                *lines, rest_of_line = (rest_of_line + chunk).split(b"\n")
                yield from (line for line in lines if line)
        except (urllib3.exceptions.HTTPError, ssl.SSLError, OSError) as error:
            raise errors.Unreachable(f"watch of {path} broke: {error}") from error
        finally:
            # Not release_conn: what is left unread would be taken for the next answer.
            response.close()

    def create(self, path: str, body: object, *, dry_run: bool = False) -> bytes:
        """Create an object in the collection at `path`, or post to a subresource."""
        query = {"dryRun": "All"} if dry_run else None
        return self._request("POST", path, query=query, body=body, content_type=JSON).data

    def patch(self, path: str, body: object) -> bytes:
        """Change an object by a merge patch and give it as it is then."""
        return self._request("PATCH", path, body=body, content_type=MERGE_PATCH).data

    def operate(self, path: str, operations: Sequence[object]) -> bytes:
        """Change an object by a JSON patch and give it as it is then.

        Raises:
            Conflict: It is not what the operations were made for.
        """
        try:
            return self._request("PATCH", path, body=operations, content_type=JSON_PATCH).data
        except errors.Rejected as error:
            raise errors.Conflict(str(error)) from error

    def delete(self, path: str, options: object | None = None) -> bytes:
        """Ask for an object's deletion."""
        return self._request("DELETE", path, body=options, content_type=JSON).data

    def replace(self, path: str, body: object) -> bytes:
        """Write an object whole, as a Lease must be."""
        return self._request("PUT", path, body=body, content_type=JSON).data

    def _request(
        self,
        verb: str,
        path: str,
        *,
        query: Mapping[str, str] | None = None,
        body: object | None = None,
        content_type: str = "",
        stream: bool = False,
        seconds: float = READ_SECONDS,
    ) -> Any:
        silence = WATCH_SILENCE_SECONDS if stream else seconds
        how: Any = {"stream": stream, "read_seconds": silence}
        response = self._send(verb, path, query, body, content_type, **how)
        if response.status == 401:
            response.drain_conn()
            self._credentials.renew()
            response = self._send(verb, path, query, body, content_type, **how)
        if 200 <= response.status < 300:
            return response
        raise errors.refusal(
            f"{verb} {path}", response.status, response.data, response.headers.get("Retry-After")
        )

    def _send(
        self,
        verb: str,
        path: str,
        query: Mapping[str, str] | None,
        body: object | None,
        content_type: str,
        *,
        stream: bool,
        read_seconds: float,
    ) -> Any:
        if self._pace is not None and not stream:
            self._pace.wait()
        headers = {"User-Agent": self._agent, "Accept": JSON}
        if authorization := self._credentials.header():
            headers["Authorization"] = authorization
        if body is not None:
            headers["Content-Type"] = content_type
        url = f"{self._credentials.host}{quote(path)}"
        try:
            return self._pool.request(
                verb,
                f"{url}?{urlencode(query)}" if query else url,
                headers=headers,
                body=None if body is None else msgspec.json.encode(body),
                timeout=urllib3.Timeout(connect=CONNECT_SECONDS, read=read_seconds),
                preload_content=not stream,
                retries=False,
            )
        except (urllib3.exceptions.HTTPError, OSError) as error:
            raise errors.Unreachable(
                f"{verb} {path}: no answer of the API server: {error}"
            ) from error
