"""What would become of the pods of nodes that went away, and why that had better not happen."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from daiku import reasons
from daiku.reason import Reason
from daiku.report import Unschedulable
from daiku.scheduling.solution import NewNode

_SHOWN: Final = 5
"""Pods that are named in a refusal; the others are counted."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Refusal:
    """Why the nodes had better stay, as numbers; `str` makes the sentence."""

    reason: Reason
    """NoPlace, TooManyNewNodes or NotCheaper."""
    unschedulable: tuple[Unschedulable, ...] = ()
    """NoPlace: pods that fit nowhere, and why."""
    new_nodes: int = 0
    """TooManyNewNodes: how many it would take, at least."""
    new_nodes_most: int = 0
    least_usd_per_hour: float = 0.0
    """NotCheaper: what the new nodes would cost at least."""
    below_usd_per_hour: float = 0.0

    def __str__(self) -> str:
        """One sentence for a person."""
        if self.reason == reasons.TOO_MANY_NEW_NODES:
            return f"it would take {self.new_nodes} new nodes or more; {self.new_nodes_most} may be made"
        if self.reason == reasons.NOT_CHEAPER:
            least, below = self.least_usd_per_hour, self.below_usd_per_hour
            # A launch may be given any zone, so a type counts with its dearest.
            where = ", in the cheapest of its zones" if least < below else ""
            return (
                f"its pods need a new node, and none costs less than ${below:.4f}/h in every zone that a launch may be "
                f"given; the cheapest costs ${least:.4f}/h{where}"
            )
        pods = sorted(pod for each in self.unschedulable for pod in each.pods)
        named = ", ".join(pods[:_SHOWN])
        more = f" and {len(pods) - _SHOWN} others" if len(pods) > _SHOWN else ""
        why = next(
            (str(b) for u in self.unschedulable for b in u.blockers), "no room on other nodes"
        )
        return f"no place for {named}{more}: {why}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """What would become of the pods of nodes that went away."""

    gone: tuple[str, ...]
    """The nodes, in the order of names."""
    moved: tuple[str, ...]
    """namespace/name of the pods that would be evicted, in order."""
    placements: Mapping[str, str]
    """Of these, the ones that would go to a node that is there -> its name."""
    new_nodes: tuple[NewNode, ...]
    """Nodes to be made for the others, each with every instance type that will do, cheapest first. With a ceiling on
    the price, only types with which all new nodes together stay below it."""
    unschedulable: tuple[Unschedulable, ...]
    """Pods that would fit nowhere, and why."""
    refusal: Refusal | None
    """Why this must not be done; None when every pod has a place within the limits that were set."""
    usd_per_hour_before: float
    """What all launched nodes cost now."""
    gone_usd_per_hour: float
    """What the nodes cost that go; 0 for those of unknown price."""
    order: tuple[str, ...] = ()
    """Pods that constraints between pods concern, in an order in which kube-scheduler could bind them."""

    def homes(self, made: Mapping[str, str]) -> dict[str, str]:
        """Pods -> nodes that are there and those that they are `made` for, in an order in which they could be bound."""
        found = {**self.placements, **made}
        return {**{pod: found[pod] for pod in self.order if pod in found}, **found}

    @property
    def new_usd_per_hour(self) -> float:
        """What the new nodes cost, each as its cheapest type."""
        return sum(node.usd_per_hour for node in self.new_nodes)

    @property
    def saved_usd_per_hour(self) -> float:
        """What would be saved; negative when it would cost more than now."""
        return self.gone_usd_per_hour - self.new_usd_per_hour

    @property
    def usd_per_hour_after(self) -> float:
        """What all nodes would cost."""
        return self.usd_per_hour_before - self.saved_usd_per_hour
