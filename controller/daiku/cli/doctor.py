"""`daiku doctor`: the command line. What it does is in `doctoring`, imported only when it is asked for."""

import json
import os
import sys
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated, Final

import typer

from daiku.cli import failure, surroundings

if TYPE_CHECKING:
    from daiku.cli import progress
    from daiku.cli.doctoring.evidence import Evidence
    from daiku.cli.doctoring.finding import Finding
    from daiku.cli.leader import Word

UNUSABLE: Final = 2
"""Exit code when the cluster or a file cannot be read."""
FOUND: Final = 3
"""Exit code with --strict when there is an error among the findings."""

HELP: Final = """Look for the known traps of a cluster and its account, and say what to do about each.

Reads only. The cluster is the one that KUBECONFIG says; its AWS account is examined too when there are credentials.
CLUSTER_NAME says the cluster's name where the tag karpenter.sh/discovery of its node classes does not. A saved cluster
can be examined without any of it.

\b
Examples:
  daiku doctor
  CLUSTER_NAME=prod AWS_REGION=eu-west-1 daiku doctor --strict
  daiku doctor --from now.json --format json
  daiku doctor --stack prod
  daiku doctor --list
  CLUSTER_NAME=prod daiku doctor --leftovers

Exit code: 0 examined; 2 nothing could be examined; with --strict 3 when an error, or a leftover, was
found.
"""


class Format(StrEnum):
    """How it is printed."""

    TEXT = "text"
    JSON = "json"


def doctor(
    *,
    source: Annotated[
        list[str] | None,
        typer.Option(
            "--from",
            metavar="FILE",
            help="A `daiku snapshot` or any list of objects instead of a live cluster.",
        ),
    ] = None,
    output: Annotated[Format, typer.Option("--format", help="How to print it.")] = Format.TEXT,
    listed: Annotated[
        bool, typer.Option("--list", help="Say what is looked for, and end.")
    ] = False,
    leftovers: Annotated[
        bool,
        typer.Option(
            "--leftovers",
            help="List what the controller of CLUSTER_NAME made in AWS and what is still there, and end.",
        ),
    ] = False,
    stack: Annotated[
        str,
        typer.Option(
            metavar="NAME",
            help="A Pulumi stack of the project here: whether what it believes is there.",
        ),
    ] = "",
    strict: Annotated[
        bool, typer.Option("--strict", help="Exit with 3 if an error is found.")
    ] = False,
) -> None:
    """Examine, print."""
    from daiku.cli import progress  # noqa: PLC0415  (what is imported here, no other command should pay)
    from daiku.cli.doctoring import controller, examination  # noqa: PLC0415
    from daiku.cli.doctoring.finding import Severity  # noqa: PLC0415

    if listed:
        _list()
        return
    if leftovers:
        _leftovers(output, strict=strict)
        return
    notes: list[str] = []
    with progress.Progress() as shown:
        evidence = _saved(source) if source else _live(shown, notes, or_not=bool(stack))
        found = examination.examine(evidence) if evidence is not None else []
        word = None
        if evidence is not None and not source:
            word = _asked(shown, notes)
            told = controller.examine(word.decisions) if word.decisions is not None else ()
            found = examination.ordered([*found, *told, *_account(evidence, notes)])
        if stack:
            found = examination.ordered([*found, *_stack(stack, evidence, notes)])
    if output is Format.JSON:
        typer.echo(json.dumps(examination.to_json(found, notes, word), indent=1))
    else:
        _print(found, notes, word)
    if strict and any(each.severity is Severity.ERROR for each in found):
        raise typer.Exit(FOUND)


def _leftovers(output: Format, *, strict: bool) -> None:
    """What a destroy would have to remove: the same list that it works from."""
    from daiku.cloud import errors  # noqa: PLC0415
    from daiku.cloud.aws import leftovers  # noqa: PLC0415
    from daiku.cloud.aws.session import NoRegionError, Session  # noqa: PLC0415

    cluster = os.environ.get("CLUSTER_NAME", "")
    if not cluster:
        failure.fail(["set CLUSTER_NAME to the cluster whose leftovers are looked for"], UNUSABLE)
    try:
        found = leftovers.find(Session(os.environ.get("AWS_REGION", "")), cluster)
    except (NoRegionError, errors.CloudError) as error:
        failure.fail([str(error)], UNUSABLE)
    if output is Format.JSON:
        typer.echo(
            json.dumps(
                [{"kind": i.kind, "id": i.identifier, "owner": i.owner} for i in found], indent=1
            )
        )
    else:
        for item in found:
            typer.echo(f"{item.kind:<34} {item.identifier:<24} {item.owner}".rstrip())
        typer.echo(f"{len(found)} left of cluster {cluster}" if found else "Nothing is left.")
    if strict and found:
        raise typer.Exit(FOUND)


def _list() -> None:
    from daiku.cli.doctoring import account, controller, examination, stack  # noqa: PLC0415

    for check in examination.CHECKS:
        typer.echo(f"{check.name:<34}{check.looks_for}")
    for name, run in account.CHECKS.items():
        text = (run.__doc__ or "").rstrip(".")
        typer.echo(f"{name:<34}{text[:1].lower()}{text[1:]} (AWS)")
    for name, text in {**controller.CHECKS, **stack.CHECKS}.items():
        typer.echo(f"{name:<34}{text}")


def _saved(paths: "list[str]") -> "Evidence":
    from daiku.cli import files  # noqa: PLC0415
    from daiku.cli.doctoring import evidence  # noqa: PLC0415

    problems: list[str] = []
    contents = files.read(paths, sys.stdin.buffer, lambda _: None, problems)
    found = evidence.read(contents, problems)
    if not (found.objects or problems):
        problems.append(f"{', '.join(paths)}: holds no object; give a `daiku snapshot`")
    if problems:
        failure.fail(problems, UNUSABLE)
    return found


def _live(shown: "progress.Progress", notes: list[str], *, or_not: bool) -> "Evidence | None":
    """What the cluster says; None when it cannot be asked and we can do without it (`or_not`)."""
    from daiku.cli.doctoring import evidence, live  # noqa: PLC0415

    try:
        documents = live.read(surroundings.environ(), shown.step, notes)
    except live.UnreachableError as error:
        if not or_not:
            failure.fail([str(error)], UNUSABLE)
        notes[:] = [f"the cluster is not examined: {error}"]
        return None
    problems: list[str] = []
    found = evidence.of(documents, problems)
    notes += problems
    return found


def _asked(shown: "progress.Progress", notes: list[str]) -> "Word":
    """What the controller that leads says."""
    from daiku.cli import leader  # noqa: PLC0415

    word = leader.ask_here(shown)
    if word.decisions is None:
        notes.append(f"what the controller itself says is not examined: {word.why}")
    return word


def _account(evidence: "Evidence", notes: list[str]) -> "list[Finding]":
    """What the account says, where it can be asked."""
    from daiku.cli import cluster_name  # noqa: PLC0415
    from daiku.cli.doctoring import account  # noqa: PLC0415
    from daiku.cloud.aws.session import NoRegionError, Session  # noqa: PLC0415
    from daiku.runtime import clock  # noqa: PLC0415

    cluster = cluster_name.find(os.environ, evidence.raw("EC2NodeClass"))
    if not any(each.ref.kind == "EC2NodeClass" for each in evidence.node_classes):
        return []
    if not cluster:
        notes.append("the AWS account is not examined: set CLUSTER_NAME (and AWS_REGION)")
        return []
    try:
        session = Session(os.environ.get("AWS_REGION", ""))
    except NoRegionError as error:
        notes.append(f"the AWS account is not examined: {error}")
        return []
    asked = account.Account(session=session, cluster=cluster, evidence=evidence, now=clock.now())
    return account.examine(asked, notes)


def _stack(name: str, evidence: "Evidence | None", notes: list[str]) -> "list[Finding]":
    """What an interrupted `up` or `destroy` of a stack left behind."""
    from daiku.cli import cluster_name  # noqa: PLC0415
    from daiku.cli.doctoring import stack  # noqa: PLC0415

    try:
        state = stack.read(name)
    except stack.NoStackError as error:
        failure.fail([str(error)], UNUSABLE)
    if evidence is None:
        # A destroy may have been interrupted when the cluster was gone already.
        return list(stack.examine(state, None, "", notes))
    cluster = cluster_name.find(os.environ, evidence.raw("EC2NodeClass"))
    there = [pool.meta.name for pool in evidence.node_pools]
    return list(stack.examine(state, there, cluster, notes))


def _print(found: "list[Finding]", notes: list[str], word: "Word | None") -> None:
    from rich.console import Console  # noqa: PLC0415
    from rich.padding import Padding  # noqa: PLC0415

    from daiku.cli.doctoring import examination  # noqa: PLC0415

    console = Console(highlight=False, markup=False, emoji=False)
    for line in examination.lines(found, notes, word):
        indent = len(line.plain) - len(line.plain.lstrip())
        # On a terminal a sentence is broken between words, under its beginning; elsewhere it is one line.
        if console.is_terminal and line.plain:
            console.print(Padding(line[indent:], (0, 0, 0, indent), expand=False))
        else:
            console.print(line, soft_wrap=True)
