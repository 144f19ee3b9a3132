"""Pods that will lose their nodes, planned for before they do.

A node that is being deleted evicts its pods one after the other, and each then waits for a place. So their places are
looked for as soon as the deletion is known: room that is there, nodes that a disruption has made for them, or new
nodes. Which of them it is falls out of planning them beside the pods that wait, on what is there and on its way.

Not planned for are pods that do not come back, and pods that hold their node up and leave nobody knows when. Others
wait behind those, or for budgets that stay empty: room is paid for, so it is not kept for longer than `KEPT_MOST`, and
who has not left by then is planned for when it has.

Which of the rooms that are there they take is up to kube-scheduler, which does not pack; so it is asked where they
would land (`scheduling.landing`), and only what is left over then is planned for.

Source: Karpenter's GetReschedulablePods of deleting nodes. Unlike there, pods without an owner are left out: nothing
makes them anew.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Final

import numpy as np

from daiku.model import condition, labels
from daiku.model.instance_type import Catalogue
from daiku.model.pdb import Budgets
from daiku.model.pod import Pod
from daiku.scheduling import columns, landing, problem
from daiku.scheduling.columns import Ints
from daiku.scheduling.problem import Problem
from daiku.state.places import OPEN_AFTER
from daiku.state.snapshot import Snapshot
from daiku.state.statenode import StateNode
from daiku.surge import record

_SECOND: Final = timedelta(seconds=1)
"""Times of creation are whole seconds."""
KEPT_MOST: Final = timedelta(minutes=5)
"""How long after its deletion the pods of a node have places kept elsewhere."""


@dataclass(frozen=True, slots=True)
class Leaving:
    """A pod that runs and has to run elsewhere soon."""

    pod: Pod
    since: datetime
    """When that began."""


def find(snapshot: Snapshot, now: datetime) -> list[Leaving]:
    """All of them, in the order of their nodes' names."""
    budgets = Budgets.of(snapshot.pdbs)
    states = (record.read(deployment) for deployment in snapshot.deployments.values())
    # Their replacements are there already, or wait like any pod.
    surged = {state.uid: True for state in states if state is not None}
    going = ((s, _since(s, now)) for s in snapshot.state_nodes if s.is_deleting)
    return [
        Leaving(pod, since)
        for state_node, since in going
        if now - since < KEPT_MOST
        for pod in _moving(state_node, budgets, now)
        if pod.meta.uid not in surged
    ]


def are_closed(snapshot: Snapshot) -> bool:
    """Whether nodes are kept closed for pods that move."""
    return any(s.is_awaiting and not s.is_leaving for s in snapshot.state_nodes)


def waits_until(
    pod: Pod, since: datetime | None, snapshot: Snapshot, now: datetime
) -> datetime | None:
    """Until when nothing is bought for a pod that moves, while nodes are closed (`are_closed`) for others; None: it is.

    Not all who have a place on those come for it, and whatever comes up meanwhile makes kube-scheduler try everybody
    who waits there in vain. Who loses a node that nobody chose to disrupt, as by an interruption, is bought for at
    once.

    Args:
        pod: One without a place.
        since: When its node began to go; None for one that has no node.
        snapshot: Nodes, and whose pods were asked to leave.
        now: The time.
    """
    if since is not None:
        state_node = snapshot.by_name.get(pod.node_name)
        claim = state_node.claim if state_node is not None else None
        if claim is None or labels.DISRUPTION_COMMAND not in claim.meta.annotations:
            return None
    else:
        evicted = snapshot.past.evictions.get(pod.meta.controller_uid)
        if evicted is None or (pod.meta.created or now) < evicted[0] - _SECOND:
            return None
        since = evicted[1]
    return since + OPEN_AFTER if now < since + OPEN_AFTER else None


def landed(
    pods: Sequence[Pod],
    snapshot: Snapshot,
    catalogue: Catalogue,
    *,
    taken: Mapping[str, Mapping[str, int]],
    expected_on: Mapping[str, str],
) -> dict[str, str] | None:
    """Pods -> nodes, ready or coming up, as kube-scheduler would level them; None with constraints between pods.

    Args:
        pods: Pods that wait or will lose their nodes, in the order in which they are tried.
        snapshot: Nodes and pods.
        catalogue: What can be bought.
        taken: What other pods that are expected on a node already will ask of it, by the node's name.
        expected_on: Those pods, and the name of their node.
    """
    asked = problem.build(pods, snapshot, catalogue, taken=taken, expected_on=expected_on)
    if asked.topology is not None:
        return None
    nodes = [snapshot.by_name[name] for name in asked.nodes.names]
    is_open = [not s.is_closed for s in nodes]
    question = landing.of(
        asked.resources,
        free=asked.nodes.free,
        held=columns.amounts(asked.resources, [s.used() for s in nodes]),
        hostable=asked.nodes.hostable,
        requests=asked.requests,
        kin=_kin(asked, pods, nodes),
    )
    waiting = {row: asked.counted[row].pods for row in np.flatnonzero(asked.counts).tolist()}
    turn = {pod.meta.key: number for number, pod in enumerate(pods)}
    order = sorted(waiting, key=lambda row: min(turn[pod] for pod in waiting[row]))
    found, _ = landing.homes(
        replace(question, order=np.array(order, dtype=np.intp)),
        asked.nodes.names,
        waiting,
        np.array(is_open, dtype=np.bool_),
    )
    return found


def _kin(asked: Problem, pods: Sequence[Pod], nodes: Sequence[StateNode]) -> Ints:
    """Pods that ask for the same as each class on each node, shape (C, H): most often those of its owner."""
    by_key = {pod.meta.key: pod for pod in pods}
    classes = [_asks(by_key[each.pods[0]]) if each.pods else () for each in asked.counted]
    beside = [s.active_by_requests for s in nodes]
    kin = [[there.get(asks, 0) if asks else 0 for there in beside] for asks in classes]
    return np.array(kin, dtype=np.int64).reshape(len(classes), len(nodes))


def _asks(pod: Pod) -> tuple[tuple[str, int], ...]:
    return tuple(sorted(pod.requests.items()))


def _moving(state_node: StateNode, budgets: Budgets, now: datetime) -> Iterator[Pod]:
    for pod in state_node.pods:
        if not pod.is_reschedulable or not pod.meta.owners or pod.must_not_be_disrupted(now):
            continue
        about = budgets.about(pod)
        if len(about) < 2 and not any(pdb.keeps(pod) for pdb in about):
            yield pod


def _since(state_node: StateNode, now: datetime) -> datetime:
    """When the node began to go."""
    claim, node = state_node.claim, state_node.node
    ending = condition.find(claim.conditions if claim else (), "InstanceTerminating")
    times = [half.meta.deleted for half in (claim, node) if half is not None]
    times += [ending.last_transition] if ending is not None else []
    return min((at for at in times if at is not None), default=now)
