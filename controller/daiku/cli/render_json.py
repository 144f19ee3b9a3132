"""A plan as JSON, for programs. Keys keep their order, amounts are whole numbers, pods and nodes are sorted."""

from typing import Any, Final

from daiku.comparison import Comparison, Total
from daiku.disruption.global_consolidation import Repack
from daiku.forecast import Forecast, PlannedNode
from daiku.report import Unschedulable

SCHEMA_VERSION: Final = 1
"""Rises when a key goes or means something else; new keys may come any time."""


def of_forecast(made: Forecast, seconds: float) -> dict[str, Any]:
    """One plan.

    Args:
        made: The plan.
        seconds: How long it took.
    """
    return {"schemaVersion": SCHEMA_VERSION, **_of_forecast(made, seconds)}


def _of_forecast(made: Forecast, seconds: float) -> dict[str, Any]:
    return {
        "newNodes": [_node(node) for node in made.new_nodes],
        "placements": made.placements,
        "unschedulable": [_unschedulable(each) for each in made.unschedulable],
        **({"undecided": list(made.later)} if made.later else {}),
        "usdPerHour": {
            "existing": _usd(made.existing_usd_per_hour),
            "new": _usd(made.new_usd_per_hour),
        },
        "lowerBoundUsdPerHour": _usd(made.lower_bound_usd_per_hour),
        "gap": round(made.gap, 6),
        **({"repack": _repack(made.repack)} if made.repack is not None else {}),
        "seconds": round(seconds, 3),
    }


def _repack(found: Repack) -> dict[str, Any]:
    return {
        "usdPerHour": {
            "before": _usd(found.figures.usd_per_hour_before),
            "after": _usd(found.figures.usd_per_hour_after),
        },
        "lowerBoundUsdPerHour": _usd(found.figures.lower_bound_usd_per_hour),
        "podsMoved": found.figures.moved,
        "steps": [
            {
                "nodes": list(step.gone),
                "newNodes": [node.types[0].name for node in step.launched],
                "pods": list(step.moves),
                "savesUsdPerHour": _usd(step.saved_usd_per_hour),
            }
            for step in found.steps
        ],
    }


def of_comparison(compared: Comparison, seconds: float) -> dict[str, Any]:
    """Two plans, and what changes from the first to the second."""
    changes = [(change.nodepool, change) for change in compared.pools]
    return {
        "schemaVersion": SCHEMA_VERSION,
        "before": _of_forecast(compared.before, seconds),
        "after": _of_forecast(compared.after, seconds),
        "difference": {
            "nodePools": [
                {
                    "nodePool": name,
                    "before": _total(change.before),
                    "after": _total(change.after),
                }
                for name, change in changes
            ],
            "total": {
                "before": _total(compared.total.before),
                "after": _total(compared.total.after),
            },
            "becomeUnschedulable": list(compared.lose),
            "becomeSchedulable": list(compared.gain),
        },
    }


def _node(node: PlannedNode) -> dict[str, Any]:
    return {
        "nodePool": node.nodepool,
        "instanceTypes": list(node.instance_types),
        "capacityType": node.capacity_type,
        "zones": list(node.zones),
        "pods": list(node.pods),
        "requests": {resource: node.requests[resource] for resource in sorted(node.requests)},
        "usdPerHour": _usd(node.usd_per_hour),
    }


def _unschedulable(each: Unschedulable) -> dict[str, Any]:
    return {
        "pods": list(each.pods),
        "reasons": [
            {
                "nodePool": blocker.nodepool,
                "reason": blocker.reason,
                "message": blocker.sentence,
            }
            for blocker in each.blockers
        ],
    }


def _total(total: Total) -> dict[str, Any]:
    return {"nodes": total.nodes, "usdPerHour": _usd(total.usd_per_hour)}


def _usd(amount: float) -> float:
    """Sums of prices end in digits that only floats have; a millionth of a dollar is exact enough."""
    return float(round(amount, 6))
