"""What a person can do about what a decision says: sentences by reason, for `daiku.explanation`."""

from collections.abc import Mapping
from typing import Final

WAITING: Final[Mapping[str, str]] = {
    "InsufficientResources": "ask for less, or let the NodePool use instance types that have as much",
    "RequirementsNotMet": "drop the node selector or affinity that it names, or add what it asks for to the NodePool",
    "TaintNotTolerated": "add the toleration to the pods, or take the taint off the NodePool",
    "NoOffering": "allow more zones, capacity types or instance types; what is sold out is tried again after 3 minutes",
    "LimitExceeded": "raise spec.limits of the NodePool",
    "CapacityUnavailable": "wait, allow more instance types or zones, or raise daiku.dev/price-guard of the NodePool",
    "MinValuesNotMet": "lower minValues, or allow more instance types",
    "NodePoolNotReady": "mend what the NodePool's condition Ready names",
    "NoNodePool": "create a NodePool",
}
"""Reason of a blocker -> what would change it."""
KEPT: Final[Mapping[str, str]] = {
    "Budget": "raise spec.disruption.budgets of the NodePool, or wait",
    "CapacityUnavailable": "wait, allow more instance types or zones, or raise daiku.dev/price-guard of the NodePool",
    "ConsolidationDisabled": "set spec.disruption.consolidateAfter of the NodePool",
    "DoNotDisrupt": "take the annotation off the node",
    "NotEmpty": "set spec.disruption.consolidationPolicy of the NodePool to WhenEmptyOrUnderutilized",
    "Paused": "take the annotation off the NodePool",
    "PodDisruptionBudget": "allow it one disruption, run one replica more, or let the replacement come first "
    "(daiku.dev/surge)",
    "PodDoNotDisrupt": "take the annotation off the pod, or wait until it has ended",
    "SeveralBudgets": "let only one PodDisruptionBudget select the pod",
}
"""Why a node is kept -> what would let it go."""
