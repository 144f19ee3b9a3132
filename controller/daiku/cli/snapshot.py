"""`daiku snapshot`: the command line. What it does is in `capture`, imported only when it is asked for."""

import sys
from pathlib import Path
from typing import Annotated, Final

import typer

from daiku.cli import failure, lines, surroundings

FAILED: Final = 1
"""Exit code when the cluster cannot be read or the file not written."""

HELP: Final = """Write a live cluster into one file that `daiku plan` reads.

Which cluster KUBECONFIG says, else ~/.kube/config. The file holds every object that the controller watches, the
settings in the controller's Deployment on which its decisions depend, and the instance types with their prices if the
cloud can be reached (with AWS_REGION and credentials, and CLUSTER_NAME where neither the Deployment nor the tag
karpenter.sh/discovery of the node classes says the cluster's name). It holds no Secrets; of containers it keeps name,
image, resources and ports, of node classes everything but the user data.

\b
Examples:
  daiku snapshot -o now.json
  daiku snapshot | daiku plan --from - --against pools.yaml
"""


def snapshot(
    *,
    output: Annotated[
        str,
        typer.Option("--output", "-o", metavar="FILE", help="Where to; - is standard output."),
    ] = "-",
) -> None:
    """Read the cluster, write the file."""
    from daiku.cli import capture, progress  # noqa: PLC0415  (what it imports takes half a second)

    try:
        with progress.Progress() as shown:
            taken = capture.take(surroundings.environ(), shown.step)
        if output == "-":
            sys.stdout.buffer.write(taken.content)
            sys.stdout.buffer.flush()
        else:
            Path(output).write_bytes(taken.content)
    except (capture.CaptureError, OSError) as error:
        failure.fail([str(error)], FAILED)
    for note in taken.notes:
        lines.note(note)
    if output != "-":
        typer.echo(f"{output}: {taken.summary}", err=True)
