# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false
"""Replies: a result or an error, in the form that the service's protocol has for it."""

import json
import uuid
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any
from xml.sax.saxutils import escape

from daiku_local.aws.errors import AwsError
from daiku_local.aws.wire import models, xml

XML = "text/xml;charset=UTF-8"


@dataclass(frozen=True, slots=True, kw_only=True)
class Reply:
    """An HTTP response."""

    status: int = 200
    """HTTP status."""
    headers: dict[str, str] = field(default_factory=dict[str, str])
    """Headers, Content-Length left out."""
    body: bytes = b""
    """The whole body."""


def of_result(signing_name: str, operation: str, result: Mapping[str, Any]) -> Reply:
    """The reply that carries the result of an operation."""
    protocol = models.protocol(signing_name)
    request_id = str(uuid.uuid4())
    model = models.operation(signing_name, operation)
    if protocol in ("json", "rest-json"):
        status = int(model.http.get("responseCode", 200))
        return _json(protocol, request_id, status, json.dumps(result).encode())
    content = (
        xml.write(model.output_shape, result) if model.output_shape else "<return>true</return>"
    )
    namespace = str(model.service_model.metadata["xmlNamespace"])
    if protocol == "ec2":
        inner = f"<requestId>{request_id}</requestId>{content}"
    else:
        wrapper = model.output_shape.serialization.get("resultWrapper", f"{operation}Result")
        inner = (
            f"<{wrapper}>{content}</{wrapper}>"
            f"<ResponseMetadata><RequestId>{request_id}</RequestId></ResponseMetadata>"
        )
    text = f'<{operation}Response xmlns="{namespace}">{inner}</{operation}Response>'
    return _xml(request_id, 200, text)


def of_error(signing_name: str, error: AwsError) -> Reply:
    """The reply that carries an error."""
    reply = _of_error(signing_name, error)
    if error.retry_after_seconds is not None:
        reply.headers["Retry-After"] = f"{error.retry_after_seconds:g}"
    return reply


def _of_error(signing_name: str, error: AwsError) -> Reply:
    protocol = models.protocol(signing_name)
    request_id = str(uuid.uuid4())
    if protocol in ("json", "rest-json"):
        content = {"__type": error.code, "message": error.message, **error.fields}
        reply = _json(protocol, request_id, error.status, json.dumps(content).encode())
        reply.headers["x-amzn-ErrorType"] = error.code
        return reply
    code, message = escape(error.code), escape(error.message)
    if protocol == "ec2":
        text = (
            f"<Response><Errors><Error><Code>{code}</Code><Message>{message}</Message></Error>"
            f"</Errors><RequestID>{request_id}</RequestID></Response>"
        )
    else:
        text = (
            f"<ErrorResponse><Error><Type>Sender</Type><Code>{code}</Code>"
            f"<Message>{message}</Message></Error><RequestId>{request_id}</RequestId></ErrorResponse>"
        )
    return _xml(request_id, error.status, text)


def _json(protocol: str, request_id: str, status: int, body: bytes) -> Reply:
    kind = "application/json" if protocol == "rest-json" else "application/x-amz-json-1.1"
    headers = {"Content-Type": kind, "x-amzn-RequestId": request_id}
    return Reply(status=status, headers=headers, body=body)


def _xml(request_id: str, status: int, text: str) -> Reply:
    body = f'<?xml version="1.0" encoding="UTF-8"?>\n{text}'.encode()
    return Reply(
        status=status, headers={"Content-Type": XML, "x-amzn-RequestId": request_id}, body=body
    )
