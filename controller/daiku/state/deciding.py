"""What decisions remember from tick to tick: pods without a place, disruptions that rest, nodes that were looked at.

All of it may be lost in a restart: decisions are made again, and nodes are looked at again. Only circles are not
noticed again from the start: they are written on their NodePools (`state.past`).
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from datetime import datetime
from functools import cache
from typing import Final

from daiku.commands import Command, DeletePod, Evict
from daiku.events import Object
from daiku.model.namespace import Namespace
from daiku.model.node import Node
from daiku.model.nodeclaim import NodeClaim
from daiku.model.nodeclass import NodeClass
from daiku.model.nodepool import NodePool
from daiku.model.pdb import PodDisruptionBudget
from daiku.model.pod import Pod
from daiku.report import Look, Proposal, Report, Unschedulable
from daiku.state.past import Memory

_MATTER: Final = (Pod, Node, NodeClaim, NodePool, NodeClass, PodDisruptionBudget, Namespace)
"""Kinds whose changes could change a decision; a namespace may ask for surges for all its pods."""
_VERSION: Final = frozenset({"resource_version"})
_APART: Final = frozenset({"meta", "nominated_node_name"})
"""When kube-scheduler nominates a pod to a node, pods there begin to leave, which is seen as well."""


@dataclass(slots=True)
class Deciding:
    """Part of `Cluster`."""

    proposals: tuple[Proposal, ...] = ()
    looks: dict[str, Look] = field(default_factory=dict[str, Look])
    changes: int = 0
    """Grows with everything that could change a decision to disrupt."""
    past: Memory = field(default_factory=Memory)
    last_pass: datetime | None = None
    """When pods were last planned."""
    unschedulable: tuple[Unschedulable, ...] = ()
    """What the last pass found no place for."""

    def planned(self, report: Report, now: datetime) -> None:
        """Remember what a tick decided."""
        if report.planned_pods:
            self.last_pass, self.unschedulable = now, report.unschedulable
        self.proposals = report.proposals
        self.looks |= report.looks

    def begin(self, command: Command, pods: Mapping[str, Object], now: datetime) -> None:
        """A command is handed to the executor."""
        if isinstance(command, Evict | DeletePod):
            pod = pods.get(f"{command.namespace}/{command.name}")
            self.past.evict(pod if isinstance(pod, Pod) else None, now)

    def lose(self, lost: Object) -> None:
        """An object is gone."""
        self.changes += 1
        if isinstance(lost, NodeClaim):
            self.past.lose(lost)

    def see(self, before: Object | None, seen: Object) -> bool:
        """Count a change; whether there is one, beside the version of the object."""
        changed = before is None or _is_other(before, seen)
        self.changes += changed and isinstance(seen, _MATTER)
        if changed and isinstance(seen, NodePool):
            self.past.recall(seen)
        return changed

    def still_unschedulable(self, waiting: frozenset[str]) -> tuple[Unschedulable, ...]:
        """What the last pass found no place for and is still `waiting`."""
        left = (
            replace(each, pods=tuple(pod for pod in each.pods if pod in waiting))
            for each in self.unschedulable
        )
        return tuple(each for each in left if each.pods)


def _is_other(before: Object, seen: Object) -> bool:
    """Whether anything differs that a decision could hang on."""
    if before.meta.resource_version == seen.meta.resource_version:
        return False
    return _differ(before.meta, seen.meta, _VERSION) or _differ(before, seen, _APART)


def _differ(one: object, other: object, beside: frozenset[str]) -> bool:
    """Whether two values of one class differ in any field that is not one of those."""
    return any(
        getattr(one, name) != getattr(other, name)
        for name in _fields(type(one))
        if name not in beside
    )


@cache
def _fields(kind: type) -> tuple[str, ...]:
    return tuple(each.name for each in fields(kind))
