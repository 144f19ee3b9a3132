"""`daiku local`: the laptop world from the command line.

Each command finds its arguments, calls one module and turns the errors that a person can mend into
one message and exit status 1. Progress goes to standard error, answers to standard output.
"""

import datetime as dt
import os
import sys
from collections.abc import Generator
from contextlib import contextmanager
from enum import StrEnum
from typing import Annotated, NoReturn

import typer
from rich.console import Console

from daiku_local import down as down_module
from daiku_local import (
    environment,
    interruption,
    paths,
    saying,
    toolchain,
    weather_cli,
    world,
    world_folder,
)
from daiku_local import load as load_module
from daiku_local import status as status_module
from daiku_local import up as up_module

app = typer.Typer(
    name="local",
    help="The laptop world: a real Kubernetes control plane and a stand-in AWS.",
    no_args_is_help=True,
    rich_markup_mode=None,
)

app.add_typer(weather_cli.app, short_help="Have the stand-in AWS behave as AWS does on a bad day.")

MENDABLE = (
    world.NoWorldError,
    world_folder.ForeignFolderError,
    toolchain.ToolchainError,
    up_module.UpError,
)
"""Errors whose message says what to do."""
_EXEC_HELP = """Run a command with KUBECONFIG, AWS_* and PULUMI_* of the laptop world.

\b
Examples:
  daiku local exec -- kubectl get nodes
  daiku local exec -- pulumi preview --stack local
  daiku local exec -- daiku view"""


class Format(StrEnum):
    """How an answer is written."""

    table = "table"
    json = "json"


@app.command()
def up() -> None:
    """Start the laptop world, or say that it is up.

    Its folder is .daiku of the checkout, or what DAIKU_WORLD says. `daiku local exec -- COMMAND` works in it.
    DAIKU_KUBERNETES=1.34 gives another minor version of Kubernetes.
    """
    with _mended():
        tools = toolchain.ensure(saying.progress)
        up_module.up(paths.world_folder(), tools, _now(), saying.progress)


@app.command()
def down() -> None:
    """Stop every process of the laptop world and remove its folder."""
    with _mended():
        down_module.down(paths.world_folder(), saying.progress)


@app.command()
def status(
    form: Annotated[Format, typer.Option("--format", help="For people or for programs.")] = (
        Format.table
    ),
) -> None:
    """Show what runs, where it listens and what it uses; exit status 1 if something is dead."""
    with _mended():
        found = world.load(paths.world_folder())
        rows = status_module.observe(paths.world_folder())
    if form is Format.json:
        typer.echo(status_module.as_json(found, rows))
    else:
        Console().print(status_module.as_table(found, rows))
    if dead := [row.name for row in rows if not row.alive]:
        _fail(f"dead: {', '.join(dead)}. `daiku local up` starts the world anew")


@app.command("exec", context_settings={"ignore_unknown_options": True}, help=_EXEC_HELP)
def execute(
    command: Annotated[list[str], typer.Argument(help="The command, after `--`.")],
) -> None:
    """Run a command with KUBECONFIG, AWS_* and PULUMI_* of the laptop world."""
    with _mended():
        found = world.load(paths.world_folder())
        up_module.require(found, saying.progress)
        tools = toolchain.ensure(saying.progress, found.kubernetes_version)
        # `make setup` may have brought other versions of the SDKs.
        environment.install_plugins(paths.world_folder())
    environ = environment.of_commands(found, tools.folder, os.environ)
    try:
        # Without a shell, and in our place: signals and the exit status are the command's own.
        os.execvpe(command[0], command, environ)  # noqa: S606
    except FileNotFoundError:
        _fail(f"{command[0]!r} was not found: give a program that is on the PATH")
    except PermissionError:
        _fail(f"{command[0]!r} may not be run: give a program whose file is executable")


@app.command()
def load(
    service: Annotated[str, typer.Argument(help="NAMESPACE/SERVICE, such as default/web.")],
    clients: Annotated[
        int, typer.Option("--clients", "-c", help="Clients that ask without pause: cores of load.")
    ] = 4,
    seconds: Annotated[float, typer.Option("--seconds", "-t", help="How long.")] = 60.0,
) -> None:
    """Ask the pods behind a Service, as ApacheBench does, so that they have work to do.

    A request takes a tenth of a second of processor time of one of the ready pods; a HorizontalPodAutoscaler sees it.
    """
    with _mended():
        found = world.load(paths.world_folder())
        up_module.require(found, saying.progress)
        done = load_module.run(
            f"{found.door_endpoint}/{service}", clients, seconds, saying.progress
        )
    typer.echo(done.sentence())
    if done.failures:
        _fail(f"{done.failures} requests failed, the last with: {done.problem}")


@app.command()
def demo() -> None:
    """Build the local stack, scale a Deployment out and in, destroy it again.

    KEEP=1 in the environment leaves the world up and says how to go on; REPORT=FILE writes the timings as JSON.
    """
    # Its imports are heavy, and no other command needs them.
    from daiku_local.demo import run  # noqa: PLC0415

    run.main()


@contextmanager
def _mended() -> Generator[None]:
    """Turn errors that a person can mend into a message, and a polite kill into an orderly end."""
    interruption.end_in_order()
    try:
        yield
    except MENDABLE as error:
        _fail(str(error))
    except OSError as error:
        _fail(f"{error}: free space there, or mend its permissions, and run the command again")
    except KeyboardInterrupt:
        saying.progress("interrupted")
        sys.exit(130)


def _fail(message: str) -> NoReturn:
    saying.error(message)
    sys.exit(1)


def _now() -> dt.datetime:
    # The one clock of the laptop world's commands; everything below is given the time.
    return dt.datetime.now(dt.UTC)  # noqa: TID251


saying.list_whole(app)

if __name__ == "__main__":
    app()
