"""What the volumes of pods ask of their nodes: which nodes reach them, and how many a node attaches.

The idea: a volume to be attached is counted like a resource, `attachable-volumes-csi-DRIVER`. An existing node has as
many left as its CSINode allows beside what is attached; a new one as many as nodes of its type have, as far as such a
node is there. Volumes that several pods share are attached once: each node sets one aside for each of them.

Source: kube-scheduler, volumebinding and nodevolumelimits.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from daiku.model import labels
from daiku.model.pod import Pod
from daiku.model.requirements import NO_REQUIREMENTS, Requirements
from daiku.scheduling.columns import Ints
from daiku.state.snapshot import Snapshot
from daiku.state.statenode import StateNode

PREFIX: Final = "attachable-volumes-csi-"
"""Of the name under which volumes of a driver are counted."""
UNLIMITED: Final = 2**20
"""More volumes than any node attaches."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Ask:
    """What the volumes of one pod ask of its node."""

    alternatives: tuple[Requirements, ...] = (NO_REQUIREMENTS,)
    """Labels; any one of these will do."""
    problem: str = ""
    """Why no node can do; empty when one can."""
    attached: tuple[tuple[str, int], ...] = ()
    """Amounts of `attachable-volumes-csi-DRIVER`."""


NOTHING: Final = Ask()


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Attachments:
    """Volumes of the pods of one problem."""

    asks: Mapping[str, Ask] = field(default_factory=dict[str, Ask])
    """By namespace/name; pods without volumes are absent."""
    of_nodes: Mapping[str, Mapping[str, int]] = field(default_factory=dict[str, Mapping[str, int]])
    """Node name -> `attachable-volumes-csi-DRIVER` -> what is left of it."""
    of_types: Mapping[str, Mapping[str, int]] = field(default_factory=dict[str, Mapping[str, int]])
    """Instance type -> the same for a node without pods."""


def survey(pods: Iterable[Pod], snapshot: Snapshot, expected_on: Mapping[str, str]) -> Attachments:
    """What the volumes of `pods` ask, and what nodes have to give.

    Args:
        pods: Pods to be placed.
        snapshot: Nodes and volumes.
        expected_on: Pods that are on their way to a node, and its name.
    """
    volumes = snapshot.volumes
    concerned = [pod for pod in pods if pod.volume_claims]
    if not concerned:
        return Attachments()
    users: dict[tuple[str, str], int] = {}
    attached = {pod.meta.key: volumes.attached(pod) for pod in concerned}
    for each in attached.values():
        for driver, handles in each.items():
            for handle in handles:
                users[driver, handle] = users.get((driver, handle), 0) + 1
    shared = {volume: True for volume, count in users.items() if count > 1}
    asks: dict[str, Ask] = {}
    for pod in concerned:
        reach = volumes.reach(pod)
        own = {
            PREFIX + driver: sum((driver, handle) not in shared for handle in handles)
            for driver, handles in attached[pod.meta.key].items()
        }
        asks[pod.meta.key] = Ask(
            alternatives=reach.alternatives,
            problem=reach.problem,
            attached=tuple(sorted((name, count) for name, count in own.items() if count)),
        )
    mine = {pod.meta.key: True for pod in concerned}
    there = _there(snapshot, expected_on, mine)
    drivers = dict.fromkeys(driver for each in attached.values() for driver in each)
    of_types = _of_types(snapshot, drivers)
    return Attachments(
        asks=asks,
        of_nodes={
            s.name: _left(s, snapshot, there.get(s.name, ()), tuple(shared), of_types)
            for s in snapshot.state_nodes
        },
        of_types=of_types,
    )


def fill(amounts: Ints, axis: Sequence[str], left: Sequence[Mapping[str, int]]) -> None:
    """Put what is `left` on nodes, or on types, into the rows of `amounts` that are about volumes.

    Args:
        amounts: Shape (R, N).
        axis: The order of R.
        left: By name, for each column; what is absent has no limit.
    """
    for row, name in enumerate(axis):
        if name.startswith(PREFIX):
            amounts[row] = [each.get(name, UNLIMITED) for each in left]


def _there(
    snapshot: Snapshot, expected_on: Mapping[str, str], mine: Mapping[str, bool]
) -> dict[str, list[Pod]]:
    """Pods with volumes by the name of their node, without those that are to be placed."""
    found: dict[str, list[Pod]] = {}
    for state_node in snapshot.state_nodes:
        for pod in state_node.pods:
            if pod.volume_claims and not pod.is_finished and pod.meta.key not in mine:
                found.setdefault(state_node.name, []).append(pod)
    leaving = (p for s in snapshot.state_nodes if s.is_leaving for p in s.pods)
    for pod in (*snapshot.waiting, *leaving) if expected_on else ():
        if pod.volume_claims and pod.meta.key in expected_on and pod.meta.key not in mine:
            found.setdefault(expected_on[pod.meta.key], []).append(pod)
    return found


def _of_types(snapshot: Snapshot, drivers: Iterable[str]) -> dict[str, dict[str, int]]:
    """The lowest limit of any node of each type."""
    found: dict[str, dict[str, int]] = {}
    for state_node in snapshot.state_nodes:
        csi_node = snapshot.volumes.csi_nodes.get(state_node.name)
        if csi_node is None:
            continue
        limits = found.setdefault(state_node.labels.get(labels.INSTANCE_TYPE, ""), {})
        for driver in drivers:
            limit = csi_node.limits.get(driver, UNLIMITED)
            limits[PREFIX + driver] = min(limits.get(PREFIX + driver, UNLIMITED), limit)
    return found


def _left(
    state_node: StateNode,
    snapshot: Snapshot,
    there: Sequence[Pod],
    shared: Sequence[tuple[str, str]],
    of_types: Mapping[str, Mapping[str, int]],
) -> dict[str, int]:
    """What is left of each limit of a node, one set aside for each shared volume that it has not attached yet."""
    csi_node = snapshot.volumes.csi_nodes.get(state_node.name)
    if csi_node is not None:
        limits = {PREFIX + driver: limit for driver, limit in csi_node.limits.items()}
    else:
        limits = dict(of_types.get(state_node.labels.get(labels.INSTANCE_TYPE, ""), {}))
    held: dict[str, dict[str, bool]] = {}
    for pod in there:
        for driver, handles in snapshot.volumes.attached(pod).items():
            held.setdefault(PREFIX + driver, {}).update(handles)
    for driver, handle in shared:
        held.setdefault(PREFIX + driver, {})[handle] = True
    return {name: limit - len(held.get(name, ())) for name, limit in limits.items()}
