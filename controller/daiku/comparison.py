"""What changes between two forecasts: nodes and money per NodePool, and pods that lose or gain a place."""

from collections.abc import Iterable
from dataclasses import dataclass

from daiku.forecast import ExistingNode, Forecast, PlannedNode


@dataclass(frozen=True, slots=True, kw_only=True)
class Total:
    """Nodes and what they cost."""

    nodes: int = 0
    usd_per_hour: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class PoolChange:
    """One NodePool in both forecasts, its existing and its new nodes together."""

    nodepool: str
    """Empty: nodes that belong to no NodePool."""
    before: Total
    after: Total


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparison:
    """How a second forecast differs from a first one."""

    before: Forecast
    after: Forecast
    pools: tuple[PoolChange, ...]
    """Every NodePool that has a node in one of them, by name."""
    lose: tuple[str, ...]
    """Pods without a place in the second that had one, or did not exist, in the first."""
    gain: tuple[str, ...]
    """Pods without a place in the first that have one in the second."""

    @property
    def total(self) -> PoolChange:
        """All NodePools together."""
        return PoolChange(
            nodepool="",
            before=_sum(change.before for change in self.pools),
            after=_sum(change.after for change in self.pools),
        )


def compare(before: Forecast, after: Forecast) -> Comparison:
    """How `after` differs from `before`."""
    first, second = _totals(before), _totals(after)
    homeless_before, homeless_after = frozenset(before.homeless), frozenset(after.homeless)
    return Comparison(
        before=before,
        after=after,
        pools=tuple(
            PoolChange(
                nodepool=name, before=first.get(name, Total()), after=second.get(name, Total())
            )
            for name in sorted({**first, **second})
        ),
        lose=tuple(pod for pod in after.homeless if pod not in homeless_before),
        gain=tuple(
            pod for pod in before.homeless if pod not in homeless_after and pod in after.workloads
        ),
    )


def _totals(forecast: Forecast) -> dict[str, Total]:
    totals: dict[str, Total] = {}
    nodes: list[ExistingNode | PlannedNode] = [*forecast.existing_nodes, *forecast.new_nodes]
    for node in nodes:
        known = totals.get(node.nodepool, Total())
        totals[node.nodepool] = Total(
            nodes=known.nodes + 1, usd_per_hour=known.usd_per_hour + (node.usd_per_hour or 0.0)
        )
    return totals


def _sum(totals: Iterable[Total]) -> Total:
    each = list(totals)
    return Total(nodes=sum(t.nodes for t in each), usd_per_hour=sum(t.usd_per_hour for t in each))
