"""What the controller that leads says of its own decisions, or why it cannot be asked.

The Lease says which pod leads; the API server passes the question on to it (`pods/proxy`), with the rights of who
asks. Every reason not to get an answer is a sentence: whoever recomputes instead says so.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final

import msgspec

from daiku.api import decisions
from daiku.api.decisions import Decisions, DecisionsError
from daiku.cli import surroundings
from daiku.cli.progress import Progress
from daiku.kube import errors
from daiku.kube.client import Client
from daiku.kube.credentials import Credentials
from daiku.kube.lease import IDENTITY_PREFIX
from daiku.runtime import clock

PORTS: Final = ("metrics", "http-metrics")
"""Names that the port of the metrics has in the pod, here and in Karpenter's chart."""
PORT: Final = 8080
"""The port where no name says it."""
ANSWER_SECONDS: Final = 5.0
"""How long the answer may take: where a NetworkPolicy drops what is asked, none comes."""
NAMESPACE: Final = "kube-system"
LEASE: Final = "karpenter-leader-election"

_decoder = msgspec.json.Decoder(dict[str, Any])


class _NoAnswerError(Exception):
    """The message says why."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Word:
    """What the leader said."""

    decisions: Decisions | None = None
    why: str = ""
    """Why it said nothing; empty when it did."""
    heard: float = 0.0
    """When that was, by the clock that never jumps."""

    def said(self, decided: datetime | None = None) -> str:
        """That it is the controller's word, and how old; `decided` when it is older than the last decision."""
        seconds = self.age_seconds(decided) or 0.0
        ago = f"{seconds:.0f} s" if seconds < 120 else f"{seconds / 60:.0f} min"
        return f"from the controller, {ago} ago"

    def age_seconds(self, decided: datetime | None = None) -> float | None:
        """How old it is, whatever the clock of this machine says; None when there is none."""
        if self.decisions is None:
            return None
        age = self.decisions.age_seconds
        if decided is not None:
            age = max(0.0, (self.decisions.now - decided).total_seconds())
        return round(age + clock.monotonic() - self.heard, 1)


SAVED: Final = Word(why="a saved cluster has no controller to ask")


def ask_here(shown: Progress) -> Word:
    """Ask the controller of the cluster that the environment names."""
    shown.step("asking the controller", 0, 1)
    environ = surroundings.environ()
    return ask(Client(Credentials(environ)), environ)


def ask(client: Client, environ: Mapping[str, str]) -> Word:
    """Ask the controller that holds the Lease.

    Args:
        client: Of the cluster.
        environ: LEADER_ELECTION_NAMESPACE and LEADER_ELECTION_NAME, where the controller has other ones than usual.
    """
    namespace = environ.get("LEADER_ELECTION_NAMESPACE") or NAMESPACE
    name = environ.get("LEADER_ELECTION_NAME") or LEASE
    try:
        pod = _holder(client, namespace, name)
        port = _port(client, namespace, pod)
        found = _decisions(client, namespace, pod, port)
    except _NoAnswerError as error:
        return Word(why=str(error))
    except errors.Unreachable as error:
        return Word(why=str(error))
    if not found.leading:
        return Word(
            why=f"pod {namespace}/{pod} holds the Lease and does not lead (yet, or any more)"
        )
    if found.at is None:
        return Word(
            why=f"the controller {namespace}/{pod} has just begun to lead, and decided nothing yet"
        )
    return Word(decisions=found, heard=clock.monotonic())


def _holder(client: Client, namespace: str, name: str) -> str:
    """The pod that holds the Lease."""
    lease = f"the Lease {name} in {namespace}"
    hint = "LEADER_ELECTION_NAMESPACE names another namespace"
    try:
        found = _decoder.decode(
            client.get(f"/apis/coordination.k8s.io/v1/namespaces/{namespace}/leases/{name}")
        )
    except errors.NotFound as error:
        raise _NoAnswerError(f"no controller holds {lease} ({hint})") from error
    except errors.KubeError as error:
        raise _NoAnswerError(f"{lease} cannot be read: {error}") from error
    spec: dict[str, Any] = found.get("spec") or {}
    holder: str = spec.get("holderIdentity") or ""
    if not holder:
        raise _NoAnswerError(f"no controller holds {lease} ({hint})")
    if not holder.startswith(IDENTITY_PREFIX):
        raise _NoAnswerError(f"{lease} is held by {holder}, which is not Daiku")
    return holder.removeprefix(IDENTITY_PREFIX).rpartition("_")[0]


def _port(client: Client, namespace: str, pod: str) -> int:
    """Where it serves its metrics."""
    try:
        found = _decoder.decode(client.get(f"/api/v1/namespaces/{namespace}/pods/{pod}"))
    except errors.NotFound as error:
        raise _NoAnswerError(
            f"the controller {pod} that holds the Lease is no pod of {namespace}: it has ended, or runs outside of "
            "the cluster"
        ) from error
    except errors.KubeError as error:
        raise _NoAnswerError(f"the pod of the controller cannot be read: {error}") from error
    named = {
        port.get("name"): int(port["containerPort"])
        for container in found["spec"]["containers"]
        for port in container.get("ports") or ()
    }
    return next((named[each] for each in PORTS if each in named), PORT)


def _decisions(client: Client, namespace: str, pod: str, port: int) -> Decisions:
    path = f"/api/v1/namespaces/{namespace}/pods/{pod}:{port}/proxy{decisions.PATH}"
    try:
        return decisions.decode(client.get(path, seconds=ANSWER_SECONDS))
    except errors.NotFound as error:
        raise _NoAnswerError(
            f"the controller {namespace}/{pod} has no {decisions.PATH} on port {port}: it is older than this command"
        ) from error
    except errors.Denied as error:
        raise _NoAnswerError(
            f"the controller may not be asked without the right to get pods/proxy in {namespace}: {error}"
        ) from error
    except (errors.KubeError, DecisionsError) as error:
        raise _NoAnswerError(
            f"the controller {namespace}/{pod} cannot be asked: {error}"
        ) from error
