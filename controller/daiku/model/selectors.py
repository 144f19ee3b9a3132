"""Label selectors: which objects a PodDisruptionBudget or a workload means.

Source: kubernetes.io/docs/concepts/overview/working-with-objects/labels.
"""

from collections.abc import Mapping
from typing import Any

from daiku.model.requirements import Requirement, Requirements


def parse(selector: Mapping[str, Any] | None) -> Requirements | None:
    """Requirements of a selector as on the wire; None, which selects nothing, stays None.

    Raises:
        ValueError: An expression has an unknown operator, or no values where it needs some.
    """
    if selector is None:
        return None
    exact: Mapping[str, str] = selector.get("matchLabels") or {}
    expressions: list[Mapping[str, Any]] = selector.get("matchExpressions") or []
    return Requirements.of(
        *(Requirement.parse(key, "In", (value,)) for key, value in exact.items()),
        *(Requirement.parse(e["key"], e["operator"], e.get("values") or ()) for e in expressions),
    )


def selects(selector: Mapping[str, Any] | None, labels: Mapping[str, str]) -> bool:
    """Whether an object with `labels` is meant. An empty selector means every object."""
    requirements = parse(selector)
    return requirements is not None and not Requirements.from_labels(labels).compatible(
        requirements
    )
