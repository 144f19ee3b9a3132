"""What the audit says of a plan that is not legal."""

from dataclasses import dataclass

from daiku.commands import Command


@dataclass(frozen=True, slots=True, kw_only=True)
class Violation:
    """A rule that a plan breaks."""

    command: Command | None
    """The command that must not be carried out; None when a placement is at fault."""
    rule: str
    """What kind of rule, such as Resources or TopologySpread."""
    message: str
    """What was asked and what was found, in a sentence."""
    node: str = ""
    """The node or NodeClaim that it is about; empty when it is about none."""
    pod: str = ""
    """namespace/name of a pod that it is about; others of its kind may be meant too."""
    found: int | None = None
    """The number that breaks the rule; None where the rule is not about a number."""
    allowed: int | None = None
    """The most that the rule allows, in the unit of `found`."""
