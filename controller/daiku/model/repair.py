"""Which conditions of a Node mean that its machine has to be replaced, as its cloud knows it."""

from dataclasses import dataclass
from datetime import timedelta

from daiku.model.condition import Status


@dataclass(frozen=True, slots=True, kw_only=True)
class RepairPolicy:
    """A Node whose condition has had this status for this long is broken."""

    condition: str
    """Type of a condition of Nodes, such as Ready."""
    status: Status
    toleration: timedelta
    """How long the condition may last; machines often mend themselves."""
