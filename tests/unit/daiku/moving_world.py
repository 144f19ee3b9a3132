"""A tiny world whose evicted pods come back under another name, as those of a ReplicaSet do."""

import itertools
from dataclasses import replace
from datetime import timedelta
from typing import Any

from tests import build
from tests.unit.daiku.tiny_world import World, annotated

from daiku import commands
from daiku.commands import Command
from daiku.model import labels, taints
from daiku.model.condition import Condition, find
from daiku.model.node import Node
from daiku.model.nodeclaim import NodeClaim
from daiku.model.pod import Pod
from daiku.tick import Plan

_numbers = itertools.count(1)


class Moving(World):
    """Counts evictions, and keeps what happened to nodes."""

    evicted = 0

    def carry_out(self, command: Command) -> None:
        if isinstance(command, commands.Evict):
            pod = self.objects[Pod, f"{command.namespace}/{command.name}"]
            assert isinstance(pod, Pod)
            super().carry_out(command)
            self.evicted += 1
            name = f"again-{next(_numbers)}"
            # Of a new pod only its template knows anything, and nobody writes this there.
            said = annotated(pod.meta, {labels.POD_DELETION_COST: None}).annotations
            meta = replace(pod.meta, name=name, uid=name, deleted=None, created=self.now)
            meta = replace(meta, annotations=said)
            fresh = replace(pod, meta=meta, node_name="", phase="Pending", unschedulable=True)
            self.put(replace(fresh, ready=False, scheduled=None))
            return
        super().carry_out(command)

    def nodes(self) -> dict[str, str]:
        """Node -> its instance type."""
        return {n.meta.name: n.meta.labels[labels.INSTANCE_TYPE] for n in self.all(Node)}

    def price(self) -> float:
        return self.last.report.usd_per_hour

    def kept(self) -> dict[str, str]:
        return {k.node_claim: k.reason for k in self.last.report.kept}

    def told(self, claim: str) -> Condition | None:
        """The condition DisruptionReason."""
        return find(self.claim(claim).conditions, "DisruptionReason")

    def claim(self, name: str) -> NodeClaim:
        found = self.objects[NodeClaim, name]
        assert isinstance(found, NodeClaim)
        return found

    def tainted(self) -> list[str]:
        return [n.meta.name for n in self.all(Node) if taints.includes(n.taints, taints.DISRUPTED)]

    def step(self, **how: Any) -> Plan:
        self.last = super().step(**how)
        notes = self.last.report.notes
        assert not [note for note in notes if note.startswith("audit")], notes
        return self.last


def world(
    *objects: Any,
    boot: int = 20,
    types: Any = (),
    pool: Any = None,
    kind: type[Moving] = Moving,
    **settings: Any,
) -> Moving:
    """A world in which `objects` are there, and their nodes have been quiet for a while."""
    from daiku.settings import Settings  # noqa: PLC0415 - only this function makes one

    made = kind(
        now=build.NOW + timedelta(minutes=15),
        catalogue=build.catalogue(*types),
        settings=Settings(**settings),
        boot=timedelta(seconds=boot),
    )
    for thing in (build.node_class(), pool or build.node_pool(), *objects):
        made.put(thing)
    for claim in made.all(NodeClaim):
        made.instances[claim.provider_id] = build.instance(claim)
    made.restart()
    return made


def running(
    name: str, kind: str = "c-4x", *, cpu: str = "4", **fields: Any
) -> tuple[NodeClaim, Node]:
    """A NodeClaim of the default NodePool and its node."""
    memory = f"{int(cpu) * 2}Gi"
    claim = build.node_claim(name, instance_type=kind, cpu=cpu, memory=memory, **fields)
    return claim, build.node(claim=claim)
