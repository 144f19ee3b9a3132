"""How a command ends when it cannot do what it was asked."""

from collections.abc import Iterable
from typing import NoReturn

import typer

from daiku.cli import lines


def say(problems: Iterable[str]) -> None:
    """Say each problem on standard error."""
    for problem in problems:
        text = lines.folded(problem, first="error: ", rest="  ", err=True)
        typer.secho(text, err=True, fg=typer.colors.RED)


def fail(problems: Iterable[str], code: int) -> NoReturn:
    """Say each problem and end the command with an exit code."""
    say(problems)
    raise typer.Exit(code) from None
