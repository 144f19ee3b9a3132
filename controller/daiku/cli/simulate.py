"""`daiku simulate`: the command line. What it does is in `simulating`, imported only when it is asked for."""

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final

import typer

from daiku.cli import failure, lines

if TYPE_CHECKING:
    from daiku.cli.simulating.playing import Played

UNUSABLE: Final = 2
"""Exit code when the input cannot be used."""

HELP: Final = """Play a day of pods against one or several configurations, in simulated time.

What it would cost, how long pods would wait for a node, what would be disrupted, how full nodes would be. The decisions
are the controller's own; the cloud, the scheduler and the pods are simulated. The same input gives the same result.

\b
Examples:
  daiku simulate examples/simulate/day.yaml
  daiku simulate day.yaml --config spot.yaml --config on-demand.yaml --report day.html
  daiku simulate nodepools.yaml --trace pods.csv --instance-types now.json --json

A file holds a `kind: Scenario` (workloads, faults, prices), NodePools, and Deployments, which keep their replicas. A
--config replaces the NodePools and whatever else it names. docs/simulate.md says what a scenario and a trace can hold.

Exit code: 0 simulated; 2 the input cannot be used.
"""


def simulate(
    *,
    sources: Annotated[
        list[str],
        typer.Argument(metavar="FILE...", help="Scenario and manifests: files, folders, or -."),
    ],
    configs: Annotated[
        list[str] | None,
        typer.Option("--config", metavar="FILE", help="One configuration to compare. Repeatable."),
    ] = None,
    traces: Annotated[
        list[str] | None,
        typer.Option(
            "--trace", metavar="FILE", help="Recorded pods: CSV or JSON lines. Repeatable."
        ),
    ] = None,
    instance_types: Annotated[
        str,
        typer.Option(
            metavar="FILE",
            help="What can be bought: a `daiku snapshot`, a list as Karpenter's kwok provider has it, or `built-in`.",
        ),
    ] = "",
    seed: Annotated[int | None, typer.Option(help="Instead of the scenario's own.")] = None,
    built_in_node_pool: Annotated[
        bool,
        typer.Option(
            "--built-in-nodepool",
            help="Simulate a NodePool of daiku's own (linux, amd64, on-demand) when the input has none.",
        ),
    ] = False,
    report: Annotated[
        str, typer.Option(metavar="FILE", help="Also write one HTML page with plots.")
    ] = "",
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON, with all samples.")] = False,
) -> None:
    """Read, play, write."""
    from daiku.api.manifests import ManifestError  # noqa: PLC0415  (what is imported here, no other command should pay)
    from daiku.cli import progress  # noqa: PLC0415
    from daiku.cli.simulating import playing  # noqa: PLC0415

    request = playing.Request(
        sources=tuple(sources),
        configs=tuple(configs or ()),
        traces=tuple(traces or ()),
        instance_types=instance_types,
        seed=seed,
        built_in_node_pool=built_in_node_pool,
    )
    try:
        with progress.Progress() as shown:
            played = playing.play(request, sys.stdin.buffer, shown.step)
    except ManifestError as error:
        failure.fail(error.problems, UNUSABLE)
    _print(played, as_json=as_json)
    if report:
        _write(played, Path(report))


def _print(played: "Played", *, as_json: bool) -> None:
    from daiku.cli import render_table  # noqa: PLC0415
    from daiku.cli.simulating import tables  # noqa: PLC0415

    if as_json:
        typer.echo(json.dumps(tables.json_of(played.scenario, played.results), indent=1))
    else:
        shown = [("", tables.compared(played.results))]
        shown.append(("Where the money went", tables.costs(played.results)))
        typer.echo(render_table.tables(shown, colour=sys.stdout.isatty()), nl=False)
        for each in played.results:
            for why, count in each.why_not.items():
                typer.echo(f"{each.name}: {count} without a place: {why}")
    for note in played.notes:
        lines.note(note)


def _write(played: "Played", path: Path) -> None:
    from daiku.cli.simulating import page, plots  # noqa: PLC0415

    try:
        path.write_text(page.write(played.scenario, played.results, played.notes), "utf-8")
    except plots.MissingLibraryError as error:
        failure.fail([str(error)], UNUSABLE)
    except OSError as error:
        failure.fail([f"{path}: {error.strerror}; give a file that can be written"], UNUSABLE)
    typer.echo(f"report: {path}", err=True)
