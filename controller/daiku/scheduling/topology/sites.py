"""Every node with the pods that count there: they run on it or are expected, and do not look for another place."""

from collections.abc import Mapping, Sequence

from daiku.model import labels
from daiku.model.pod import Pod
from daiku.model.requirements import Requirement, Requirements
from daiku.scheduling.topology.counts import Site
from daiku.state.snapshot import Snapshot
from daiku.state.statenode import StateNode, grouped


def sites(
    snapshot: Snapshot,
    ordered: Sequence[StateNode],
    moving: Sequence[Pod],
    expected_on: Mapping[str, str],
    *,
    seen: frozenset[str],
    named: bool,
) -> list[Site]:
    """All nodes of `snapshot`, whether they take pods or not.

    Args:
        snapshot: Nodes and pods.
        ordered: Nodes that take pods.
        moving: Pods that look for a place.
        expected_on: Pods that have no node yet, by namespace/name, and the name of the node on which they are expected.
        seen: Labels of pods that constraints look at.
        named: Whether somebody asks for nodes by name.
    """
    column = {s.name: index for index, s in enumerate(ordered)}
    arriving: dict[str, list[Pod]] = {}
    leaving = (p for s in snapshot.state_nodes if s.is_leaving for p in s.pods)
    for pod in (*snapshot.waiting, *leaving) if expected_on else ():
        if pod.meta.key in expected_on:
            arriving.setdefault(expected_on[pod.meta.key], []).append(pod)
    mine = frozenset(pod.meta.key for pod in moving)
    changed = dict.fromkeys((*arriving, *(p.node_name for p in moving)))
    found: list[Site] = []
    for state_node in snapshot.state_nodes:
        groups = state_node.groups(seen)
        if state_node.name in changed:
            there = (*state_node.pods, *arriving.get(state_node.name, ()))
            groups = grouped((pod for pod in there if pod.meta.key not in mine), seen)
        found.append(
            Site(
                labels=labels_of(state_node, named=named),
                single_values=state_node.single_values,
                taints=state_node.taints,
                groups=groups,
                column=column.get(state_node.name, -1),
                is_leaving=state_node.is_deleting,
            )
        )
    return found


def labels_of(state_node: StateNode, *, named: bool) -> Requirements:
    """What is certain about its labels, with its name if somebody asks for that."""
    known = state_node.requirements
    if named and state_node.node is not None:
        known &= Requirements.of(Requirement.parse(labels.NODE_NAME, "In", (state_node.name,)))
    return known
