"""What a cloud says about instances that will not stay, and what each kind asks for.

The names of kinds are Karpenter's: dashboards know them as values of the label `message_type`. Not here: how a message
is read (`cloud.aws.messages`), what is done (`lifecycle.interruption`).
"""

from typing import Final

SPOT: Final = "spot_interrupted"
REBALANCE: Final = "rebalance_recommendation"
SCHEDULED_CHANGE: Final = "scheduled_change"
STOPPED: Final = "instance_stopped"
TERMINATED: Final = "instance_terminated"
RESERVATION: Final = "capacity_reservation_interrupted"
EVENT_STATUS: Final = "event_status"
INSTANCE_STATUS: Final = "instance_status"
SYSTEM_STATUS: Final = "system_status"
NO_OP: Final = "no_op"
"""A message that says nothing about an instance that matters; it is only counted."""

FORCED: Final = frozenset({INSTANCE_STATUS, SYSTEM_STATUS})
"""The machine is broken already: nothing is gained by waiting for its pods."""

ANNOUNCED: Final = {
    SPOT: ("SpotInterrupted", "EC2 takes the spot instance back"),
    REBALANCE: (
        "SpotRebalanceRecommendation",
        "EC2 expects that it will have to take the spot instance back",
    ),
    SCHEDULED_CHANGE: ("InstanceUnhealthy", "AWS Health has scheduled a change of the instance"),
    STOPPED: ("InstanceStopping", "the instance stops"),
    TERMINATED: ("InstanceTerminating", "the instance is being terminated"),
    RESERVATION: (
        "CapacityReservationInstanceInterrupted",
        "the owner of the capacity reservation takes it back",
    ),
    EVENT_STATUS: ("InstanceUnhealthy", "EC2 has scheduled an event for the instance"),
    INSTANCE_STATUS: ("InstanceUnhealthy", "the instance fails EC2's instance status check"),
    SYSTEM_STATUS: ("InstanceUnhealthy", "the instance's host fails EC2's system status check"),
}
"""Kind -> reason of the Event that people see, and what happened in words."""


def ends(kind: str) -> bool:
    """Whether a NodeClaim is given up for this at once; a recommendation leaves time for a replacement."""
    return kind not in {NO_OP, REBALANCE}
