"""`daiku convert`: the command line. What it does is in `converting`, imported only when it is asked for."""

import sys
from typing import Annotated, Final

import typer

from daiku.cli import failure

UNUSABLE: Final = 2
"""Exit code when a file cannot be read."""
LOSSY: Final = 3
"""Exit code with --strict when something means something else than before."""

HELP: Final = """Bring manifests of Karpenter's older APIs to v1.

Provisioners, AWSNodeTemplates and the settings ConfigMap of v1alpha5, NodePools and EC2NodeClasses of v1beta1, and old
labels and annotations in every other manifest. The result goes to standard output, comments and all; everything that
cannot stay as it was is named on standard error. What is v1 already stays as it is.

\b
Examples:
  daiku convert provisioners.yaml > nodepools.yaml
  daiku convert --node-role KarpenterNodeRole-prod old/ --strict
  kubectl get provisioners,awsnodetemplates -o yaml | daiku convert - | kubectl apply --dry-run=server -f -

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
    strict: Annotated[
        bool,
        typer.Option("--strict", help="Exit with 3 if anything means something else than before."),
    ] = False,
) -> None:
    """Read, convert, write."""
    from daiku.cli import files  # noqa: PLC0415  (what is imported here, no other command should pay)
    from daiku.cli.converting import conversion, tree  # noqa: PLC0415

    problems: list[str] = []
    contents = files.read(sources, sys.stdin.buffer, lambda _: None, problems)
    documents: list[object] = []
    for name, content in contents:
        try:
            documents += tree.read(name, content)
        except tree.UnreadableError as error:
            problems.append(str(error))
    if not (documents or problems):
        problems.append(f"{', '.join(sources)}: holds no object; give manifests")
    if problems:
        failure.fail(problems, UNUSABLE)
    converted = conversion.convert(documents, node_role)
    for note in converted.notes:
        typer.echo(f"note: {note}", err=True)
    typer.echo(tree.write(converted.objects), nl=False)
    if strict and converted.notes:
        raise typer.Exit(LOSSY)
