"""YAML as the API server's tools read it: only what JSON can say, and never a surprise.

The problem: YAML has types that Kubernetes has not, and its loaders turn 2024-01-01 into a date and 12:30 into 750, and
forgive a key that is given twice. An alias can make a small file mean a huge one, or one without an end; deep nesting
ends the process.
The idea: libyaml only parses. Its events become plain values here, one after the other, with a stack of our own and
a limit on everything.
Not here: what the documents mean (`manifests`).
"""

# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false
# The library's types know little of its events.

import math
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, Final, cast

import yaml

VALUES_MAX: Final = 5_000_000
"""Values of one document, aliases counted each time: 50,000 pods. Larger inputs are read as JSON, without a limit."""
LETTERS_PER_VALUE: Final = 100
"""A text counts as one value for each so many letters."""
DEPTH_MAX: Final = 100
"""Nesting of one document; manifests need about 15."""
INTEGER_MAX: Final = 2**63 - 1
SHOWN_MAX: Final = 40
"""Letters of a value that a message quotes."""

_TAG: Final = "tag:yaml.org,2002:"
_NULL: Final = re.compile(r"(?:~|null|Null|NULL)?")
_BOOL: Final = re.compile(
    r"yes|Yes|YES|no|No|NO|true|True|TRUE|false|False|FALSE|on|On|ON|off|Off|OFF"
)
_INT: Final = re.compile(
    r"[-+]?(?:0|[1-9][0-9_]*|0o?[0-7_]*[0-7]_*|0b[01_]*[01]_*|0x[0-9a-fA-F_]*[0-9a-fA-F]_*)",
    re.ASCII,
)
_FLOAT: Final = re.compile(
    r"[-+]?(?:[0-9][0-9_]*\.[0-9_]*|\.[0-9][0-9_]*|[0-9][0-9_]*(?=[eE]))(?:[eE][-+]?[0-9]+)?"
    r"|[-+]?\.(?:inf|Inf|INF)|\.(?:nan|NaN|NAN)",
    re.ASCII,
)
_MERGE: Final = "<<"
_NOTHING: Final = object()


class YamlError(Exception):
    """It is no YAML, or says what no manifest can; the message says where and what."""


@dataclass(slots=True)
class _Open:
    """A list or mapping whose end has not come yet."""

    value: list[Any] | dict[str, Any]
    anchor: str | None
    size: int = 1
    """Values in it so far, itself included."""
    key: Any = _NOTHING
    """Of a mapping, the key whose value comes next."""
    merged: list[dict[str, Any]] = field(default_factory=list[dict[str, Any]])
    """Of a mapping, what `<<` takes in; the first one wins."""


@dataclass(slots=True)
class _Build:
    """One document on its way from events to a value."""

    root: Any = None
    stack: list[_Open] = field(default_factory=list[_Open])
    anchors: dict[str, tuple[Any, int]] = field(default_factory=dict[str, tuple[Any, int]])
    """Name -> value and its size; `_NOTHING` while its end has not come yet."""

    def begin(self, event: Any, value: list[Any] | dict[str, Any]) -> None:
        """A list or mapping begins."""
        if len(self.stack) >= DEPTH_MAX:
            raise _refused(event, f"nested deeper than {DEPTH_MAX} levels")
        kind = "map" if isinstance(value, dict) else "seq"
        if event.tag not in {None, "!", _TAG + kind}:
            raise _refused(event, f"the tag {event.tag!r} means nothing in a manifest")
        if self.stack and self._awaits_key():
            raise _refused(event, "a key has to be text")
        if event.anchor is not None:
            self.anchors[event.anchor] = (_NOTHING, 0)
        self.stack.append(_Open(value, event.anchor))

    def end(self, event: Any) -> None:
        """The innermost list or mapping ends."""
        closed = self.stack.pop()
        value = closed.value
        if isinstance(value, dict) and closed.merged:
            own, value = value, {}
            for each in reversed(closed.merged):
                value |= each
            value |= own
        self._add(event, value, closed.size, closed.anchor)

    def scalar(self, event: Any) -> None:
        """A single value."""
        if self.stack and self._awaits_key():
            self._begin_entry(event, _scalar(event))
        else:
            size = 1 + len(event.value) // LETTERS_PER_VALUE
            self._add(event, _scalar(event), size, event.anchor)

    def alias(self, event: Any) -> None:
        """What was named before, once more."""
        value, size = self.anchors.get(event.anchor, (None, -1))
        if size < 0:
            raise _refused(event, f"nothing is named &{event.anchor}")
        if value is _NOTHING:
            raise _refused(event, f"*{event.anchor} stands inside of what it names")
        if self.stack and self._awaits_key():
            self._begin_entry(event, value)
        else:
            self._add(event, value, size, None)

    def _awaits_key(self) -> bool:
        top = self.stack[-1]
        return isinstance(top.value, dict) and top.key is _NOTHING

    def _begin_entry(self, event: Any, key: Any) -> None:
        if isinstance(key, dict | list):
            raise _refused(event, "a key has to be text")
        top = self.stack[-1]
        text = _key(key)
        is_merge = text == _MERGE and getattr(event, "implicit", (False,))[0]
        if not is_merge and text in cast("dict[str, Any]", top.value):
            raise _refused(event, f"the key {text[:SHOWN_MAX]!r} is given twice")
        top.key = None if is_merge else text

    def _add(self, event: Any, value: Any, size: int, anchor: str | None) -> None:
        """Put a finished value where it belongs."""
        if anchor is not None:
            self.anchors[anchor] = (value, size)
        if not self.stack:
            self.root = value
            return
        top = self.stack[-1]
        top.size += size
        if top.size > VALUES_MAX:
            raise _refused(
                event,
                f"more than {VALUES_MAX} values, aliases written out: split it, or give it as JSON",
            )
        if isinstance(top.value, list):
            top.value.append(value)
            return
        key, top.key = top.key, _NOTHING
        if key is not None:
            top.value[key] = value
            return
        sources = cast("list[Any]", value) if isinstance(value, list) else [value]
        if not all(isinstance(each, dict) for each in sources):
            raise _refused(event, "<< merges mappings; this is none")
        top.merged += sources


def documents(content: bytes) -> Iterator[Any]:
    """The documents of a YAML stream, one after the other, as plain values; an empty one is None.

    Raises:
        YamlError: It cannot be read on.
    """
    build = _Build()
    try:
        for event in yaml.parse(content, Loader=yaml.CSafeLoader):
            kind = type(event)
            if kind is yaml.ScalarEvent:
                build.scalar(event)
            elif kind is yaml.AliasEvent:
                build.alias(event)
            elif kind is yaml.SequenceStartEvent:
                build.begin(event, [])
            elif kind is yaml.MappingStartEvent:
                build.begin(event, {})
            elif kind in {yaml.SequenceEndEvent, yaml.MappingEndEvent}:
                build.end(event)
            elif kind is yaml.DocumentStartEvent:
                build = _Build()
            elif kind is yaml.DocumentEndEvent:
                yield build.root
    except yaml.YAMLError as error:
        raise YamlError(_said(error)) from error


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


def _refused(event: Any, why: str) -> YamlError:
    mark = event.start_mark
    return YamlError(f"line {mark.line + 1}, column {mark.column + 1}: {why}")


def _key(key: Any) -> str:
    if isinstance(key, bool):
        return "true" if key else "false"
    return "null" if key is None else str(key)


def _scalar(event: Any) -> Any:
    """The value of a scalar: what its tag says, or without one what a plain word looks like."""
    text, tag = str(event.value), event.tag
    if tag is None:
        if not event.implicit[0]:
            return text
        if _NULL.fullmatch(text):
            return None
        if _BOOL.fullmatch(text):
            return _bool(event, text)
        if _INT.fullmatch(text):
            return _int(event, text)
        return _float(event, text) if _FLOAT.fullmatch(text) else text
    if tag in {"!", _TAG + "str"}:
        return text
    tagged = {
        _TAG + "null": _null,
        _TAG + "bool": _bool,
        _TAG + "int": _int,
        _TAG + "float": _float,
    }
    if tag not in tagged:
        raise _refused(event, f"the tag {tag!r} means nothing in a manifest")
    return tagged[tag](event, text)


def _null(_event: Any, _text: str) -> None:
    return None


def _bool(event: Any, text: str) -> bool:
    if not _BOOL.fullmatch(text):
        raise _refused(event, f"{text[:SHOWN_MAX]!r} is no boolean")
    return text.lower() in {"yes", "true", "on"}


def _int(event: Any, text: str) -> int:
    plain = text.replace("_", "")
    sign, digits = (-1, plain[1:]) if plain.startswith("-") else (1, plain.removeprefix("+"))
    bases = {"0b": 2, "0x": 16, "0o": 8}
    base = bases.get(digits[:2], 8 if digits.startswith("0") and len(digits) > 1 else 10)
    try:
        number = sign * int(digits[2:] if digits[:2] in bases else digits, base)
    except ValueError:
        raise _refused(event, f"{text[:SHOWN_MAX]!r} is no whole number") from None
    if abs(number) > INTEGER_MAX:
        raise _refused(event, f"{text[:SHOWN_MAX]!r} is no whole number that fits 64 bits")
    return number


def _float(event: Any, text: str) -> float:
    try:
        number = float(text.replace("_", ""))
    except ValueError:
        number = math.nan
    if not math.isfinite(number):
        raise _refused(event, f"{text[:SHOWN_MAX]!r} is no number that JSON has")
    return number
