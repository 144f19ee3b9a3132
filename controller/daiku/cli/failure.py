"""How a command ends when it cannot do what it was asked."""

from collections.abc import Iterable
from typing import NoReturn

import typer


def fail(problems: Iterable[str], code: int) -> NoReturn:
    """Say each problem on standard error and end with an exit code."""
    for problem in problems:
        typer.secho(f"error: {problem}", err=True, fg=typer.colors.RED)
    raise typer.Exit(code) from None
