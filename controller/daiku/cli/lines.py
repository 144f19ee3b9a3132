"""Sentences for people: on a terminal broken between words, elsewhere one line each, which programs can search."""

import codecs
import io
import os
import shutil
import sys
import textwrap
from typing import Final, TextIO

import typer

WIDTH_LEAST: Final = 40
"""Columns; a terminal that says less is not believed."""

_PLAIN: Final = {"→": ">", "…": ".", "·": "-", "█": "#", "░": "."}
"""What stands for a character where the locale has none for it, as wide as that one."""
_HANDLER: Final = "daiku.plain"


def allow_any_locale() -> None:
    """Where standard output or error cannot hold every character, write plain ones instead of failing."""
    codecs.register_error(_HANDLER, _plainly)
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper) and "utf" not in stream.encoding.lower():
            stream.reconfigure(errors=_HANDLER)


def _plainly(error: UnicodeError) -> tuple[str, int]:
    if not isinstance(error, UnicodeEncodeError):
        raise error
    unknown = error.object[error.start : error.end]
    return "".join(_PLAIN.get(each, "?") for each in unknown), error.end


def say(text: str, *, first: str = "", rest: str = "", err: bool = False) -> None:
    """Print a sentence.

    Args:
        text: The sentence.
        first: What stands before it.
        rest: What stands before the lines that follow on a terminal.
        err: On standard error.
    """
    typer.echo(folded(text, first=first, rest=rest, err=err), err=err)


def folded(text: str, *, first: str = "", rest: str = "", err: bool = False) -> str:
    """The sentence as `say` prints it."""
    stream = sys.stderr if err else sys.stdout
    if not stream.isatty():
        return f"{first}{text}"
    width = max(_columns(stream), WIDTH_LEAST)
    return textwrap.fill(
        text,
        width=width,
        initial_indent=first,
        subsequent_indent=rest,
        # Names that are too long for a line can still be copied.
        break_long_words=False,
        break_on_hyphens=False,
    )


def _columns(stream: TextIO) -> int:
    """How wide the terminal is that `stream` writes to, which the other stream may not."""
    if os.environ.get("COLUMNS", "").isdecimal():
        return int(os.environ["COLUMNS"])
    try:
        return os.get_terminal_size(stream.fileno()).columns
    except OSError:
        return shutil.get_terminal_size().columns


def note(text: str) -> None:
    """Say what should be known of a result, on standard error."""
    say(text, first="note: ", rest="  ", err=True)
