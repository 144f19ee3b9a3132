# pyright: reportUnknownMemberType=false
"""Which operation of which service an HTTP request asks for.

The service is in the signature's scope; unsigned requests exist only for the operations of STS
that exchange another party's token. Signatures are not verified: the endpoint listens on the
loopback address, and who may do what is not what the stand-in shows yet.
"""

import json
import re
import urllib.parse
from dataclasses import dataclass, field
from typing import Any

from daiku_local.aws.wire import models, query, rest

SCOPE = re.compile(r"Credential=(?P<key>[^/]+)/\d+/(?P<region>[^/]+)/(?P<service>[^/]+)/")
UNSIGNED_SERVICE = "sts"


@dataclass(frozen=True, slots=True, kw_only=True)
class Call:
    """One request for one operation, its parameters still unread."""

    service: str
    """Name that the request is signed for, such as "ec2"; "unknown" if there is no signature."""
    operation: str
    """Name of the operation, such as "CreateFleet"; "" if none was recognised."""
    region: str
    """Region that the request is signed for."""
    access_key: str
    """Access key id of the caller, "" if unsigned."""
    query_string: str = ""
    """Text behind the question mark."""
    body: bytes = b""
    """The whole body."""
    labels: dict[str, str] = field(default_factory=dict[str, str])
    """Labels of a REST path."""

    def parameters(self) -> dict[str, Any]:
        """What is asked, under the names of the API reference."""
        model = models.operation(self.service, self.operation)
        shape: Any = model.input_shape
        protocol = models.protocol(self.service)
        if protocol == "json":
            return json.loads(self.body or b"{}")
        if protocol == "rest-json":
            return rest.parameters(shape, self.labels, self.query_string, self.body)
        tree = query.tree(self.body.decode() or self.query_string)
        return query.parameters(shape, tree, ec2=protocol == "ec2")


def read(method: str, raw_target: str, headers: dict[str, str], body: bytes) -> Call:
    """Recognise a request.

    Args:
        method: HTTP method.
        raw_target: Path and query as they were sent, still percent-encoded.
        headers: Headers, names in lower case.
        body: The whole body.
    """
    path, _, query_string = raw_target.partition("?")
    scope = SCOPE.search(headers.get("authorization", ""))
    service = scope["service"] if scope else UNSIGNED_SERVICE
    operation, labels = _operation(
        service,
        method=method,
        path=path,
        query_string=query_string,
        headers=headers,
        body=body,
    )
    return Call(
        service=service,
        operation=operation,
        region=scope["region"] if scope else "",
        access_key=scope["key"] if scope else "",
        query_string=query_string,
        body=body,
        labels=labels,
    )


def _operation(
    service: str,
    *,
    method: str,
    path: str,
    query_string: str,
    headers: dict[str, str],
    body: bytes,
) -> tuple[str, dict[str, str]]:
    if target := headers.get("x-amz-target"):
        return target.rpartition(".")[2], {}
    form = (
        body.decode("latin-1")
        if headers.get("content-type", "").startswith("application/x-www-form-urlencoded")
        else query_string
    )
    if found := re.search(r"(?:^|&)Action=([^&]+)", form):
        return urllib.parse.unquote_plus(found[1]), {}
    return rest.find(service, method, path) or ("", {})
