"""What a person reads on a terminal: sentences are broken between words, and no command of a list is cut."""

import inspect
import os
import shutil
import sys
import textwrap
from contextlib import suppress
from typing import TextIO

import typer

WIDTH_LEAST = 40
"""Columns; a terminal that says less is not believed."""


def folded(text: str, stream: TextIO) -> str:
    """Each line of `text` broken between words where `stream` is a terminal; elsewhere as it is, to be searched."""
    if not stream.isatty():
        return text
    width = max(_columns(stream), WIDTH_LEAST)
    return "\n".join(
        textwrap.fill(
            line,
            width,
            initial_indent=line[: len(line) - len(line.lstrip())],
            subsequent_indent="  ",
            # Addresses and names can still be copied.
            break_long_words=False,
            break_on_hyphens=False,
        )
        for line in text.split("\n")
    )


def _columns(stream: TextIO) -> int:
    """How wide the terminal is that `stream` writes to, which the other stream may not."""
    if os.environ.get("COLUMNS", "").isdecimal():
        return int(os.environ["COLUMNS"])
    try:
        return os.get_terminal_size(stream.fileno()).columns
    except OSError:
        return shutil.get_terminal_size().columns


def error(message: str) -> None:
    """What went wrong, on standard error, unless its terminal has closed."""
    with suppress(OSError):
        typer.secho(folded(f"error: {message}", sys.stderr), err=True, fg=typer.colors.RED)


def progress(line: str) -> None:
    """What is being done, on standard error, unless its terminal has closed: the work goes on."""
    with suppress(OSError):
        typer.echo(folded(line, sys.stderr), err=True)


def list_whole(app: typer.Typer) -> None:
    """List each command with its whole first paragraph."""
    for each in app.registered_commands:
        said = each.help or inspect.getdoc(each.callback) or ""
        each.short_help = " ".join(said.partition("\n\n")[0].split())
