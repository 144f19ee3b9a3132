"""What the core would do with nodes, asked while nothing is carried out. Who asks: `explanation`."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

from daiku import forecast, reasons
from daiku.commands import Command, DeleteNodeClaim, PatchNodeClaim
from daiku.disruption import consolidation, disruption_commands
from daiku.events import Object
from daiku.model import labels
from daiku.model.instance_type import Catalogue
from daiku.reason import Reason
from daiku.report import Kept, Look, Report
from daiku.scheduling.packer.effort import Stop
from daiku.settings import Settings
from daiku.state.cluster import Cluster
from daiku.tick import Plan, tick

LOOKED: Final = timedelta(minutes=1)
"""How long the core decides about nodes: longer than a consolidation rests before it acts."""
TICKS_MOST: Final = 200
_PASSING: Final = frozenset(
    {
        reasons.BUDGET,
        reasons.DISRUPTING,
        reasons.LET_OFF,
        reasons.NOMINATED,
        reasons.RETURN_WAITS,
        reasons.TOO_YOUNG,
        reasons.WAITS,
    }
)
"""Why a node is kept now and may not be in a minute, although nothing happens."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """What is asked of."""

    objects: Sequence[Object]
    catalogue: Catalogue
    settings: Settings
    now: datetime
    stop: Stop | None = None
    """Asked now and then whether the best repack so far must do."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Decided:
    """What becomes of NodeClaims."""

    kept: Mapping[str, Kept]
    """Why each is kept."""
    going: Mapping[str, str]
    """Why others go."""
    repacked: str = ""
    """What all nodes that may go could become."""


def cluster_of(question: Question) -> Cluster:
    """What the controller would believe, new each time: to ask changes it."""
    return forecast.cluster(question.objects, question.catalogue, question.settings)


def deleted_now(question: Question) -> dict[str, Reason]:
    """NodeClaims that are deleted at once, such as those that never became nodes, and why."""
    plan = _tick(cluster_of(question), question, question.now)
    return {c.name: c.reason for c in plan.commands if isinstance(c, DeleteNodeClaim)}


def of_one(
    claim: str, claims: Sequence[str], cluster: Cluster, question: Question
) -> tuple[Kept | None, str]:
    """Why a NodeClaim is kept, now or in a minute if that may differ, and why it goes; empty when it stays."""
    why: Kept | None = None
    for now in (question.now, question.now + LOOKED):
        # Consolidation has looked at all others and found nothing.
        round_ = Look(
            at=now - LOOKED,
            changes=cluster.snapshot(now).changes,
            tried=frozenset(claims) - {claim},
        )
        cluster.planned(Report(looks={consolidation.LOOK: round_}), now)
        plan = _tick(cluster, question, now)
        goes = _goes(plan).get(claim, "")
        why = next((each for each in plan.report.kept if each.node_claim == claim), None)
        if goes or why is None or why.reason not in _PASSING:
            return why, goes
    return why, ""


def within_a_minute(cluster: Cluster, question: Question) -> Decided:
    """What the core says of every NodeClaim within a minute in which nothing is carried out, and of all of them."""
    kept: dict[str, Kept] = {}
    going: dict[str, str] = {}
    repacked = ""
    now = question.now
    for _ in range(TICKS_MOST):
        plan = _tick(cluster, question, now)
        cluster.planned(plan.report, now)
        # While one decision rests nothing more is said of others than that pods run there.
        said = {each.node_claim: each for each in plan.report.kept}
        kept |= {
            n: each for n, each in said.items() if n not in kept or each.reason != reasons.NOT_EMPTY
        }
        looked = [str(x.repacked) for x in plan.report.looks.values() if x.repacked is not None]
        repacked = repacked or "".join(looked[:1])
        going = {**_goes(plan), **going}
        if plan.wake_at is None or plan.wake_at > question.now + LOOKED:
            break
        if question.stop is not None and question.stop():
            break
        now = plan.wake_at
    return Decided(kept=kept, going=going, repacked=repacked)


def at_once(cluster: Cluster, question: Question) -> Decided:
    """What the core says at once of the NodeClaims that it comes to, one by one; of the others nothing."""
    begun = Look(at=question.now - LOOKED, changes=cluster.snapshot(question.now).changes)
    cluster.planned(Report(looks={consolidation.LOOK: begun}), question.now)
    plan = _tick(cluster, question, question.now)
    kept = {each.node_claim: each for each in plan.report.kept if each.reason != reasons.WAITS}
    return Decided(kept=kept, going=_goes(plan))


def _tick(cluster: Cluster, question: Question, now: datetime) -> Plan:
    return tick(cluster.snapshot(now), question.catalogue, question.settings, now, question.stop)


def _goes(plan: Plan) -> dict[str, str]:
    """NodeClaims that a plan takes away, and why."""
    going = {claim: str(p) for p in plan.report.proposals for claim in p.claims}
    for command in plan.commands:
        going |= _begun(command, going)
    return going


def _begun(command: Command, known: Mapping[str, str]) -> Mapping[str, str]:
    """NodeClaims that a command begins to take away, and why."""
    if isinstance(command, DeleteNodeClaim):
        return (
            {}
            if command.name in known
            else {command.name: f"{command.reason}: {reasons.means(command.reason)}; now"}
        )
    if isinstance(command, PatchNodeClaim) and command.name not in known:
        written = disruption_commands.parse(
            (command.annotations or {}).get(labels.DISRUPTION_COMMAND)
        )
        if written is not None:
            return {
                command.name: f"{written.reason}: {reasons.means(written.reason)}; its turn has come"
            }
    return {}
