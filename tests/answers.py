"""What comes back to the controller, for tests: instances, and what became of commands."""

from collections.abc import Mapping
from dataclasses import replace
from datetime import datetime

from tests.build import NOW

from daiku import commands, events
from daiku.cloud.provider import Instance, LaunchedInstance
from daiku.model import labels, resources
from daiku.model.instance_type import Catalogue
from daiku.model.nodeclaim import NodeClaim


def launched(
    claim: str = "default-aaaaa", *, sold_out: tuple[tuple[str, str, str], ...] = ()
) -> LaunchedInstance:
    room = resources.parse({"cpu": "4", "memory": "8Gi", "pods": "110"})
    return LaunchedInstance(
        provider_id=f"kwok://{claim}",
        instance_type="c-4x",
        zone="zone-a",
        capacity_type="on-demand",
        image_id="ami-1",
        labels={labels.INSTANCE_TYPE: "c-4x", labels.ZONE: "zone-a"},
        annotations={"cloud": "yes"},
        capacity=room,
        allocatable=room,
        sold_out=sold_out,
    )


def instance(
    claim: str = "default-aaaaa", *, launched: datetime = NOW, terminating: bool = False
) -> Instance:
    return Instance(
        provider_id=f"kwok://{claim}",
        node_claim=claim,
        nodepool="default",
        launched=launched,
        terminating=terminating,
    )


def empty_catalogue() -> Catalogue:
    return Catalogue(version=1, instance_types={})


def relabelled(claim: NodeClaim, known: Mapping[str, str]) -> NodeClaim:
    return replace(claim, meta=replace(claim.meta, labels=known))


def creation(claim: NodeClaim, *pods: str) -> commands.CreateNodeClaim:
    return commands.CreateNodeClaim(node_claim=claim, pods=pods)


def failed(command: commands.Command, at: datetime = NOW) -> events.Failed:
    return events.Failed(command, RuntimeError("refused"), at)
