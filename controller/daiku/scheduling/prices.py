"""What nodes that are there cost: the price of the offering that their labels name."""

from collections.abc import Mapping

from daiku.model import labels, memo
from daiku.model.instance_type import Catalogue, NodeClassRef
from daiku.state.snapshot import Snapshot
from daiku.state.statenode import StateNode

Prices = Mapping[tuple[NodeClassRef, str, str, str], float]
"""USD per hour by node class, instance type, zone and capacity type."""


@memo.by_identity(2)
def of_offerings(catalogue: Catalogue) -> Prices:
    """Every offering's price, whether it can be had now or not."""
    return {
        (ref, each.name, offering.zone, offering.capacity_type): offering.price_usd_per_hour
        for ref, types in catalogue.instance_types.items()
        for each in types
        for offering in each.offerings
    }


def in_any_class(catalogue: Catalogue) -> Mapping[tuple[str, str, str], float]:
    """USD per hour by instance type, zone and capacity type; an offering costs the same in every node class."""
    return {
        (instance_type, zone, capacity_type): usd
        for (_, instance_type, zone, capacity_type), usd in of_offerings(catalogue).items()
    }


def of_nodes(snapshot: Snapshot, catalogue: Catalogue) -> dict[str, float]:
    """USD per hour of each launched node of a NodePool, by its name; 0 where the catalogue does not say."""
    known = of_offerings(catalogue)
    return {
        state_node.name: of_node(state_node, known)
        for state_node in snapshot.state_nodes
        if state_node.claim is not None and state_node.provider_id
    }


def of_node(state_node: StateNode, known: Prices) -> float:
    """USD per hour of one node, 0 when nobody knows (Karpenter's rule: such a node saves nothing by going)."""
    if state_node.claim is None:
        return 0.0
    own = state_node.claim.meta.labels
    what = (
        own.get(labels.INSTANCE_TYPE, ""),
        own.get(labels.ZONE, ""),
        own.get(labels.CAPACITY_TYPE, ""),
    )
    return known.get((state_node.claim.node_class, *what), 0.0)
