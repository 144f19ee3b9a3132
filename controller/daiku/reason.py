"""What a reason is: a word of one table, what it is a reason of, and where people meet it. The table: `reasons`."""

import enum
from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Final, NewType

Reason = NewType("Reason", str)
"""A word of the table; made elsewhere only from what was read from the API server, or answered by AWS."""
NO_REASON: Final = Reason("")
"""Nothing to give a reason for."""


class Kind(enum.Enum):
    """What a reason is a reason of. Value: the title under which it is listed."""

    WAITING = "Why a pod waits"
    KEPT = "Why a node is not disrupted now"
    CALLED_OFF = "Why a disruption is called off"
    REFUSED = "Why a simulated disruption is refused"
    DISRUPTED = "Why a node is disrupted"
    DRIFT = "Why a node has drifted"
    ENDED = "Why a NodeClaim is deleted, or its pods are evicted"
    MADE = "Why a NodeClaim is made"
    EVENT = "What an event tells"
    CONDITION = "Why a condition of a NodeClaim or NodePool is as it is"
    LAUNCH = "Why no instance is launched"
    CLASS = "Why an EC2NodeClass is not ready"


WHERE: Final[Mapping[Kind, str]] = MappingProxyType({
    Kind.WAITING: "event FailedScheduling of the pod (in its message), `daiku explain pod`, `daiku plan`",
    Kind.KEPT: "metric `daiku_nodes_kept_count`, `daiku explain node` and `nodepool`; its sentence in the events "
    "DisruptionBlocked of what blocks a disruption, and in events Unconsolidatable, DryRun and DriftStopped",
    Kind.CALLED_OFF: "condition DisruptionReason (False) of the NodeClaim; its sentence in the event "
    "DisruptionCalledOff; both in `daiku explain node` while the node is LetOff",
    Kind.REFUSED: "its sentence in event Unconsolidatable, `daiku explain node`",
    Kind.DISRUPTED: "condition DisruptionReason (True) of the NodeClaim, messages of its events and of Evicted, "
    "spec.disruption.budgets, labels `reason` of the disruption metrics, `daiku explain node`",
    Kind.DRIFT: "condition Drifted (True) of the NodeClaim, `daiku explain node`",
    Kind.ENDED: "label `reason` of `karpenter_nodeclaims_disrupted_total`, `daiku explain node`, `nodeclaim`, `pod`; "
    "pods are told Forceful Termination in the message of the event Evicted",
    Kind.MADE: "label `reason` of `karpenter_nodeclaims_created_total`",
    Kind.EVENT: "event",
    Kind.CONDITION: "condition; its sentence in `daiku explain nodeclaim` and `nodepool`, `daiku doctor`",
    Kind.LAUNCH: "condition Launched (Unknown) of the NodeClaim, label `reason` of "
    "`karpenter_cloudprovider_instance_launch_failures_total`; its sentence in `daiku explain nodeclaim`",
    Kind.CLASS: "condition of the EC2NodeClass; its sentence in `daiku doctor`",
})  # fmt: skip
"""Where people meet the reasons of a kind."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """What there is to say of one reason."""

    reason: Reason
    kinds: tuple[Kind, ...]
    means: str
    """A statement without a full stop, for the middle of a sentence."""
    remedy: str
    """What would change it, as a demand; empty: nothing need or can be done."""


def label(word: str) -> str:
    """A reason as labels of Karpenter's metrics write it: InsufficientCapacity -> insufficient_capacity."""
    return "".join(f"_{c.lower()}" if c.isupper() and i else c.lower() for i, c in enumerate(word))
