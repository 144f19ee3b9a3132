"""Help that fits the terminal: examples too wide for it are broken so that they can still be copied."""

import textwrap
from typing import Final

_MARK: Final = "\b"
"""A paragraph that begins with this is printed line by line as it is."""
_INDENT: Final = 2
"""Columns that stand before every line of a help."""


def short(text: str) -> str:
    """The first paragraph, for the list of all commands, where it is broken between words and never cut."""
    return " ".join(text.partition("\n\n")[0].split())


def fitted(text: str, columns: int | None) -> str:
    """A help whose lines that are printed as they are fit on a terminal of so many columns; None: as it is."""
    if columns is None:
        return text
    return "\n\n".join(
        _fitted(paragraph, columns - _INDENT) if paragraph.startswith(_MARK) else paragraph
        for paragraph in text.split("\n\n")
    )


def _fitted(paragraph: str, width: int) -> str:
    lines = paragraph.split("\n")
    if any(len(each) > width for each in lines):
        # Where one remark has no room beside its command, all stand above.
        lines = [line for each in lines for line in _remark_first(each)]
    return "\n".join(line for each in lines for line in _broken(each, width))


def _remark_first(line: str) -> list[str]:
    command, _, remark = line.partition("  # ")
    return [f"{_indent(line)}# {remark}", command.rstrip()] if remark else [line]


def _broken(line: str, width: int) -> list[str]:
    if len(line) <= width:
        return [line]
    indent = _indent(line)
    lines = textwrap.wrap(
        line.strip(),
        width - len(" \\"),
        initial_indent=indent,
        subsequent_indent=f"{indent}    ",
        break_long_words=False,
        break_on_hyphens=False,
    )
    return [*(f"{each} \\" for each in lines[:-1]), lines[-1]]


def _indent(line: str) -> str:
    return line[: len(line) - len(line.lstrip())]
