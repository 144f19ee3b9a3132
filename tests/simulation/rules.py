"""What wire objects say about deadlines, budgets and amounts, worked out plainly for the invariants."""

from dataclasses import dataclass

from tests.simulation.apiserver import Json, is_leaving
from tests.simulation.clock import seconds_of

from daiku import commands
from daiku.model import labels, units

KNOWN = 15.0
"""Seconds: what happened this long ago has reached every controller."""


NOTED = "example.com/Noted"
"""A condition that is somebody else's."""


class Violated(AssertionError):
    """A rule was broken."""

    def __init__(self, rule: str, message: str) -> None:
        super().__init__(f"{rule}: {message}")
        self.rule = rule


def deadline(claim: Json | None) -> float | None:
    if claim is None:
        return None
    written = claim["metadata"].get("annotations", {}).get(labels.TERMINATION_TIMESTAMP)
    if written:
        return seconds_of(written)
    grace = claim["spec"].get("terminationGracePeriod")
    if grace is None or not is_leaving(claim):
        return None
    return (
        seconds_of(claim["metadata"]["deletionTimestamp"])
        + units.parse_duration(grace).total_seconds()
    )


def is_ending(claim: Json) -> bool:
    """Its instance is being terminated: it counts no more, neither as there nor as going."""
    conditions = claim["status"].get("conditions", ())
    return any(c["type"] == "InstanceTerminating" and c["status"] == "True" for c in conditions)


def note(body: Json | None) -> str:
    """What somebody else has noted in the conditions of an object; empty for nothing."""
    conditions = body["status"].get("conditions", ()) if body is not None else ()
    return next((c["message"] for c in conditions if c["type"] == NOTED), "")


def allowed(budgets: list[Json], nodes: int) -> int:
    amounts = [b["nodes"] for b in budgets]
    return min(
        (-(-int(a[:-1]) * nodes // 100) if a.endswith("%") else int(a) for a in amounts),
        default=10**6,
    )


def amount(resource: str, quantity: str) -> int:
    return units.parse_cpu_millis(quantity) if resource == "cpu" else int(quantity)


@dataclass(frozen=True, slots=True)
class Words:
    """A command, in a few words."""

    command: commands.Command

    def __str__(self) -> str:
        match self.command:
            case commands.DeleteNodeClaim():
                return f"→ DeleteNodeClaim {self.command.name} ({self.command.reason})"
            case commands.PatchNodeClaim() | commands.PatchNode():
                flags = "".join(
                    f" {f}"
                    for f in (
                        "add_finalizer",
                        "remove_finalizer",
                        "provider_id",
                        "labels",
                        "taints",
                    )
                    if getattr(self.command, f, None)
                )
                said = " ".join(
                    f"{c.type}={c.status}({c.reason})"
                    for c in getattr(self.command, "conditions", ())
                )
                return f"→ {type(self.command).__name__} {self.command.name}{flags} {said}"
            case commands.Announce():
                return f"→ Announce {self.command.reason} on {self.command.name}: {self.command.message[:90]}"
            case _:
                return f"→ {type(self.command).__name__} {self.command.key}"
