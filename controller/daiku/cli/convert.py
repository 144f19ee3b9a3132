"""`daiku convert`: the command line. What it does is in `converting`, imported only when it is asked for."""

import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated, Final

import typer

from daiku.cli import failure, lines
from daiku.model import units

if TYPE_CHECKING:
    from daiku.cli.converting.groups import Group
    from daiku.cli.converting.tree import Document, Tree

MANIFESTS_MOST: Final = 8 << 20
"""Bytes of a file: to keep comments it is taken apart slowly, up to 16 s for a MiB, two minutes for this much."""
UNUSABLE: Final = 2
"""Exit code when a file cannot be read."""
LOSSY: Final = 3
"""Exit code with --strict when something means something else than before."""

HELP: Final = """Bring manifests of Karpenter's older APIs to v1, or Auto Scaling groups to NodePools.

Provisioners, AWSNodeTemplates and the settings ConfigMap of v1alpha5, NodePools and EC2NodeClasses of v1beta1, and old
labels and annotations in every other manifest. The result goes to standard output, comments and all; everything that
cannot stay as it was is named on standard error. What is v1 already stays as it is.

What the AWS CLI says of Auto Scaling groups and launch templates becomes a proposal of NodePools; with the pods of the
cluster also its cost in a simulated day, beside today's.

\b
Examples:
  daiku convert provisioners.yaml > nodepools.yaml
  daiku convert --node-role KarpenterNodeRole-prod old/ --strict
  kubectl get provisioners,awsnodetemplates -o yaml | daiku convert - | kubectl apply --dry-run=server -f -
  aws autoscaling describe-auto-scaling-groups > groups.json
  aws ec2 describe-launch-template-versions --versions '$Default' '$Latest' > templates.json
  daiku convert groups.json templates.json --workloads now.json > nodepools.yaml

Exit code: 0 converted; 2 the input cannot be used; with --strict 3 when anything was named.
"""


def convert(
    *,
    sources: Annotated[
        list[str],
        typer.Argument(metavar="FILE...", help="Files, folders, or - for standard input."),
    ],
    node_role: Annotated[
        str,
        typer.Option(metavar="NAME", help="IAM role of nodes whose node class names none."),
    ] = "",
    workloads: Annotated[
        list[str] | None,
        typer.Option(
            metavar="FILE",
            help="Pods to simulate a proposal with: a `daiku snapshot`, a list, or a `kind: Scenario`.",
        ),
    ] = None,
    instance_types: Annotated[
        str, typer.Option(metavar="FILE", help="Prices for that, as for `daiku plan`.")
    ] = "",
    strict: Annotated[
        bool,
        typer.Option("--strict", help="Exit with 3 if anything means something else than before."),
    ] = False,
) -> None:
    """Read, convert, write."""
    from daiku.cli import files, progress  # noqa: PLC0415  (what is imported here, no other command should pay)
    from daiku.cli.converting import conversion, groups, tree  # noqa: PLC0415

    problems: list[str] = []
    contents = files.read(sources, sys.stdin.buffer, lambda _: None, problems)
    documents: list[Document] = []
    with progress.Progress() as shown:
        for number, (name, content) in enumerate(contents):
            shown.step(f"reading {name}", number, len(contents))
            if len(content) > MANIFESTS_MOST:
                problems.append(
                    f"{name}: has {len(content) >> 20} MiB, more than manifests have; leave pods and nodes out, "
                    "as with `kubectl get nodepools,ec2nodeclasses -o yaml` (a snapshot can be given with --workloads)"
                )
                continue
            try:
                documents += tree.read(name, content)
            except tree.UnreadableError as error:
                problems.append(str(error))
    if not (documents or problems):
        problems.append(f"{', '.join(sources)}: holds no object; give manifests")
    if problems:
        failure.fail(problems, UNUSABLE)
    try:
        found = groups.read([each.value for each in documents if groups.is_ours(each.value)])
    except groups.UnreadableError as error:
        failure.fail([str(error)], UNUSABLE)
    converted = conversion.convert([d for d in documents if not groups.is_ours(d.value)], node_role)
    notes = [*converted.notes]
    proposed = groups.propose(found, notes)
    for note in notes:
        lines.note(note)
    if workloads:
        _cost(found, proposed, workloads, instance_types)
    typer.echo(tree.write([*converted.objects, *proposed]), nl=False)
    if strict and notes:
        raise typer.Exit(LOSSY)


def _cost(
    found: "Sequence[Group]",
    proposed: "Sequence[Tree]",
    workloads: Sequence[str],
    instance_types: str,
) -> None:
    """Say what the proposal costs, beside today."""
    from daiku.api.manifests import ManifestError  # noqa: PLC0415
    from daiku.cli import figures, files, progress  # noqa: PLC0415
    from daiku.cli.converting import costing  # noqa: PLC0415

    problems: list[str] = []
    contents = files.read(workloads, sys.stdin.buffer, lambda _: None, problems)
    if problems:
        failure.fail(problems, UNUSABLE)
    try:
        with progress.Progress() as shown:
            both = costing.compare(found, proposed, contents, instance_types, shown.step)
    except ManifestError as error:
        failure.fail(error.problems, UNUSABLE)
    for note in both.notes:
        lines.note(note)
    now, then = (
        f"${figures.hourly(usd)}/h (${figures.monthly(usd)}/month)"
        for usd in (both.usd_now, both.usd_then)
    )
    nodes, pods = units.counted(both.nodes_now, "node"), units.counted(both.disrupted, "pod")
    days = (
        f"today {nodes}, {now}; with the proposal {then}, with {both.nodes_then:.1f} nodes on average in "
        f"{both.hours:g} simulated hours, in which {pods} had to move"
    )
    said = [days]
    if both.unpriced:
        unpriced = units.counted(both.unpriced, "instance")
        said.append(f"{unpriced} of today without a known price, counted as $0")
    if both.homeless:
        homeless = units.counted(both.homeless, "pod")
        said.append(f"{homeless} without a place on any of the NodePools at the end")
    for each in said:
        lines.say(each, first="cost: ", rest="  ", err=True)
