"""`make demo`: from nothing to a cluster that scales, and back to nothing, timed.

Every step is a command that a person could type, run through `daiku local exec`; what came of it is
read from the API server and from AWS, never from the controller.
"""

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path

from rich.console import Console
from rich.table import Table

from daiku_local import down, interruption, inventory, paths, weather_client, world
from daiku_local.demo.diff import shorten
from daiku_local.demo.observe import Observer, Seen
from daiku_local.demo.show import Display

STACK = "local"
REPLICAS = (5, 100, 0)
"""Sizes that the Deployment is scaled to, in this order."""
PHASE_SECONDS_MAX = 240
"""A phase that takes longer has failed."""
LOOK_EVERY_SECONDS = 0.5
PATIENCE_SECONDS = 10.0
"""How long a command may take to end after an interruption: its world is removed, there is nothing to save."""
SECOND_CHOICES_SHOWN = 3
"""Launches whose first choice was sold out, shown after each phase."""


class DemoError(Exception):
    """A step of the demo did not end as it should; the message says which, and what to look at."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Phase:
    """What scaling to one size came to."""

    replicas: int
    running: int
    nodes: int
    usd_per_hour: float
    seconds: float


def main() -> None:
    """Run the demo. KEEP=1 leaves the world up, REPORT=path writes the timings as JSON."""
    console = Console(highlight=False, markup=False, emoji=False)
    keep = os.environ.get("KEEP", "") not in {"", "0"}
    interruption.end_in_order()
    began = time.monotonic()
    try:
        report = _run_or_explain(console, keep=keep)
    except BaseException as ending:
        # Whatever it is: a terminal that has closed raises OSError at the next line.
        was_told = isinstance(ending, KeyboardInterrupt | SystemExit)
        said = _while_it_takes_lines(console)
        with interruption.shielded(said):
            said(f"\n── {'Interrupted' if was_told else 'Failed'}: stopping what runs")
            down.down(paths.world_folder(), said)
        if isinstance(ending, KeyboardInterrupt):
            sys.exit(130)
        raise
    if report is None:
        sys.exit(1)
    report["seconds"] = round(time.monotonic() - began, 1)
    _summary(console, report)
    if path := os.environ.get("REPORT"):
        Path(path).write_text(json.dumps(report, indent=2) + "\n")
    left: dict[str, int] | None = report.get("left_behind")  # pyright: ignore[reportAssignmentType]
    if left and any(left.values()):
        sys.exit(1)


def _run_or_explain(console: Console, *, keep: bool) -> dict[str, object] | None:
    """The report; None if a step failed, once somebody was told that there is a world to look at."""
    try:
        return _run(console, keep=keep)
    except (DemoError, world.NoWorldError, weather_client.WeatherError) as error:
        console.print(f"\nThe demo stopped: {error}", style="bold red")
        console.print("The world is left as it is, to be looked at; `daiku local down` removes it.")
        return None


def _while_it_takes_lines(console: Console) -> Callable[[str], None]:
    """What prints to a terminal that may have closed."""

    def said(line: str) -> None:
        # rich ends the program where a pipe is broken.
        with suppress(OSError, SystemExit):
            console.print(line)

    return said


def _run(console: Console, *, keep: bool) -> dict[str, object]:
    if (paths.world_folder() / world.FILE_NAME).exists():
        _title(console, "A world from an earlier run is there: removing it")
        _daiku(["local", "down"])
    _title(console, "The laptop world: Kubernetes control plane and stand-in AWS")
    _daiku(["local", "up"])
    here = world.load(paths.world_folder())
    before = inventory.take(here.aws_endpoint, here.region)

    _title(console, "pulumi preview: what the program would build")
    _pulumi(["stack", "select", "--create", STACK])
    _preview(console)
    _title(console, "pulumi up: VPC, EKS, IRSA roles, the controller and its NodePool")
    began = time.monotonic()
    _pulumi(["up", "--stack", STACK, "--yes", "--skip-preview"])
    built = {"created": _resource_count(), "seconds": round(time.monotonic() - began, 1)}

    observer = Observer(here, "default", "app=inflate")
    _title(console, "examples/inflate.yaml: a Deployment whose replicas ask for one CPU each")
    _exec(["kubectl", "apply", "-f", str(paths.project_root() / "examples" / "inflate.yaml")])
    _title(
        console,
        "daiku local weather set contested_pools=1: what every launch wants most is sold out",
    )
    weather_client.put(here.aws_endpoint, {"contested_pools": 1})
    phases = [_scale(console, observer, replicas) for replicas in REPLICAS]
    report: dict[str, object] = {"pulumi": built, "phases": [asdict(phase) for phase in phases]}
    if keep:
        _how_to_go_on(console)
        return report

    _exec(["kubectl", "delete", "deployment", "inflate"])
    _title(console, "pulumi destroy: everything goes, nodes first")
    _pulumi(["destroy", "--stack", STACK, "--yes", "--skip-preview"])
    report["left_behind"] = _left_behind(console, observer, before, here)
    _daiku(["local", "down"])
    return report


def _preview(console: Console) -> None:
    """Show the diff of the preview, a line per resource."""
    text = _output(["pulumi", "preview", "--stack", STACK, "--diff", "--non-interactive"])
    for line in shorten(text.splitlines()):
        console.print(line, overflow="ellipsis", no_wrap=True)
    console.print("The whole diff: daiku local exec -- pulumi preview --stack local --diff")


def _scale(console: Console, observer: Observer, replicas: int) -> Phase:
    _title(console, f"kubectl scale deployment/inflate --replicas {replicas}")
    began = time.monotonic()
    _exec(["kubectl", "scale", "deployment/inflate", f"--replicas={replicas}"])
    with Display(console, f"{replicas} replicas") as display:
        while True:
            seen = observer.look()
            display.update(seen)
            seconds = time.monotonic() - began
            if _settled(seen, replicas):
                break
            if seconds > PHASE_SECONDS_MAX:
                raise DemoError(
                    f"after {PHASE_SECONDS_MAX} s, {seen.running} of {replicas} pods run on "
                    f"{len(seen.nodes)} nodes. "
                    "See `daiku local exec -- kubectl get nodeclaims,pods -o wide` and .daiku/logs/"
                )
            time.sleep(LOOK_EVERY_SECONDS)
    for refused, taken in observer.second_choices()[:SECOND_CHOICES_SHOWN]:
        console.print(f"  EC2 had no {refused}; the same call took {taken}")
    return Phase(
        replicas=replicas,
        running=seen.running,
        nodes=len(seen.nodes),
        usd_per_hour=round(seen.usd_per_hour, 4),
        seconds=round(seconds, 1),
    )


def _settled(seen: Seen, replicas: int) -> bool:
    """Whether every pod runs; for none, whether every node and instance has gone too."""
    if replicas == 0:
        return seen.pods == 0 and not seen.nodes
    return seen.running == seen.pods == replicas


def _left_behind(
    console: Console, observer: Observer, before: inventory.Inventory, here: world.World
) -> dict[str, int]:
    nodes = len(observer.look().nodes)
    extra = inventory.difference(before, inventory.take(here.aws_endpoint, here.region))
    for kind, names in extra.items():
        console.print(f"  left behind: {kind}: {', '.join(names)}", style="red")
    instances = len(extra.pop("ec2:instance", []))
    return {
        "instances": instances,
        "nodes": nodes,
        "aws_resources": sum(len(names) for names in extra.values()),
    }


def _resource_count() -> int:
    """Resources that the engine counts in a preview: all in the stack's state but providers that it made itself."""
    state = json.loads(_output(["pulumi", "stack", "export", "--stack", STACK]))
    return counted(each["urn"] for each in state["deployment"].get("resources", []))


def counted(urns: Iterable[str]) -> int:
    """How many of these resources a preview counts."""
    return sum(
        not ("::pulumi:providers:" in urn and urn.rpartition("::")[2].startswith("default"))
        for urn in urns
    )


def _summary(console: Console, report: dict[str, object]) -> None:
    _title(console, "Timings")
    table = Table(box=None, pad_edge=False)
    for column in ("STEP", "SECONDS", "PODS RUNNING", "NODES", "$/H"):
        table.add_column(column, justify="left" if column == "STEP" else "right")
    built: dict[str, object] = report["pulumi"]  # pyright: ignore[reportAssignmentType]
    table.add_row(f"pulumi up ({built['created']} resources)", str(built["seconds"]))
    phases: list[dict[str, object]] = report["phases"]  # pyright: ignore[reportAssignmentType]
    for phase in phases:
        row = [str(phase[key]) for key in ("seconds", "running", "nodes", "usd_per_hour")]
        table.add_row(f"scale to {phase['replicas']}", *row)
    table.add_row("everything", str(report["seconds"]))
    console.print(table)
    left: dict[str, int] | None = report.get("left_behind")  # pyright: ignore[reportAssignmentType]
    if left is not None:
        console.print("Left behind: " + ", ".join(f"{n} {kind}" for kind, n in left.items()))


def _how_to_go_on(console: Console) -> None:
    console.print(
        "\nThe world stays up. Try:\n"
        "  .venv/bin/daiku local exec -- kubectl get nodes,nodeclaims\n"
        "  .venv/bin/daiku local exec -- kubectl scale deployment/inflate --replicas 20\n"
        "  .venv/bin/daiku local exec -- pulumi stack output --stack local\n"
        "  .venv/bin/daiku local down        # stop everything and remove it"
    )


def _title(console: Console, text: str) -> None:
    console.print(f"\n── {text}", style="bold")


def _command(arguments: Sequence[str]) -> list[str]:
    return [str(Path(sys.prefix) / "bin" / "daiku"), *arguments]


def _daiku(arguments: Sequence[str]) -> None:
    _check(_command(arguments))


def _exec(arguments: Sequence[str]) -> None:
    _check(_command(["local", "exec", "--", *arguments]))


def _pulumi(arguments: Sequence[str]) -> None:
    _exec(["pulumi", *arguments, "--non-interactive"])


def _check(command: Sequence[str]) -> None:
    sys.stdout.flush()
    code = interruption.run(
        command, folder=paths.project_root(), patience_seconds=PATIENCE_SECONDS
    ).returncode
    if code != 0:
        raise DemoError(
            f"`{' '.join(command[1:])}` ended with exit code {code}; its message is above"
        )


def _output(arguments: Sequence[str]) -> str:
    command = _command(["local", "exec", "--", *arguments])
    done = interruption.run(
        command,
        folder=paths.project_root(),
        output=subprocess.PIPE,
        patience_seconds=PATIENCE_SECONDS,
    )
    if done.returncode != 0:
        sys.stdout.write(done.stdout)
        raise DemoError(f"`{' '.join(arguments)}` ended with exit code {done.returncode}")
    return done.stdout
