"""Files of YAML as texts, one for each document, and the comments in them.

What a conversion does not change is written as it was read, letter by letter. So a file is taken apart by where its
documents begin, and not by what they mean.
"""

# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false
# The library's types know little of its events.

import json
from collections.abc import Iterator
from typing import Any, Final

import yaml

MARK: Final = "---"
"""Begins a document."""
DEPTH_MAX: Final = 100
"""Nesting of one document; manifests need about 15."""
_BOMS: Final = ((b"\xef\xbb\xbf", "utf-8-sig"), (b"\xff\xfe", "utf-16"), (b"\xfe\xff", "utf-16"))
"""How a file may begin, and what it is written in then."""


class PieceError(ValueError):
    """A file is no YAML; the message says where."""


def decoded(content: bytes) -> str:
    """The text of a file.

    Raises:
        UnicodeDecodeError: It is in another encoding than YAML's.
    """
    encoding = next((name for mark, name in _BOMS if content.startswith(mark)), "utf-8")
    return content.decode(encoding)


def of_json(text: str) -> Any:
    """The value of a file that is JSON; None when it is none."""
    if text.lstrip()[:1] not in {"{", "["}:
        return None
    try:
        return json.loads(text, parse_constant=_refused)
    except (ValueError, RecursionError):
        return None


def split(text: str) -> list[str]:
    """The text of each document, without the marks between them.

    Comments before the first mark belong to the first document, others to the one that they follow.

    Raises:
        PieceError: It is no YAML.
    """
    around: list[str | None] = []
    starts: list[int] = []
    ends: list[int] = []
    try:
        event: Any
        for event in yaml.parse(text, Loader=yaml.CSafeLoader):
            kind = type(event)
            if kind is yaml.DocumentStartEvent:
                if event.tags:
                    raise PieceError(f"line {event.start_mark.line + 1}: %TAG means nothing here")
                starts.append(event.start_mark.index)
            elif kind is yaml.DocumentEndEvent:
                ends.append(event.end_mark.index)
            else:
                _check(event, around)
    except yaml.YAMLError as error:
        raise PieceError(said(error)) from error
    found: list[str] = []
    for number, start in enumerate(starts):
        last = number + 1 == len(starts)
        after = text[ends[number] :] if last else text[ends[number] : starts[number + 1]]
        own = _without_mark(text[start : ends[number]]) + after
        found.append(own if number else text[:start] + own)
    return found


def _check(event: Any, around: list[str | None]) -> None:
    """Refuse what has no end: endless nesting, and an alias in what it names.

    Args:
        event: What comes next in a document.
        around: Names of the lists and mappings around it; is brought up to date.
    """
    place = f"line {event.start_mark.line + 1}, column {event.start_mark.column + 1}"
    if isinstance(event, yaml.CollectionStartEvent):
        around.append(event.anchor)
        if len(around) > DEPTH_MAX:
            raise PieceError(f"{place}: nested deeper than {DEPTH_MAX} levels")
    elif isinstance(event, yaml.CollectionEndEvent):
        around.pop()
    elif isinstance(event, yaml.AliasEvent) and event.anchor in around:
        raise PieceError(f"{place}: *{event.anchor} stands inside of what it names")


def comments(text: str) -> list[str]:
    """The comments of a text, each from its mark to the end of its line, in order.

    Raises:
        PieceError: It is no YAML.
    """
    if "#" not in text:
        return []
    found: list[str] = []
    at = 0
    try:
        for token in yaml.scan(text, Loader=yaml.CSafeLoader):
            start, end = token.start_mark.index, token.end_mark.index
            found += _between(text[at:start])
            if isinstance(token, yaml.ScalarToken) and token.style in {"|", ">"}:
                found += _between(text[start:end].partition("\n")[0])
            at = max(at, end)
    except yaml.YAMLError as error:
        raise PieceError(said(error)) from error
    return [*found, *_between(text[at:])]


def said(error: Exception) -> str:
    """What a YAML library says, in one line."""
    mark = getattr(error, "problem_mark", None) or getattr(error, "context_mark", None)
    what = [getattr(error, name, None) for name in ("context", "problem")]
    if mark is None or not any(what):
        return " ".join(str(error).split())
    parts = ", ".join(str(part) for part in what if part)
    return f"line {mark.line + 1}, column {mark.column + 1}: {' '.join(parts.split())}"


def _between(gap: str) -> Iterator[str]:
    """Comments in what stands between two tokens."""
    for line in gap.splitlines():
        _, mark, rest = line.partition("#")
        if mark:
            yield f"#{rest}".rstrip()


def _without_mark(text: str) -> str:
    """A document without the mark that begins it, and without directives, which say YAML's version."""
    kept = ""
    while text.startswith("%"):
        text = text.partition("\n")[2]
        while text and not text.startswith((MARK, "%")):
            line, end, text = text.partition("\n")
            kept += line + end
    if text.startswith(MARK):
        text = text.removeprefix(MARK).lstrip(" \t").removeprefix("\r\n").removeprefix("\n")
    return kept + text


def _refused(name: str) -> Any:
    raise ValueError(name)
