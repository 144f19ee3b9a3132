"""EC2's filters: all of them must match, each by one of its values, with `*` and `?` as wildcards."""

import fnmatch
import re
from collections.abc import Callable, Mapping
from typing import Any

from daiku_local.aws.errors import AwsError

Values = Callable[[Mapping[str, Any]], list[Any]]
"""What a description holds under a filter's name."""


def keep(
    descriptions: list[dict[str, Any]], asked: list[dict[str, Any]], table: Mapping[str, Values]
) -> list[dict[str, Any]]:
    """The descriptions that pass every filter.

    Args:
        descriptions: What is looked through.
        asked: The parameter `Filters`.
        table: How to read each filter that the operation knows; `tag:` and `tag-key` are known always.

    Raises:
        AwsError: A filter is unknown to the operation.
    """
    for entry in asked:
        name, wanted = str(entry["Name"]), [str(value) for value in entry.get("Values", [])]
        values = _reader(name, table)
        matches = _matcher(wanted)
        descriptions = [
            one for one in descriptions if any(matches(_text(value)) for value in values(one))
        ]
    return descriptions


def _reader(name: str, table: Mapping[str, Values]) -> Values:
    if name.startswith("tag:"):
        key = name.removeprefix("tag:")
        return lambda one: [tag["Value"] for tag in one.get("Tags", ()) if tag["Key"] == key]
    if name == "tag-key":
        return lambda one: [tag["Key"] for tag in one.get("Tags", ())]
    if name not in table:
        raise AwsError("InvalidParameterValue", f"The filter '{name}' is invalid")
    return table[name]


def _matcher(wanted: list[str]) -> Callable[[str], bool]:
    if any(character in value for value in wanted for character in "*?"):
        patterns = [re.compile(fnmatch.translate(value)) for value in wanted]
        return lambda text: any(pattern.match(text) for pattern in patterns)
    exact = frozenset(wanted)
    return lambda text: text in exact


def _text(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def at(*path: str) -> Values:
    """Reads one member by its path, nothing where a part is absent; lists are gone through."""

    def values(one: Mapping[str, Any]) -> list[Any]:
        found: list[Any] = [one]
        for name in path:
            found = [child for part in found for child in _children(part, name)]
        return found

    return values


def _children(part: Any, name: str) -> list[Any]:
    child = part.get(name) if isinstance(part, Mapping) else None  # pyright: ignore[reportUnknownVariableType, reportUnknownMemberType] JSON-like
    if child is None:
        return []
    return list(child) if isinstance(child, list | tuple) else [child]  # pyright: ignore[reportUnknownArgumentType] JSON-like
