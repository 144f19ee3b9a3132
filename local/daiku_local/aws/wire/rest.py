# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false
"""REST-JSON: which operation a method and a path ask for, and its parameters.

Paths are matched still percent-encoded, since a label may hold an ARN with slashes in it.
"""

import functools
import json
import urllib.parse
from typing import Any

from daiku_local.aws.wire import models

Route = tuple[str, tuple[str, ...], str]


@functools.cache
def _routes(signing_name: str) -> tuple[Route, ...]:
    model = models.service(signing_name)
    if model is None or not model.metadata["protocol"].startswith("rest"):
        return ()
    routes: list[Route] = []
    for name in model.operation_names:
        http: dict[str, str] = model.operation_model(name).http
        path = http["requestUri"].partition("?")[0]
        routes.append((http["method"], tuple(path.strip("/").split("/")), name))
    # A fixed word beats a label in the same place: /addons/supported-versions before /addons/{name}.
    return tuple(sorted(routes, key=lambda route: [part.startswith("{") for part in route[1]]))


def find(signing_name: str, method: str, raw_path: str) -> tuple[str, dict[str, str]] | None:
    """The operation's name and the labels of its path; None if no operation has this path."""
    parts = raw_path.strip("/").split("/")
    for wanted, template, name in _routes(signing_name):
        if wanted != method or len(template) != len(parts):
            continue
        labels: dict[str, str] = {}
        for pattern, part in zip(template, parts, strict=True):
            if pattern.startswith("{"):
                labels[pattern.strip("{}+")] = urllib.parse.unquote(part)
            elif pattern != part:
                break
        else:
            return name, labels
    return None


def parameters(shape: Any, labels: dict[str, str], query: str, body: bytes) -> dict[str, Any]:
    """The members of the input shape, from the path's labels, the query string and the JSON body."""
    if shape is None:
        return {}
    arguments = urllib.parse.parse_qs(query, keep_blank_values=True)
    content: dict[str, Any] = json.loads(body) if body.strip() else {}
    found: dict[str, Any] = {}
    for name, member in shape.members.items():
        traits: dict[str, str] = member.serialization
        wire = str(traits.get("name", name))
        if traits.get("location") == "uri":
            found[name] = labels[wire]
        elif traits.get("location") == "querystring":
            if wire in arguments:
                found[name] = _argument(member, arguments[wire])
        elif content.get(wire) is not None:
            found[name] = content[wire]
    return found


def _argument(shape: Any, values: list[str]) -> Any:
    if shape.type_name == "list":
        return values
    if shape.type_name == "boolean":
        return values[0] == "true"
    if shape.type_name in ("integer", "long"):
        return int(values[0])
    return values[0]
