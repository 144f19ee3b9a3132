# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false
"""Replies of the EC2 and query protocols: from nested dictionaries to XML, along the description.

Members that the description does not know are an error of ours and raise KeyError: a misspelt name
would otherwise vanish on the way.
"""

import functools
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any
from xml.sax.saxutils import escape


def write(shape: Any, value: Mapping[str, Any]) -> str:
    """The members of `value`, as elements without the enclosing one."""
    parts: list[str] = []
    _structure(shape, value, parts)
    return "".join(parts)


@functools.lru_cache(maxsize=4096)
def _plan(shape: Any) -> dict[str, tuple[str, Any]]:
    """For each member of a structure: its element's name and its shape."""
    return {
        name: (member.serialization.get("name", name), member)
        for name, member in shape.members.items()
    }


def _structure(shape: Any, value: Mapping[str, Any], parts: list[str]) -> None:
    plan = _plan(shape)
    for name, content in value.items():
        if content is None:
            continue
        try:
            element, member = plan[name]
        except KeyError:
            raise KeyError(f"{shape.name} has no member {name!r}, only {sorted(plan)}") from None
        _element(element, member, content, parts)


def _element(element: str, shape: Any, content: Any, parts: list[str]) -> None:
    kind = shape.type_name
    if kind == "list":
        _list(element, shape, content, parts)
    elif kind == "structure":
        parts.append(f"<{element}>")
        _structure(shape, content, parts)
        parts.append(f"</{element}>")
    else:
        parts.append(f"<{element}>{escape(_text(content))}</{element}>")


def _list(element: str, shape: Any, content: Sequence[Any], parts: list[str]) -> None:
    flattened = shape.serialization.get("flattened")
    item = element if flattened else shape.member.serialization.get("name", "member")
    if not flattened:
        parts.append(f"<{element}>")
    for entry in content:
        if isinstance(entry, Fragment):
            parts.append(f"<{item}>{entry}</{item}>")
        else:
            _element(item, shape.member, entry, parts)
    if not flattened:
        parts.append(f"</{element}>")


class Fragment(str):
    """XML of a list entry that was written before, by `write`; it stands in for the entry."""

    __slots__ = ()


def _text(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, datetime):
        return value.strftime("%Y-%m-%dT%H:%M:%S.") + f"{value.microsecond // 1000:03d}Z"
    return str(value)
