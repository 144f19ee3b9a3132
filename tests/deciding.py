"""What a controller that runs does about the pods of a small world: its loop, with the API server's answers."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from tests import build

from daiku import events
from daiku.commands import CreateNodeClaim, Launch
from daiku.events import Object
from daiku.model.instance_type import Catalogue, LaunchOption
from daiku.report import Report
from daiku.settings import Settings
from daiku.tick import tick


@dataclass(frozen=True, kw_only=True)
class Decided:
    """What came of it."""

    creations: tuple[CreateNodeClaim, ...]
    launches: dict[str, tuple[LaunchOption, ...]]
    """NodeClaim -> what the cloud is asked for; none for one that is given up."""
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
    """Decide when the pods come, when their batch closes, and once the NodeClaims are written."""
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
    now = began + settings.batch_max
    for command in creations:
        claim = command.node_claim
        written = replace(claim, meta=replace(claim.meta, uid=claim.meta.name))
        cluster.apply(events.Seen(written))
        cluster.apply(events.Done(command, now))
    now += timedelta(milliseconds=1)
    following = tick(cluster.snapshot(now), catalogue, settings, now)
    return Decided(
        creations=tuple(creations),
        launches={
            c.node_claim.meta.name: c.options for c in following.commands if isinstance(c, Launch)
        },
        placements=placements,
        report=report,
    )
