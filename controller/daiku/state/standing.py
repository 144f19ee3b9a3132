"""What a snapshot says of nodes: each Node with its NodeClaim and its pods.

The problem: there are thousands of nodes, and between two snapshots hardly any has changed. The idea: a state node is
made anew only when one of its parts is another one, so that whatever was worked out from it stays too.
"""

from collections.abc import Container, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from daiku.model.node import Node
from daiku.model.nodeclaim import NodeClaim
from daiku.state.derived import Derived
from daiku.state.pods import PodIndex
from daiku.state.statenode import StateNode


@dataclass(frozen=True, slots=True, eq=False)
class Standing:
    """What is said of nodes until something happens that may concern one."""

    state_nodes: tuple[StateNode, ...]
    """In the order of their names."""
    nodes_of: Mapping[str, tuple[Node, ...]]
    """Nodes by provider id."""
    by_name: Mapping[str, StateNode]
    """By the name of the Node and by that of the NodeClaim."""
    positions: Mapping[str, tuple[int, ...]]
    """Name of a Node -> where it is in `state_nodes`; more than once only when several NodeClaims claim it."""
    derived: Derived


def stand(
    nodes: Sequence[Node],
    claims: Sequence[tuple[NodeClaim, bool]],
    pods: PodIndex,
    *,
    unnamed: Mapping[str, str],
    ending: Container[str],
    before: Standing | None,
) -> Standing:
    """What is said of nodes now.

    Args:
        nodes: In the order of their names.
        claims: NodeClaims, and whether each is only expected.
        pods: Where pods are.
        unnamed: Provider ids that NodeClaims may not name themselves, by the NodeClaim's name.
        ending: NodeClaims whose deletion has been asked for.
        before: What was said last.
    """
    nodes_of: dict[str, tuple[Node, ...]] = {}
    for node in nodes:
        if node.provider_id:
            nodes_of[node.provider_id] = (*nodes_of.get(node.provider_id, ()), node)
    known = before.by_name if before is not None else dict[str, StateNode]()
    made: list[StateNode] = []
    taken: dict[str, bool] = {}
    for claim, expected in claims:
        provider_id = claim.provider_id or unnamed.get(claim.meta.name, "")
        node = next(iter(nodes_of.get(provider_id, ())), None) if provider_id else None
        if node is not None:
            taken[node.meta.name] = True
        is_ending = claim.meta.name in ending
        made.append(_state_node(node, claim, pods, known, expected=expected, ending=is_ending))
    made += [_state_node(n, None, pods, known) for n in nodes if n.meta.name not in taken]
    state_nodes = tuple(sorted(made, key=lambda s: (s.name, s.claim_name)))
    by_name = {s.claim_name: s for s in state_nodes if s.claim is not None}
    by_name |= {s.name: s for s in state_nodes}
    positions: dict[str, tuple[int, ...]] = {}
    for position, state_node in enumerate(state_nodes):
        if state_node.node is not None:
            positions[state_node.name] = (*positions.get(state_node.name, ()), position)
    derived = Derived(state_nodes)
    if before is not None and _names(before.state_nodes) == _names(state_nodes):
        pairs = enumerate(zip(before.state_nodes, state_nodes, strict=True))
        changed = [position for position, (old, new) in pairs if old is not new]
        derived = before.derived.succeeded_by(state_nodes, changed)
    return Standing(state_nodes, nodes_of, by_name, positions, derived)


def with_pods(before: Standing, names: Iterable[str], pods: PodIndex) -> Standing:
    """What is said once pods have come to the Nodes called `names`, left them, or changed."""
    changed = [position for name in names for position in before.positions.get(name, ())]
    nodes, by_name = list(before.state_nodes), dict(before.by_name)
    for position in changed:
        old = nodes[position]
        new = replace(old, pods=pods.on(old.name), pod_event=pods.last_event(old.name))
        nodes[position] = new
        by_name |= {key: new for key in (old.claim_name, old.name) if by_name.get(key) is old}
    state_nodes = tuple(nodes)
    return replace(
        before,
        state_nodes=state_nodes,
        by_name=by_name,
        derived=before.derived.succeeded_by(state_nodes, changed),
    )


def _names(state_nodes: Sequence[StateNode]) -> list[str]:
    return [s.name for s in state_nodes]


def _state_node(
    node: Node | None,
    claim: NodeClaim | None,
    pods: PodIndex,
    known: Mapping[str, StateNode],
    *,
    expected: bool = False,
    ending: bool = False,
) -> StateNode:
    name = node.meta.name if node is not None else ""
    mine, pod_event = pods.on(name), pods.last_event(name)
    before = known.get(claim.meta.name if claim is not None else name)
    if (
        before is not None
        and before.node is node
        and before.claim is claim
        and before.pods is mine
        and (before.pod_event, before.expected, before.ending) == (pod_event, expected, ending)
    ):
        return before
    return StateNode(
        node=node,
        claim=claim,
        pods=mine,
        pod_event=pod_event,
        expected=expected,
        ending=ending,
    )
