"""What a cloud says about instances that will not stay, and what each kind asks for.

The names of kinds are Karpenter's: dashboards know them as values of the label `message_type`. Not here: how a message
is read (`cloud.aws.messages`), what is done (`lifecycle.interruption`).
"""

from collections.abc import Mapping
from typing import Final

from daiku import reasons
from daiku.reason import Reason

SPOT: Final = reasons.ENDED_SPOT
REBALANCE: Final = "rebalance_recommendation"
SCHEDULED_CHANGE: Final = reasons.ENDED_SCHEDULED_CHANGE
STOPPED: Final = reasons.ENDED_STOPPED
TERMINATED: Final = reasons.ENDED_TERMINATED
RESERVATION: Final = reasons.ENDED_RESERVATION
EVENT_STATUS: Final = reasons.ENDED_EVENT_STATUS
INSTANCE_STATUS: Final = reasons.ENDED_INSTANCE_STATUS
SYSTEM_STATUS: Final = reasons.ENDED_SYSTEM_STATUS
NO_OP: Final = "no_op"
"""A message that says nothing about an instance that matters; it is only counted."""

FORCED: Final = frozenset({INSTANCE_STATUS, SYSTEM_STATUS})
"""The machine is broken already: nothing is gained by waiting for its pods."""

ANNOUNCED: Final[Mapping[str, Reason]] = {
    SPOT: reasons.SPOT_INTERRUPTED,
    REBALANCE: reasons.SPOT_REBALANCE,
    SCHEDULED_CHANGE: reasons.INSTANCE_UNHEALTHY,
    STOPPED: reasons.INSTANCE_STOPPING,
    TERMINATED: reasons.INSTANCE_TERMINATING,
    RESERVATION: reasons.RESERVATION_INTERRUPTED,
    EVENT_STATUS: reasons.INSTANCE_UNHEALTHY,
    INSTANCE_STATUS: reasons.INSTANCE_UNHEALTHY,
    SYSTEM_STATUS: reasons.INSTANCE_UNHEALTHY,
}
"""Kind -> reason of the Event that people see."""


def sentence(kind: str) -> str:
    """What happened, in words."""
    return reasons.means(Reason(kind)) or reasons.means(ANNOUNCED[kind])


def ends(kind: str) -> bool:
    """Whether a NodeClaim is given up for this at once; a recommendation leaves time for a replacement."""
    return kind not in {NO_OP, REBALANCE}
