"""What the leader decided last, as JSON: the form in which a controller says it, and every reader takes it.

The problem: whoever recomputes a decision elsewhere does not know what the controller remembers, such as which pods it
has already found a place for, or what it said of a node a minute ago. The idea: the controller hands out the last word
of its own (`runtime.decided`), and a reader shows that and how old it is. Nothing is told of objects but names, and
sentences that events have too.
"""

from datetime import datetime
from typing import Final

import msgspec

from daiku.reason import Reason
from daiku.report import Kept, Unschedulable

SCHEMA: Final = 1
"""Grows with a change that a reader of the one before would misread; fields that are added do not change it."""
PATH: Final = "/decisions"
"""Where it is served, on the port of the metrics."""


class DecisionsError(Exception):
    """An answer cannot be used; the message says why."""


class KeptNode(msgspec.Struct, rename="camel", frozen=True, kw_only=True):
    """A node that stays, and why."""

    node_claim: str
    node: str
    """Empty while there is none."""
    node_pool: str
    reason: str
    message: str
    decided: datetime
    """When that was found out."""
    until: datetime | None = None
    """When it ends by time alone; None: when something else happens, or at a time that only the message says."""

    @property
    def kept(self) -> Kept:
        """The same as the core has it."""
        return Kept(node_claim=self.node_claim, reason=Reason(self.reason), message=self.message)


class Resting(msgspec.Struct, rename="camel", frozen=True, kw_only=True):
    """A disruption that is decided and rests before it is acted upon."""

    id: str
    reason: str
    method: str
    node_claims: tuple[str, ...]
    node_pools: tuple[str, ...]
    new_nodes: int
    saves_usd_per_hour: float
    sentence: str
    decided: datetime
    until: datetime
    """When it is acted upon if it is still right."""


class UnderWay(msgspec.Struct, rename="camel", frozen=True, kw_only=True):
    """A command that is carried out."""

    key: str
    """What it acts on, such as Launch/NAME."""
    kind: str
    """Such as CreateNodeClaim; empty for one of an earlier tick."""
    since: datetime


class Failing(msgspec.Struct, rename="camel", frozen=True, kw_only=True):
    """A command that failed and is tried again."""

    key: str
    failures: int
    """In a row."""
    why: str
    until: datetime
    """When it is tried again."""


class Decisions(msgspec.Struct, rename="camel", frozen=True, kw_only=True):
    """The last word of a controller. A standby, and a leader before its first tick, has no `at` and empty lists."""

    schema_version: int = SCHEMA
    version: str
    """Of the controller."""
    identity: str
    """As in the Lease."""
    leading: bool
    now: datetime
    """By the controller's clock, when it was asked."""
    at: datetime | None = None
    """When it decided, by the same clock."""
    next_at: datetime | None = None
    """When it decides again if nothing happens."""
    unschedulable: tuple[Unschedulable, ...] = ()
    placements: dict[str, str] = {}
    """Pending pod namespace/name -> node, or NodeClaim that does not have a node yet, that it is expected on."""
    kept: tuple[KeptNode, ...] = ()
    going: dict[str, str] = {}
    """NodeClaim that is about to go -> why."""
    proposals: tuple[Resting, ...] = ()
    repacked: str = ""
    """What all nodes that may go could become, as the last round found it."""
    commands: tuple[UnderWay, ...] = ()
    failing: tuple[Failing, ...] = ()
    usd_per_hour: float = 0.0
    new_usd_per_hour: float = 0.0
    lower_bound_usd_per_hour: float = 0.0
    """No packing of the new pods on new nodes can cost less; 0 when nothing was packed."""
    notes: tuple[str, ...] = ()
    settings: dict[str, str] = {}
    """What decisions hang on."""
    omitted: dict[str, int] = {}
    """Name of a list -> how many entries of it are left out because there are too many."""

    @property
    def age_seconds(self) -> float:
        """How old the decision is, by the controller's own clock; 0 when there is none."""
        return 0.0 if self.at is None else max(0.0, (self.now - self.at).total_seconds())


def encode(decisions: Decisions) -> bytes:
    """The JSON that is served."""
    return msgspec.json.encode(decisions)


def decode(content: bytes) -> Decisions:
    """What was served.

    Raises:
        DecisionsError: It is something else, or of a later schema.
    """
    try:
        found = msgspec.json.decode(content, type=_Version).schema_version
        if found > SCHEMA:
            raise DecisionsError(
                f"the controller is newer than this command: its answer has schema {found}, this reads {SCHEMA}"
            )
        return msgspec.json.decode(content, type=Decisions)
    except msgspec.MsgspecError as error:
        raise DecisionsError(f"the answer is not one of a controller: {error}") from error


class _Version(msgspec.Struct, rename="camel"):
    schema_version: int
