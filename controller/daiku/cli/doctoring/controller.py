"""What the controller that leads says of its own work: what it cannot do, and pods that it finds no place for."""

from collections.abc import Iterator, Mapping
from typing import Final

from daiku import reasons
from daiku.api.decisions import Decisions
from daiku.cli.doctoring.finding import Finding, Severity, finding

FAILURES_LEAST: Final = 3
"""Failures in a row from which on trying again has not helped."""
BLOCKERS_MOST: Final = 3
"""Reasons that are named of pods that fit nowhere."""
CHECKS: Final[Mapping[str, str]] = {
    "controller-fails": "what the controller tries again and again, in the words of the API server or the cloud",
    "pods-fit-nowhere": "pods for which the controller finds no place, and what blocks them",
}
"""Name of a check -> half a sentence for `--list`."""


def examine(decisions: Decisions) -> Iterator[Finding]:
    """What is wrong by the controller's own word."""
    failing: dict[tuple[str, str], list[str]] = {}
    most: dict[tuple[str, str], int] = {}
    for each in decisions.failing:
        what, _, about = each.key.partition("/")
        if each.failures >= FAILURES_LEAST:
            failing.setdefault((what, each.why), []).append(about)
            most[what, each.why] = max(each.failures, most.get((what, each.why), 0))
    for (what, why), about in failing.items():
        yield finding(
            "controller-fails",
            Severity.WARNING,
            [f"{what} {name}" for name in about],
            f"the controller has failed up to {most[what, why]} times in a row: {why.rstrip('.')}",
            "mend what the message names; the controller tries again by itself",
        )
    for group in decisions.unschedulable:
        why = "; ".join(str(b).rstrip(".") for b in group.blockers[:BLOCKERS_MOST])
        more = len(group.blockers) - BLOCKERS_MOST
        advised = (reasons.remedy(b.reason) for b in group.blockers)
        yield finding(
            "pods-fit-nowhere",
            Severity.WARNING,
            [f"Pod {pod}" for pod in group.pods],
            f"no node can be made for them: {why or 'no NodePool was tried'}"
            + (f"; and {more} more reasons" if more > 0 else ""),
            next((each for each in advised if each), f"daiku explain pod {group.pods[0]}"),
        )
