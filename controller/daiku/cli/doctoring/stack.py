"""A Pulumi stack beside its cluster: what an `up` or a `destroy` left behind that did not come to its end.

The engine plans by its state. A NodePool that the state has and the cluster has not is taken for there, so nothing
makes it again; and an operation that was under way when the engine ended may have happened or not. A refresh tells the
state what is. Read with `pulumi stack export`, which changes nothing.
"""

import subprocess
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, cast

import msgspec

from daiku.cli.doctoring.finding import Finding, Severity, finding

POOL: Final = "kubernetes:karpenter.sh/v1:NodePool"
CLUSTER: Final = "aws:eks/cluster:Cluster"
SECONDS_MAX: Final = 60
CHECKS: Final[Mapping[str, str]] = {
    "stack-interrupted": "operations of a stack of which nobody knows whether they happened (--stack)",
    "stack-nodepools-gone": "NodePools that a stack believes in and the cluster does not have (--stack)",
}
"""Name of a check -> half a sentence for `--list`."""
_CUT: Final = "failed to load checkpoint"
"""What the engine says of a state that is not whole."""


class NoStackError(Exception):
    """The state cannot be read; the message says why and what to do."""


@dataclass(frozen=True, slots=True, kw_only=True)
class State:
    """What the engine believes of a stack."""

    name: str
    node_pools: tuple[str, ...]
    """Names of the NodePools that it has made."""
    clusters: tuple[str, ...]
    """Names of the EKS clusters that it has made."""
    pending: tuple[tuple[str, str], ...]
    """What was being done when the engine ended (creating, updating, deleting, ...), and to which resource."""


def read(name: str) -> State:
    """The state of a stack of the project in the working folder.

    Raises:
        NoStackError: The engine cannot be asked, or has no such stack.
    """
    command = ["pulumi", "stack", "export", "--stack", name, "--non-interactive"]
    try:
        done = subprocess.run(command, capture_output=True, check=False, timeout=SECONDS_MAX)
    except FileNotFoundError:
        raise NoStackError(f"stack {name}: `pulumi` is not on the PATH") from None
    except subprocess.TimeoutExpired:
        said = f"`{' '.join(command)}` took longer than {SECONDS_MAX} s"
        raise NoStackError(f"stack {name}: {said}") from None
    if done.returncode:
        said = " ".join(done.stderr.decode(errors="replace").split())
        remedy = (
            "the engine was killed while it wrote; of a `file://` backend remove the empty STACK.json.attrs, or put "
            "STACK.json.bak in the place of STACK.json"
            if _CUT in said
            else "run it where Pulumi.yaml is, logged in"
        )
        raise NoStackError(f"stack {name}: {said}; {remedy}")
    return decode(name, done.stdout)


def decode(name: str, exported: bytes) -> State:
    """A state as `pulumi stack export` writes it.

    Raises:
        NoStackError: It is something else.
    """
    try:
        deployment = msgspec.json.decode(exported, type=_Export).deployment
    except msgspec.DecodeError as error:
        raise NoStackError(f"stack {name}: its state cannot be read: {error}") from error
    there = [each for each in deployment.resources if not each.delete]
    return State(
        name=name,
        node_pools=tuple(sorted(_names(there, POOL, "metadata", "name"))),
        clusters=tuple(sorted(_names(there, CLUSTER, "name"))),
        pending=tuple(
            sorted(
                (each.type, each.resource.urn.rpartition("::")[2])
                for each in deployment.pending_operations
            )
        ),
    )


def examine(
    state: State, there: Sequence[str] | None, cluster: str, notes: list[str]
) -> Iterator[Finding]:
    """What is wrong between a stack and its cluster.

    Args:
        state: Of the stack.
        there: Names of the cluster's NodePools; None: the cluster cannot be asked.
        cluster: Name of the cluster; empty when nobody says.
        notes: Takes why the two were not compared.
    """
    name = state.name
    locked = f"; where it says that the stack is locked, pulumi cancel --stack {name} before"
    if state.pending:
        did = ", ".join(sorted({kind for kind, _ in state.pending}))
        yield finding(
            "stack-interrupted",
            Severity.ERROR,
            [f"resource {resource}" for _, resource in state.pending],
            f"an `up` or `destroy` of stack {name} ended while it was {did} these; whether that happened is not known",
            f"pulumi refresh --stack {name} in a terminal (of what was being created it asks whether it is there, and "
            f"for its ID), then what was interrupted again{locked}",
        )
    if there is None:
        return
    if cluster and state.clusters and cluster not in state.clusters:
        notes.append(
            f"stack {name} has cluster {', '.join(state.clusters)}, KUBECONFIG leads to {cluster}: not compared"
        )
        return
    gone = sorted(set(state.node_pools) - set(there))
    if gone:
        yield finding(
            "stack-nodepools-gone",
            Severity.ERROR,
            [f"NodePool {pool}" for pool in gone],
            f"stack {name} believes that they are there and would not make them again, as after a `destroy` that was "
            "interrupted",
            f"pulumi up --refresh --stack {name} to have them again, or pulumi destroy --refresh --stack {name} to go "
            f"on with the end{locked}",
        )


class _Resource(msgspec.Struct):
    urn: str
    type: str = ""
    delete: bool = False
    outputs: dict[str, Any] = {}


class _Operation(msgspec.Struct):
    resource: _Resource
    type: str = ""


class _Deployment(msgspec.Struct):
    resources: list[_Resource] = []
    pending_operations: list[_Operation] = []


class _Export(msgspec.Struct):
    deployment: _Deployment


def _names(resources: Sequence[_Resource], kind: str, *path: str) -> Iterator[str]:
    for each in resources:
        value: Any = each.outputs if each.type == kind else {}
        for key in path:
            value = cast("dict[str, Any]", value).get(key) if isinstance(value, dict) else None
        if isinstance(value, str):
            yield value
