"""Reading nested JSON objects that come from an API and may lack any field."""

import time
from collections.abc import Mapping
from typing import Any, cast

Json = dict[str, Any]
"""A JSON object as an API gave it."""


def dig(value: Any, *path: str | int) -> Any:
    """Follow `path` through objects and lists; None as soon as a step is missing."""
    for step in path:
        if isinstance(step, int):
            items = cast("list[Any]", value) if isinstance(value, list) else []
            value = items[step] if step < len(items) else None
        else:
            value = (
                cast("Mapping[str, Any]", value).get(step) if isinstance(value, Mapping) else None
            )
        if value is None:
            return None
    return value


def mapping(value: Any, *path: str | int) -> Json:
    """Follow `path` to an object; an empty one where there is none."""
    found = dig(value, *path)
    return cast("Json", found) if isinstance(found, dict) else {}


def items(value: Any, *path: str | int) -> list[Any]:
    """Follow `path` to a list; an empty one where there is none."""
    found = dig(value, *path)
    return cast("list[Any]", found) if isinstance(found, list) else []


def timestamp() -> str:
    """The wall clock as Kubernetes writes it, whole seconds, UTC."""
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
