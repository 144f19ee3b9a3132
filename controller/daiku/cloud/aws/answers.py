"""Reading nested JSON that comes from outside: an absent or empty part is an empty one, and the types are known."""

from collections.abc import Mapping
from typing import Any, cast

Json = dict[str, Any]


def part(whole: Mapping[str, Any], name: str) -> Json:
    """The object `name` of `whole`; empty when there is none."""
    return cast("Json", whole.get(name) or {})


def words(whole: Mapping[str, Any], name: str) -> list[str]:
    """The list of texts `name` of `whole`; empty when there is none."""
    return cast("list[str]", whole.get(name) or [])


def parts(whole: Mapping[str, Any], name: str) -> list[Json]:
    """The list of objects `name` of `whole`; empty when there is none."""
    return cast("list[Json]", whole.get(name) or [])
