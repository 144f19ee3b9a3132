"""YAML as the API server's tools read it: only what JSON can say, and never a surprise.

The problem: YAML has types that Kubernetes has not. Its loaders turn 2024-01-01 into a date and 12:30 into 750, and
forgive a key that is given twice; an alias can make a small file mean a huge one, or one without an end.
The idea: libyaml parses; here is decided what a scalar is, and a document becomes plain values under a limit.
Not here: what the documents mean (`manifests`).
"""

# pyright: reportUnknownMemberType=false, reportIncompatibleVariableOverride=false
# The library's types know neither what its loader holds nor what its constructors give.

import math
import re
from collections.abc import Iterator
from typing import Any, ClassVar, Final, cast

import yaml

VALUES_MAX: Final = 5_000_000
"""Values of one document, aliases counted each time: 50,000 pods. Larger inputs are read as JSON, without a limit."""
DEPTH_MAX: Final = 100
"""Nesting of one document; manifests need about 15."""
INTEGER_MAX: Final = 2**63 - 1

_TAG: Final = "tag:yaml.org,2002:"
_NULL: Final = re.compile(r"~|null|Null|NULL|")
_BOOL: Final = re.compile(
    r"yes|Yes|YES|no|No|NO|true|True|TRUE|false|False|FALSE|on|On|ON|off|Off|OFF"
)
_INT: Final = re.compile(
    r"[-+]?(?:0|[1-9][0-9_]*|0o?[0-7_]+|0b[01_]*[01][01_]*|0x[0-9a-fA-F_]*[0-9a-fA-F]+[0-9a-fA-F_]*)",
    re.ASCII,
)
_FLOAT: Final = re.compile(
    r"[-+]?(?:[0-9][0-9_]*\.[0-9_]*|\.[0-9][0-9_]*|[0-9][0-9_]*(?=[eE]))(?:[eE][-+]?[0-9]+)?|[-+]?\.(?:inf|Inf|INF)|\.(?:nan|NaN|NAN)",
    re.ASCII,
)


class YamlError(Exception):
    """It is no YAML, or says what no manifest can; the message says where and what."""


class _Loader(yaml.CSafeLoader):
    """libyaml's parser with our own idea of scalars."""

    # Nothing is inherited: neither dates, sexagesimal numbers nor binary values.
    yaml_implicit_resolvers: ClassVar[dict[str, Any]] = {}
    yaml_constructors: ClassVar[dict[str | None, Any]] = {}

    def flatten_mapping(self, node: yaml.MappingNode) -> None:
        """Take in what `<<` merges. Every key occurs once, so that merging merges cannot grow without end."""
        seen: dict[str, bool] = {}
        for key, _value in node.value:
            if not isinstance(key, yaml.ScalarNode):
                raise _refused(key, "a key has to be text")
            if key.value in seen and not key.tag.endswith(":merge"):
                raise _refused(key, f"the key {key.value!r} is given twice")
            seen[key.value] = True
        super().flatten_mapping(node)
        node.value = list({key.value: (key, value) for key, value in node.value}.values())


def documents(content: bytes) -> Iterator[Any]:
    """The documents of a YAML stream, one after the other, as plain values; an empty one is None.

    Raises:
        YamlError: It cannot be read on.
    """
    try:
        loader = _Loader(content)
        try:
            while loader.check_data():
                yield _plain(loader.get_data())
        finally:
            loader.dispose()
    except yaml.YAMLError as error:
        raise YamlError(_said(error)) from error
    except RecursionError as error:
        raise YamlError(f"it is nested deeper than {DEPTH_MAX} levels") from error


def _said(error: yaml.YAMLError) -> str:
    """What the parser says, in one line, with the line and column that it means."""
    if isinstance(error, yaml.reader.ReaderError):
        return f"byte {error.position}: {error.reason}"
    if not isinstance(error, yaml.MarkedYAMLError):
        return " ".join(str(error).split())
    mark = error.problem_mark or error.context_mark
    where = f"line {mark.line + 1}, column {mark.column + 1}: " if mark is not None else ""
    what = ", ".join(part for part in (error.context, error.problem) if part)
    return where + " ".join(what.split())


def _plain(document: Any) -> Any:
    """`document` in lists, dicts with text keys and scalars only, every alias written out."""
    left = VALUES_MAX

    def walk(value: Any, depth: int) -> Any:
        nonlocal left
        left -= 1
        if left < 0:
            raise YamlError(
                f"it holds more than {VALUES_MAX} values, aliases written out: split it, or give it as JSON"
            )
        if depth > DEPTH_MAX:
            raise YamlError(f"it is nested deeper than {DEPTH_MAX} levels")
        if isinstance(value, dict):
            items = cast("dict[Any, Any]", value).items()
            return {_key(key): walk(each, depth + 1) for key, each in items}
        if isinstance(value, list):
            return [walk(each, depth + 1) for each in cast("list[Any]", value)]
        return value

    return walk(document, 0)


def _key(key: Any) -> str:
    if isinstance(key, bool):
        return "true" if key else "false"
    if key is None:
        return "null"
    return str(key)


def _refused(node: Any, why: str) -> yaml.constructor.ConstructorError:
    return yaml.constructor.ConstructorError(None, None, why, node.start_mark)


def _unknown(_loader: _Loader, node: Any) -> None:
    raise _refused(node, f"the tag {node.tag!r} means nothing in a manifest")


def _null(_loader: _Loader, _node: yaml.ScalarNode) -> None:
    return None


def _bool(_loader: _Loader, node: yaml.ScalarNode) -> bool:
    if not _BOOL.fullmatch(node.value):
        raise _refused(node, f"{node.value[:40]!r} is no boolean")
    return node.value.lower() in {"yes", "true", "on"}


def _int(_loader: _Loader, node: yaml.ScalarNode) -> int:
    text = str(node.value).replace("_", "")
    sign, digits = (-1, text[1:]) if text.startswith("-") else (1, text.removeprefix("+"))
    bases = {"0b": 2, "0x": 16, "0o": 8}
    base = bases.get(digits[:2], 8 if digits.startswith("0") and len(digits) > 1 else 10)
    try:
        number = sign * int(digits[2:] if digits[:2] in bases else digits, base)
    except ValueError:
        raise _refused(node, f"{node.value[:40]!r} is no whole number") from None
    if abs(number) > INTEGER_MAX:
        raise _refused(node, f"{node.value[:40]!r} is no whole number that fits 64 bits")
    return number


def _float(_loader: _Loader, node: yaml.ScalarNode) -> float:
    try:
        number = float(str(node.value).replace("_", ""))
    except ValueError:
        raise _refused(node, f"{node.value[:40]!r} is no number") from None
    if not math.isfinite(number):
        raise _refused(node, f"{node.value[:40]!r} is no number that JSON has")
    return number


def _text(_loader: _Loader, node: yaml.ScalarNode) -> str:
    return str(node.value)


def _register() -> None:
    safe: Any = yaml.constructor.SafeConstructor
    for name, construct in (
        ("null", _null),
        ("bool", _bool),
        ("int", _int),
        ("float", _float),
        ("str", _text),
        ("seq", safe.construct_yaml_seq),
        ("map", safe.construct_yaml_map),
    ):
        _Loader.add_constructor(_TAG + name, construct)
    _Loader.add_constructor(None, _unknown)
    for name, pattern, first in (
        ("bool", _BOOL, "yYnNtTfFoO"),
        ("int", _INT, "-+0123456789"),
        ("float", _FLOAT, "-+.0123456789"),
        ("null", _NULL, "~nN"),
        ("merge", re.compile("<<"), "<"),
    ):
        whole = re.compile(f"(?:{pattern.pattern})$", re.ASCII)
        _Loader.add_implicit_resolver(_TAG + name, whole, list(first))
    _Loader.add_implicit_resolver(_TAG + "null", re.compile("$"), [""])


_register()
