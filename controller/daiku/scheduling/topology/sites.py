"""Every node with the pods that count there: they run on it or are expected, and do not look for another place."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

from daiku.model import labels
from daiku.model.pod import Pod
from daiku.model.requirements import Requirement, Requirements
from daiku.scheduling.topology.counts import Site
from daiku.state.derived import Changed
from daiku.state.snapshot import Snapshot
from daiku.state.statenode import Group, StateNode, grouped

ColumnOf = Callable[[StateNode], int]
"""Index of a node among those that take pods, -1 when it takes none."""


def as_it_is(
    snapshot: Snapshot,
    names: tuple[str, ...],
    column_of: ColumnOf,
    *,
    seen: frozenset[str],
    named: bool,
) -> Sequence[Site]:
    """All nodes of `snapshot` with the pods that run there.

    Args:
        snapshot: Nodes and pods.
        names: Those that take pods, in order.
        column_of: The index of each among them.
        seen: Labels of pods that constraints look at.
        named: Whether somebody asks for nodes by name.
    """

    def site(state_node: StateNode) -> Site:
        return _site(state_node, state_node.groups(seen), column_of(state_node), named=named)

    def mend(known: Sequence[Site], changed: Changed) -> Sequence[Site]:
        mended = list(known)
        for position in changed:
            mended[position] = site(snapshot.state_nodes[position])
        return mended

    return snapshot.derived().once(
        ("sites", seen, named, names), lambda: [site(s) for s in snapshot.state_nodes], mend
    )


def edited(
    snapshot: Snapshot,
    known: Sequence[Site],
    moving: Sequence[Pod],
    expected_on: Mapping[str, str],
    *,
    seen: frozenset[str],
) -> dict[int, Site]:
    """Nodes that pods are about to join or leave, as if they had, by position.

    Args:
        snapshot: Nodes and pods.
        known: What `as_it_is` says.
        moving: Pods that look for a place.
        expected_on: Pods that have no node, or lose theirs, by namespace/name, and the node on which they are expected.
        seen: Labels of pods that constraints look at.
    """
    arriving: dict[str, list[Pod]] = {}
    left = {p.node_name: True for p in moving if p.node_name}
    leaving = (p for s in snapshot.state_nodes if s.is_leaving for p in s.pods)
    for pod in (*snapshot.waiting, *leaving) if expected_on else ():
        if pod.meta.key in expected_on:
            arriving.setdefault(expected_on[pod.meta.key], []).append(pod)
            # A pod counts once, where it will be.
            left |= {pod.node_name: True} if pod.node_name else {}
    changed = {**left, **dict.fromkeys(arriving)}
    mine = frozenset((*expected_on, *(pod.meta.key for pod in moving))) if changed else ()
    found: dict[int, Site] = {}
    for position, state_node in enumerate(snapshot.state_nodes) if changed else ():
        if state_node.name in changed:
            staying = (pod for pod in state_node.pods if pod.meta.key not in mine)
            groups = grouped((*staying, *arriving.get(state_node.name, ())), seen)
            found[position] = replace(known[position], groups=groups)
    return found


def _site(state_node: StateNode, groups: Sequence[Group], column: int, *, named: bool) -> Site:
    return Site(
        labels=labels_of(state_node, named=named),
        single_values=state_node.single_values,
        taints=state_node.taints,
        groups=groups,
        column=column,
        is_leaving=state_node.is_deleting,
    )


def labels_of(state_node: StateNode, *, named: bool) -> Requirements:
    """What is certain about its labels, with its name if somebody asks for that."""
    known = state_node.requirements
    if named and state_node.node is not None:
        known &= Requirements.of(Requirement.parse(labels.NODE_NAME, "In", (state_node.name,)))
    return known


def is_same_ground(one: StateNode, other: StateNode) -> bool:
    """Whether two nodes differ in nothing but their pods and what they have for them."""
    return (
        one.name == other.name
        and one.is_settled == other.is_settled
        and one.taints == other.taints
        and one.requirements == other.requirements
    )
