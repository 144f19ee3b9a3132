"""What a NodeClaim will turn into, before it is launched.

Its instance will be one of several types. Whatever is planned onto it must hold for each of them, so of what they offer
the least counts, and of what they take from a limit the most.
"""

from collections.abc import Mapping
from functools import reduce

from daiku.model import labels, resources
from daiku.model.instance_type import Catalogue, InstanceType
from daiku.model.nodeclaim import NodeClaim
from daiku.state.statenode import StateNode


def types_of(claim: NodeClaim, catalogue: Catalogue) -> tuple[InstanceType, ...]:
    """The instance types that a NodeClaim allows, in the order of their names."""
    allowed = claim.requirements.get(labels.INSTANCE_TYPE)
    known = catalogue.instance_types.get(claim.node_class, ())
    return tuple(
        t
        for t in known
        if allowed.has(t.name) and not t.requirements.intersects(claim.requirements)
    )


def allocatable(state_node: StateNode, catalogue: Catalogue) -> Mapping[str, int]:
    """What pods can count on having on it; at least what it was made for."""
    claim = state_node.claim
    if claim is None or state_node.provider_id:
        return state_node.allocatable
    offers = [t.allocatable for t in types_of(claim, catalogue)]
    if not offers:
        return claim.requests
    return resources.highest(reduce(_lower, offers), claim.requests)


def capacity(state_node: StateNode, catalogue: Catalogue) -> Mapping[str, int]:
    """What it takes from its NodePool's limits, `nodes`=1 included."""
    claim = state_node.claim
    if claim is None or state_node.provider_id:
        return state_node.capacity
    offers = [t.capacity for t in types_of(claim, catalogue)]
    return resources.highest(*offers, claim.requests) | {resources.NODES: 1}


def pool_usage(
    state_nodes: tuple[StateNode, ...], pool: str, catalogue: Catalogue
) -> dict[str, int]:
    """What the nodes of a NodePool take from its limits; nodes on their way out do not count."""
    counted = (s for s in state_nodes if s.nodepool == pool and not s.is_deleting)
    return resources.add({resources.NODES: 0}, *(capacity(s, catalogue) for s in counted))


def _lower(one: Mapping[str, int], other: Mapping[str, int]) -> Mapping[str, int]:
    return {r: min(amount, other.get(r, 0)) for r, amount in one.items()}
