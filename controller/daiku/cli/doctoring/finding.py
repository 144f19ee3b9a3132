"""What a check found: about what, why it matters, what to do."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from enum import IntEnum

from daiku.cli.doctoring.evidence import Evidence


class Severity(IntEnum):
    """How much it matters; the worst is the smallest."""

    ERROR = 0
    """Something does not work, or will not when it is needed."""
    WARNING = 1
    """Something will hurt: an outage, a stuck node, money."""
    ADVICE = 2
    """Something could be better."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """One trap that is there."""

    check: str
    """Name of the check, such as pdb-blocks-for-ever."""
    severity: Severity
    about: tuple[str, ...]
    """Objects, such as "NodePool default"; sorted."""
    cause: str
    """What was seen and what it leads to, with numbers."""
    remedy: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Check:
    """One thing that is looked for."""

    name: str
    looks_for: str
    """Half a sentence for `--list`."""
    run: Callable[[Evidence], Iterable[Finding]]


def finding(
    check: str, severity: Severity, about: Iterable[str], cause: str, remedy: str
) -> Finding:
    """A finding; objects are put in order."""
    return Finding(
        check=check, severity=severity, about=tuple(sorted(about)), cause=cause, remedy=remedy
    )
