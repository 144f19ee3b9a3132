"""`daiku plan`: the command line of a forecast. What it does is in `planning`, imported only when it is asked for."""

import sys
import time
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated, Final, cast

import typer

from daiku.cli import failure, lines

if TYPE_CHECKING:
    from collections.abc import Callable

UNSOUND: Final = 3
"""Exit code with --strict when a pod fits nowhere, or got a place that the cluster may refuse."""
UNUSABLE: Final = 2
"""Exit code when the input cannot be used."""

HELP: Final = """Show which nodes would be made for the pods that have none, and what they would cost.

Also how near that is to the least possible price, what fits nowhere, and why. Reads manifests, any Kubernetes list,
or a `daiku snapshot`, and needs no cluster. The decision is the controller's own.

\b
Examples:
  daiku plan --from web.yaml --built-in-nodepool
  daiku plan --from manifests/ --from 'more/*.json' --nodepools pools.yaml
  kubectl kustomize overlays/prod | daiku plan --from - --nodepools pools.yaml
  helm template my-chart | daiku plan --from - --nodepools pools.yaml
  kubectl get deploy,sts,jobs,ds,pods,nodes,nodeclaims -A -o json | daiku plan --from -
  daiku snapshot -o now.json && daiku plan --from now.json
  daiku plan --from now.json --against pools.yaml --format markdown

Deployments, StatefulSets, ReplicaSets, ReplicationControllers, Jobs and Rollouts of Argo are expanded to the pods that
are missing in the input; a DaemonSet counts on every node that it matches. NodePools and node classes are judged as an
API server would judge them. A pod without a node counts as pending. Of two objects of one kind and name the
later one is used.

With --against, a second configuration is planned too and the difference is shown. Its NodePools stand in for all of
the first's, its workloads for all that do not come from a live cluster; anything else replaces what has its name. Nodes
of NodePools that it takes away, or that would drift by it, are not there any more, and their pods wait.

Exit code: 0 the plan is made; 2 the input cannot be used; with --strict 3 when a pod fits nowhere, or when one is
planned without a constraint that is not modelled yet.
"""


class Format(StrEnum):
    """How the plan is written."""

    TABLE = "table"
    JSON = "json"
    MARKDOWN = "markdown"


_TimeBox = Annotated[
    float | None,
    typer.Option(
        metavar="SECONDS",
        min=0.0,
        help="End the search for cheaper nodes after so many seconds, with the best it has found. Without it, it "
        "takes as long as it takes, and finds the same each time.",
    ),
]

_InstanceTypes = Annotated[
    str,
    typer.Option(
        metavar="FILE",
        help="What can be bought: a JSON list in the format of Karpenter's kwok provider, a `daiku snapshot`, or "
        "`built-in` for made-up types. Without it: what the input holds, else EC2's types at list prices.",
    ),
]
_BuiltInNodePool = Annotated[
    bool,
    typer.Option(
        "--built-in-nodepool",
        help="Plan with a NodePool of daiku's own (linux, amd64, on-demand) when the input has none.",
    ),
]


def plan(
    context: typer.Context,
    *,
    sources: Annotated[
        list[str],
        typer.Option(
            "--from",
            metavar="FILE",
            help="Manifests: a YAML or JSON file, a folder (with those in it), a pattern, or - for standard input. "
            "Repeatable.",
        ),
    ],
    node_pools: Annotated[
        list[str] | None,
        typer.Option(
            "--nodepools", metavar="FILE", help="More manifests, for NodePools that are kept apart."
        ),
    ] = None,
    instance_types: _InstanceTypes = "",
    built_in_node_pool: _BuiltInNodePool = False,
    against: Annotated[
        list[str] | None,
        typer.Option(metavar="FILE", help="The second configuration of a comparison."),
    ] = None,
    repack: Annotated[
        bool,
        typer.Option(
            "--repack",
            help="Also say how the NodeClaims of the input could be repacked, and what that would save.",
        ),
    ] = False,
    time_box: _TimeBox = None,
    output: Annotated[
        Format, typer.Option("--format", help="How the plan is written.")
    ] = Format.TABLE,
    strict: Annotated[
        bool, typer.Option("--strict", help="Exit with 3 unless every pod surely gets a place.")
    ] = False,
) -> None:
    """Read the input, decide, write the plan."""
    from daiku.api.manifests import ManifestError  # noqa: PLC0415  (numpy takes 0.1 s that no other command should pay)
    from daiku.cli import planning, progress  # noqa: PLC0415

    # A test gives a clock of its own, so that the output is the same every time.
    timer = cast("Callable[[], float]", context.obj or time.perf_counter)
    request = planning.Request(
        sources=tuple(sources),
        node_pools=tuple(node_pools or ()),
        instance_types=instance_types,
        against=tuple(against or ()),
        built_in_node_pool=built_in_node_pool,
        repack=repack,
        seconds_most=time_box,
        output=output.value,
        colour=sys.stdout.isatty(),
    )
    try:
        with progress.Progress() as shown:
            answer = planning.answer(request, sys.stdin.buffer, shown.step, timer)
    except ManifestError as error:
        failure.fail(error.problems, UNUSABLE)
    for note in answer.notes:
        lines.note(note)
    typer.echo(answer.text, nl=False)
    if strict and not answer.is_sound:
        raise typer.Exit(UNSOUND)
