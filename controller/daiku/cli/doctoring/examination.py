"""Every check on one cluster, the worst finding first."""

from collections.abc import Iterable, Sequence
from typing import Any, Final

from rich.text import Text

from daiku.cli.doctoring import controller, pools, workloads
from daiku.cli.doctoring.evidence import Evidence
from daiku.cli.doctoring.finding import Finding, Severity
from daiku.cli.leader import Word

CHECKS: Final = (*pools.CHECKS, *workloads.CHECKS)
NAMED_MOST: Final = 5
"""Objects of a finding that are named to people; JSON has all."""
CONTROLLER: Final = "controller"
MARKS: Final = {
    Severity.ERROR: ("error", "bold red"),
    Severity.WARNING: ("warning", "yellow"),
    Severity.ADVICE: ("advice", "cyan"),
}


def examine(evidence: Evidence) -> list[Finding]:
    """What the checks of the cluster find."""
    return ordered(each for check in CHECKS for each in check.run(evidence))


def ordered(found: Iterable[Finding]) -> list[Finding]:
    """Worst first; ties end in the names."""
    return sorted(found, key=lambda f: (f.severity, f.check, f.about, f.cause))


def to_json(
    found: Sequence[Finding], notes: Sequence[str], word: Word | None = None
) -> dict[str, Any]:
    """Stable JSON; `word` is the controller's, None where none could be asked."""
    age = word.age_seconds() if word is not None else None
    return {
        "findings": [
            {
                "check": each.check,
                "severity": MARKS[each.severity][0],
                "about": list(each.about),
                "cause": each.cause,
                "remedy": each.remedy,
                "source": CONTROLLER if each.check in controller.CHECKS else "cluster",
            }
            for each in found
        ],
        "notChecked": list(notes),
        # Of the findings that are from the controller; the others are from what was read just now.
        "ageSeconds": age,
    }


def lines(found: Sequence[Finding], notes: Sequence[str], word: Word | None = None) -> list[Text]:
    """For people; `word` is the controller's, None where none could be asked."""
    said: list[Text] = []
    for each in found:
        mark, style = MARKS[each.severity]
        title = Text(f"{mark} ", style=style)
        title.append(each.check, style="bold")
        said += [
            title,
            Text(f"  {_named(each.about)}"),
            Text(f"  {each.cause}."),
            Text(f"  Remedy: {each.remedy}."),
            Text(),
        ]
    if word is not None and word.decisions is not None:
        said.append(Text(f"note: what fails and which pods fit nowhere is {word.said()}", "dim"))
    said += [Text(f"note: {note}", style="dim") for note in notes]
    counts = [(name, sum(1 for f in found if f.severity == s)) for s, (name, _) in MARKS.items()]
    told = ", ".join(
        f"{count} {name}{'s' if count != 1 and name != 'advice' else ''}"
        for name, count in counts
        if count
    )
    said.append(Text(told or "Nothing found.", style="bold"))
    return said


def _named(about: Sequence[str]) -> str:
    more = len(about) - NAMED_MOST
    return ", ".join(about[:NAMED_MOST]) + (f" and {more} more" if more > 0 else "")
