"""The root of the command line, and `daiku run`.

Commands of other packages come through the entry point group `daiku.commands`: a Typer app is mounted under the entry
point's name. The image holds none, so there it is `run` and what follows it.
"""

import errno
import os
import shutil
import sys
from collections.abc import Sequence
from typing import Annotated, Final

import typer

from daiku.cli import (
    convert,
    doctor,
    explain,
    failure,
    helping,
    lines,
    plan,
    roll,
    simulate,
    snapshot,
    view,
)
from daiku.runtime import garbage, options

GROUP: Final = "daiku.commands"
ANSWERS: Final = frozenset({"doctor", "explain", "plan"})
"""Commands that read much, give one answer, and end."""
FULL: Final = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EFBIG})
"""Why a write fails that has nowhere to go."""

COMPLETES: Final = "_DAIKU_COMPLETE"
"""Set by the function of a shell that asks for completions; the name is typer's."""

COLUMNS: Final = shutil.get_terminal_size().columns if sys.stdout.isatty() else None
"""How wide the terminal is; None where there is none."""

app = typer.Typer(
    name="daiku",
    help="A node autoscaler for Kubernetes that speaks Karpenter's API.",
    no_args_is_help=True,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
)


def _version(is_asked: bool) -> None:  # noqa: FBT001  (as typer calls it)
    if is_asked:
        from importlib import metadata  # noqa: PLC0415

        typer.echo(f"daiku {metadata.version('daiku')}")
        raise typer.Exit


@app.callback()
def _root(
    *,
    _is_version_asked: Annotated[
        bool,
        typer.Option(
            "--version", callback=_version, is_eager=True, help="Say which version this is."
        ),
    ] = False,
) -> None:
    """Keeps `run` a command of its own even when it is the only one."""


@app.command(
    context_settings={"ignore_unknown_options": True, "allow_extra_args": True},
    help="Run the controller. Options come from flags, then from the environment:\n\n\b\n"
    + options.describe(COLUMNS),
    short_help="Run the controller.",
)
def run(context: typer.Context) -> None:
    """Run the controller until it is told to stop."""
    try:
        chosen = options.read(context.args, os.environ)
    except options.OptionsError as error:
        typer.secho(f"error: {error}", err=True, fg=typer.colors.RED)
        raise typer.Exit(2) from None
    # Its imports take half a second, which no other command should pay.
    from daiku import app as application  # noqa: PLC0415

    raise typer.Exit(application.run(chosen, os.environ))


for _name, _command, _help in (
    ("convert", convert.convert, convert.HELP),
    ("doctor", doctor.doctor, doctor.HELP),
    ("explain", explain.explain, explain.HELP),
    ("plan", plan.plan, plan.HELP),
    ("roll", roll.roll, roll.HELP),
    ("simulate", simulate.simulate, simulate.HELP),
    ("snapshot", snapshot.snapshot, snapshot.HELP),
    ("view", view.view, view.HELP),
):
    app.command(_name, help=helping.fitted(_help, COLUMNS), short_help=helping.short(_help))(
        _command
    )


def main() -> None:
    """The program `daiku`."""
    garbage.collect_rarely()
    lines.allow_any_locale()
    words = _words()
    if words[:1] == ["instance-types"]:
        # boto3 alone takes a third of a second, which no other command should pay.
        from daiku.cli import instance_types  # noqa: PLC0415

        app.command("instance-types")(instance_types.show)
    else:
        said = "Show every instance type as the controller sees it."
        app.command("instance-types", help=said, short_help=said)(_later)
    if not words or words[0] not in {each.name for each in app.registered_commands}:
        _mount(words)
    if ANSWERS.intersection(words[:1]):
        garbage.run_once(_run)
    else:
        _run()


def _later() -> None:
    """Stands for a command that is listed, and not imported."""


def _run() -> None:
    """Run the command; an answer that finds no room, which is most often a full disk, is an error like any other."""
    try:
        try:
            app()
        finally:
            sys.stdout.flush()
    except OSError as error:
        if error.errno not in FULL:
            raise
        # What is left in the buffer would fail once more at the end.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        failure.say([f"the answer could not be written to its end: {error.strerror}"])
        sys.exit(1)


def _mount(words: Sequence[str]) -> None:
    """Add the commands of other packages. To look for them takes as long as the rest of a small command."""
    from importlib import metadata  # noqa: PLC0415

    for entry in metadata.entry_points(group=GROUP):
        # Only what is asked for is imported: the laptop world is heavy.
        if words[:1] == [entry.name]:
            app.add_typer(entry.load(), name=entry.name)
        elif not words or words[0].startswith("-") or _is_completing():
            app.add_typer(
                typer.Typer(help=f"More in `daiku {entry.name} --help`."), name=entry.name
            )


def _words() -> list[str]:
    """The command line, or the one that a shell wants to be completed, without the program."""
    if not _is_completing():
        return sys.argv[1:]
    # Where typer has them: bash in the first, zsh and fish in the second.
    line = os.environ.get("COMP_WORDS") or os.environ.get("_TYPER_COMPLETE_ARGS", "")
    return line.split()[1:]


def _is_completing() -> bool:
    return COMPLETES in os.environ
