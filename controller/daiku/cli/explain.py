"""`daiku explain`: the command line. The answer is `daiku.explanation`'s, imported only when it is asked for."""

import json
import sys
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated, Final

import typer

from daiku.cli import failure, lines, surroundings

if TYPE_CHECKING:
    from daiku.cli import progress
    from daiku.cli.leader import Word
    from daiku.explanation import Explanation
    from daiku.prospect import Question

UNUSABLE: Final = 2
"""Exit code when the cluster cannot be read or there is no such object."""

HELP: Final = """Say why a pod waits, why a node is here or not ready, what a NodePool would do, what a reason means.

On the cluster that KUBECONFIG says the controller is asked for its own decision; where it cannot be, and on a saved
cluster, the same is decided here, and that is said. Nothing is changed.
A reason is a word that an event, condition or metric gives; no cluster is read for it.

\b
Examples:
  daiku explain pod web-7d4b9-x2x9k -n shop
  daiku explain node ip-10-0-1-7.eu-west-1.compute.internal
  daiku explain nodeclaim general-x7k2p
  daiku explain nodepool general --from now.json
  daiku explain pod web-0 --from now.json --format json
  daiku explain reason DisruptionBlocked

Exit code: 0 explained; 2 there is no such object, or nothing can be read.
"""


class Kind(StrEnum):
    """What can be explained."""

    POD = "pod"
    NODE = "node"
    NODECLAIM = "nodeclaim"
    NODEPOOL = "nodepool"
    REASON = "reason"


class Format(StrEnum):
    """How it is printed."""

    TEXT = "text"
    JSON = "json"


def explain(
    kind: Annotated[
        Kind, typer.Argument(metavar="KIND", help="pod, node, nodeclaim, nodepool or reason.")
    ],
    name: Annotated[
        str,
        typer.Argument(metavar="NAME", help="Its name; a node is known by its NodeClaim's too."),
    ],
    *,
    namespace: Annotated[
        str, typer.Option("--namespace", "-n", metavar="NAME", help="Of a pod.")
    ] = "default",
    source: Annotated[
        list[str] | None,
        typer.Option(
            "--from",
            metavar="FILE",
            help="A `daiku snapshot` or manifests instead of a live cluster.",
        ),
    ] = None,
    instance_types: Annotated[
        str,
        typer.Option(
            metavar="FILE",
            help="What can be bought: a `daiku snapshot`, a list as Karpenter's kwok provider has it, or `built-in`.",
        ),
    ] = "",
    output: Annotated[Format, typer.Option("--format", help="How to print it.")] = Format.TEXT,
) -> None:
    """Read, decide, say it."""
    from daiku import explanation  # noqa: PLC0415  (what is imported here, no other command should pay)
    from daiku.api.manifests import ManifestError  # noqa: PLC0415
    from daiku.cli import leader, progress  # noqa: PLC0415
    from daiku.runtime import garbage  # noqa: PLC0415

    namespace, _, bare = name.rpartition("/") if "/" in name else (namespace, "", name)
    try:
        if kind is Kind.REASON:
            _print(explanation.reason(name), leader.Word(), output, is_saved=True)
            return
        with progress.Progress() as shown:
            question, lacking = _question(source, instance_types, shown)
            garbage.keep(question)
            word = leader.SAVED if source else leader.ask_here(shown)
            decided = word.decisions
            if kind is Kind.POD:
                answer = explanation.pod(question, namespace, bare, decided)
            elif kind is Kind.NODE:
                answer = explanation.node(question, name, decided)
            elif kind is Kind.NODECLAIM:
                answer = explanation.node_claim(question, name, decided)
            else:
                answer = explanation.node_pool(question, name, decided)
    except ManifestError as error:
        failure.fail(error.problems, UNUSABLE)
    except explanation.UnknownNameError as error:
        failure.fail([str(error)], UNUSABLE)
    # The controller's word needs no instance types; what is decided here would be wrong without.
    if lacking and answer.source == explanation.RECOMPUTED:
        why = answer.silent or word.why
        failure.fail([f"{lacking}. The controller's own word is not to be had: {why}"], UNUSABLE)
    _print(answer, word, output, is_saved=bool(source))


def _question(
    source: "list[str] | None", instance_types: str, shown: "progress.Progress"
) -> "tuple[Question, str]":
    """The cluster as something to ask of, and why it lacks instance types; empty when it has them.

    Raises:
        ManifestError: It cannot be read.
    """
    from daiku.api.manifests import ManifestError  # noqa: PLC0415
    from daiku.cli import files, planning  # noqa: PLC0415
    from daiku.prospect import Question  # noqa: PLC0415
    from daiku.runtime import clock  # noqa: PLC0415

    problems: list[str] = []
    why_no_types, lacking = "", ""
    if source:
        contents = files.read(
            source, sys.stdin.buffer, lambda name: shown.step(f"reading {name}", 0, 1), problems
        )
        if problems:
            raise ManifestError(problems)
    else:
        # boto3 takes a third of a second, which a saved cluster should not pay.
        from daiku.cli import capture  # noqa: PLC0415

        try:
            taken = capture.take(surroundings.environ(), shown.step)
        except capture.CaptureError as error:
            raise ManifestError([str(error)]) from error
        contents, why_no_types = [("cluster", taken.content)], taken.why_no_types
    try:
        cluster = planning.cluster(contents, instance_types, live=not source)
    except ManifestError:
        if not why_no_types:
            raise
        why = f"what the cluster's nodes can be made of cannot be read: {why_no_types}"
        lacking = f"{why}. Or give it with --instance-types FILE"
        cluster = planning.without_types(contents)
    for note in cluster.notes:
        lines.note(note)
    end = clock.monotonic() + cluster.settings.solve_max.total_seconds()
    question = Question(
        objects=cluster.objects,
        catalogue=cluster.catalogue,
        settings=cluster.settings,
        now=clock.now(),
        stop=lambda: clock.monotonic() >= end,
    )
    return question, lacking


def _print(answer: "Explanation", word: "Word", output: Format, *, is_saved: bool) -> None:
    from daiku import explanation  # noqa: PLC0415

    is_told = answer.source == explanation.CONTROLLER
    why = answer.silent or word.why
    if output is Format.JSON:
        value = {
            "schemaVersion": 1,
            "title": answer.title,
            "facts": dict(answer.facts),
            "reasons": list(answer.reasons),
            "remedies": list(answer.remedies),
            "source": answer.source,
            "ageSeconds": word.age_seconds(answer.decided) if is_told else None,
            "whyNotController": why if answer.source == explanation.RECOMPUTED else "",
        }
        typer.echo(json.dumps(value, indent=1))
        return
    typer.secho(lines.folded(answer.title), bold=True)
    width = max((len(label) for label, _ in answer.facts), default=0)
    for label, value in answer.facts:
        lines.say(value, first=f"  {label:<{width}}  ", rest=" " * (width + 4))
    for title, sentences in (
        ("Why", answer.reasons),
        ("What would change it", answer.remedies),
    ):
        if sentences:
            typer.secho(f"\n{title}", bold=True)
            for each in sentences:
                lines.say(each, first="  - ", rest="    ")
    if is_told:
        typer.secho(f"\n{word.said(answer.decided)}", dim=True)
    elif answer.source == explanation.RECOMPUTED and not is_saved:
        typer.secho(lines.folded(f"recomputed here: {why}", first="\n", rest=""), dim=True)
