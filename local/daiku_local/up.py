"""`daiku local up`: a world that runs, whatever was there before.

A world that is up stays as it is. One that is not whole (a part died, an earlier `up` was killed, the
machine was restarted) is stopped and made anew: AWS and the cluster must agree, and AWS is only in
memory. A port that another program took first means another try, not a failure.
"""

import datetime as dt
import os
import secrets
import time
from collections.abc import Callable
from pathlib import Path

from daiku_local import assembly, down, interruption, processes, toolchain, world, world_folder
from daiku_local.control_plane import ports
from daiku_local.control_plane.commands import Settings

TRIES = 3
"""How often ports are chosen before giving up; losing even one is rare."""
REGION = "us-west-2"
"""The AWS region that is played."""


class UpError(Exception):
    """The world could not be started; the message says which part, what it said last, what to do."""


def up(
    folder: Path,
    tools: toolchain.Tools,
    now: dt.datetime,
    report: Callable[[str], None],
    *,
    choose_ports: Callable[[], ports.Ports] = ports.choose,
) -> world.World:
    """Give a world in `folder` that is up.

    Raises:
        UpError: A part could not be started, or a world of another version of Kubernetes than
            $DAIKU_KUBERNETES names is up.
        ForeignFolderError: The folder is not a world's.
    """
    with world_folder.held(folder, report):
        if (found := _running(folder)) is not None:
            _refuse_another_version(found)
            report(f"the laptop world in {folder} is up")
            return found
        _remove_remains(folder, report)
        tries_left = TRIES
        while True:
            tries_left -= 1
            try:
                return _build(folder, tools, choose_ports(), now, report)
            except processes.PartFailedError as error:
                if not error.port_was_taken or tries_left == 0:
                    raise _explained(folder, tools, error) from error
                report(f"  {error.process.name}: another program took its port; choosing new ports")
                world_folder.clear(folder, keep_logs=False)


def missing_parts(found: world.World) -> list[str]:
    """Names of the parts of a world that do not run."""
    living = {process.name for process in found.processes if processes.is_alive(process)}
    return [name for name in assembly.PARTS if name not in living]


def require(found: world.World, report: Callable[[str], None]) -> None:
    """See to it that a command can work with `found`; a part that died is reported.

    Raises:
        NoWorldError: Nothing of it runs.
    """
    dead = missing_parts(found)
    if len(dead) == len(assembly.PARTS):
        raise world.NoWorldError(
            f"the laptop world in {found.folder} does not run any more, as after a restart of the "
            "machine: start a new one with `daiku local up`"
        )
    if dead:
        report(f"dead parts of the laptop world: {', '.join(dead)}; `daiku local up` makes it anew")


def _running(folder: Path) -> world.World | None:
    """The world in `folder`, if it is whole."""
    try:
        found = world.load(folder)
    except world.NoWorldError:
        return None
    is_whole = not missing_parts(found) and (folder / assembly.AGENT_READY).exists()
    return found if is_whole else None


def _refuse_another_version(found: world.World) -> None:
    """A world that is up is never another than the one that was asked for; who asks for none takes any."""
    if not os.environ.get(toolchain.VARIABLE):
        return
    if (wanted := toolchain.kubernetes_version()) != found.kubernetes_version:
        raise UpError(
            f"the laptop world in {found.folder} runs Kubernetes {found.kubernetes_version}, and "
            f"{toolchain.VARIABLE} asks for {wanted}: run `daiku local down` first, or give the new "
            "world another folder with DAIKU_WORLD"
        )


def _remove_remains(folder: Path, report: Callable[[str], None]) -> None:
    if (folder / world.FILE_NAME).exists():
        stopped = down.stop_all(folder)
        names = ", ".join(process.name for process in stopped) or "nothing of it ran"
        report(f"the earlier world in {folder} was not whole; stopped what was left: {names}")
    world_folder.clear(folder, keep_logs=False)


def _build(
    folder: Path,
    tools: toolchain.Tools,
    chosen: ports.Ports,
    now: dt.datetime,
    report: Callable[[str], None],
) -> world.World:
    """One try. When it fails or is interrupted, nothing runs any more and only the logs are left."""
    began = time.monotonic()
    report(f"starting a laptop world in {folder}")
    settings = Settings(world=_plan(folder, chosen), ports=chosen, tools=tools.folder)
    built = assembly.Assembly(settings, report)
    try:
        built.prepare(now)
        report(f"  {'keys and certificates':<24} made after {time.monotonic() - began:5.1f} s")
        built.run()
    except BaseException:
        with interruption.shielded(report):
            down.stop_all(folder)
            world_folder.clear(folder, keep_logs=True)
        raise
    report(f"the laptop world is up after {time.monotonic() - began:.1f} s")
    return built.world


def _plan(folder: Path, chosen: ports.Ports) -> world.World:
    issuer = f"https://oidc.eks.{REGION}.amazonaws.com/id/{secrets.token_hex(16).upper()}"
    return world.World(
        folder=str(folder),
        region=REGION,
        kubernetes_endpoint=f"https://127.0.0.1:{chosen.apiserver}",
        kubernetes_version=toolchain.kubernetes_version(),
        service_account_issuer=issuer,
        aws_endpoint=f"http://127.0.0.1:{chosen.aws}",
        door_endpoint=f"http://127.0.0.1:{chosen.door}",
    )


def _explained(folder: Path, tools: toolchain.Tools, error: processes.PartFailedError) -> UpError:
    log = folder / world_folder.LOGS / f"{error.process.name}.log"
    said = "\n".join(f"  | {line}" for line in error.lines) or "  | (nothing)"
    return UpError(
        f"{error}. It said last:\n{said}\n"
        f"  everything that was started is stopped again; the whole log is {log}\n"
        "  remedy: mend what the log names, then `daiku local up` again (a tool that is broken is "
        f"made anew when you remove {tools.folder})"
    )
