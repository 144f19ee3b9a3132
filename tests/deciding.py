"""What a controller that runs does about the pods of a small world: its loop, until a batch is planned."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from tests import build

from daiku.commands import CreateNodeClaim
from daiku.events import Object
from daiku.lifecycle import launch
from daiku.model.instance_type import Catalogue, LaunchOption
from daiku.report import Report
from daiku.settings import Settings
from daiku.tick import tick


@dataclass(frozen=True, kw_only=True)
class Decided:
    """What came of it."""

    creations: tuple[CreateNodeClaim, ...]
    launches: dict[str, tuple[LaunchOption, ...]]
    """NodeClaim -> what the cloud would be asked for; empty for one that would be given up."""
    placements: dict[str, str]
    """Pod -> node or NodeClaim."""
    report: Report
    """Of the tick that closed the batch."""


def live(
    objects: Sequence[Object],
    catalogue: Catalogue,
    settings: Settings,
    began: datetime = build.NOW,
) -> Decided:
    """Decide when the pods come, and when their batch closes."""
    cluster = build.cluster(*objects, settings=settings, catalogue_of=catalogue)
    creations: list[CreateNodeClaim] = []
    placements: dict[str, str] = {}
    report = Report()
    for now in (began, began + settings.batch_max):
        plan = tick(cluster.snapshot(now), catalogue, settings, now)
        made = [c for c in plan.commands if isinstance(c, CreateNodeClaim)]
        for command in made:
            cluster.begin(command, now)
        cluster.planned(plan.report, now)
        creations += made
        report = plan.report
        placements = {**report.placements, **placements}
    snapshot = cluster.snapshot(began + settings.batch_max)
    return Decided(
        creations=tuple(creations),
        # A launch is asked for a tick later; by then pods may be expected elsewhere, and a NodeClaim be unneeded.
        launches={
            c.node_claim.meta.name: launch.options(c.node_claim, snapshot, catalogue, settings)
            for c in creations
        },
        placements=placements,
        report=report,
    )
