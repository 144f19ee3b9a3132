"""What a tick leaves behind for those who ask what was decided: made into `api.decisions` only when somebody does.

A tick hands over its own values, which nobody changes. What is listed is bounded, and what is left out is counted.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from importlib import metadata
from typing import Final, TypeVar

import msgspec

from daiku import reasons
from daiku.api import decisions
from daiku.api.decisions import Decisions, Failing, KeptNode, Resting, UnderWay
from daiku.commands import Announce, DeleteNodeClaim, PatchNodeClaim
from daiku.disruption import consolidation, disruption_commands
from daiku.disruption.plan import REST
from daiku.model import labels
from daiku.report import Kept, Look, Report, Unschedulable
from daiku.runtime import clock
from daiku.settings import Settings
from daiku.state.snapshot import Snapshot
from daiku.tick import Plan

LISTED_MOST: Final = 10_000
"""Nodes, pods or commands in one list: more nodes than a cluster has, and an answer of a few megabytes at most."""
SENTENCE_MOST: Final = 1000
"""Characters of a reason; the longest are lists of pods, and an Event has no more either."""
_PASSING: Final = frozenset({reasons.NOT_EMPTY, reasons.WAITS})
"""What a tick says of a node that it has not come to; what was said of it before is the better answer."""
_OF_ROUNDS: Final = ("drift", consolidation.LOOK)
"""Looks that remember what they said of nodes; what consolidation said counts most."""
_EVENTS: Final = "Event/"
"""How the keys of announcements begin."""
_T = TypeVar("_T")


@dataclass(frozen=True, slots=True, kw_only=True)
class Tick:
    """What one tick knew and decided, all of it immutable."""

    snapshot: Snapshot
    plan: Plan
    at: datetime
    next_at: datetime | None
    """When the next is due if nothing happens."""


@dataclass(slots=True, kw_only=True)
class Telling:
    """Answers who asks. Any thread may ask; the thread that decides is heard."""

    identity: str
    """As in the Lease."""
    settings: Settings
    leads: Callable[[], bool]
    _last: Tick | None = None
    _made: tuple[Tick, Decisions] | None = None
    """The answer of one tick, of which only the time changes."""
    version: str = field(default_factory=lambda: metadata.version("daiku"))

    def hear(self, tick: Tick) -> None:
        """Take what was decided just now."""
        self._last = tick

    def answer(self) -> tuple[int, str, bytes]:
        """Status, content type and body."""
        return 200, "application/json", decisions.encode(self.told(clock.now()))

    def told(self, now: datetime) -> Decisions:
        """The last word; nobody's who does not lead."""
        tick, leads = self._last, self.leads()
        if tick is None or not leads:
            return Decisions(version=self.version, identity=self.identity, leading=leads, now=now)
        made = self._made
        if made is None or made[0] is not tick:
            told = of_tick(
                tick, self.settings, version=self.version, identity=self.identity, now=now
            )
            made = self._made = (tick, told)
        return msgspec.structs.replace(made[1], now=now)


def of_tick(
    tick: Tick, settings: Settings, *, version: str, identity: str, now: datetime
) -> Decisions:
    """What a leader says after a tick.

    Args:
        tick: The last one.
        settings: As it decides.
        version: Of the controller.
        identity: As in the Lease.
        now: The time.
    """
    report, omitted = tick.plan.report, dict[str, int]()
    stuck = report.unschedulable if report.planned_pods else tick.snapshot.unschedulable
    return Decisions(
        version=version,
        identity=identity,
        leading=True,
        now=now,
        at=tick.at,
        next_at=tick.next_at,
        unschedulable=tuple(_some_pods(stuck, omitted)),
        placements=dict(_some("placements", report.placements.items(), omitted)),
        kept=_some("kept", _kept(tick), omitted),
        going=dict(_some("going", _going(tick.plan).items(), omitted)),
        proposals=_some("proposals", _proposals(report), omitted),
        repacked=_repacked({**tick.snapshot.looks, **report.looks}),
        commands=_some("commands", _commands(tick), omitted),
        failing=_some("failing", _failing(tick.snapshot), omitted),
        usd_per_hour=report.usd_per_hour,
        new_usd_per_hour=report.new_usd_per_hour,
        lower_bound_usd_per_hour=report.lower_bound_usd_per_hour,
        notes=_some("notes", (_short(note) for note in report.notes), omitted),
        settings=_settings(settings),
        omitted=omitted,
    )


def _some(name: str, found: Iterable[_T], omitted: dict[str, int]) -> tuple[_T, ...]:
    """The first of them, and a count of the others."""
    everything = tuple(found)
    if len(everything) > LISTED_MOST:
        omitted[name] = len(everything) - LISTED_MOST
    return everything[:LISTED_MOST]


def _some_pods(found: Iterable[Unschedulable], omitted: dict[str, int]) -> Iterator[Unschedulable]:
    """The same of pods in groups."""
    left = LISTED_MOST
    for each in found:
        told = each.pods[:left]
        left -= len(told)
        if len(told) < len(each.pods):
            omitted["unschedulable"] = omitted.get("unschedulable", 0) + len(each.pods) - len(told)
        if told:
            yield Unschedulable(pods=told, blockers=each.blockers)


def _kept(tick: Tick) -> Iterator[KeptNode]:
    """What is said of each node, in the order of NodeClaims: by this tick, or before it came to others first."""
    snapshot, report = tick.snapshot, tick.plan.report
    said = {each.node_claim: (each, tick.at) for each in report.kept}
    looks = {**snapshot.looks, **report.looks}
    going = _going(tick.plan)
    for name in _OF_ROUNDS:
        look = looks.get(name)
        for each in look.kept if look is not None else ():
            known = said.get(each.node_claim)
            if look is not None and (known is None or _is_passing(known[0], snapshot)):
                said[each.node_claim] = each, look.at
    until = {c: p.decided + REST for p in report.proposals for c in p.claims}
    for name in sorted(said):
        each, at = said[name]
        there = snapshot.by_name.get(name)
        if there is None or there.is_deleting or (name in going and name not in until):
            continue
        pool = snapshot.node_pool(there.nodepool) if each.reason == reasons.TOO_YOUNG else None
        yield KeptNode(
            node_claim=name,
            node=there.node.meta.name if there.node is not None else "",
            node_pool=there.nodepool,
            reason=each.reason,
            message=_short(each.message),
            decided=at,
            until=until.get(name) or (there.consolidatable_at(pool) if pool is not None else None),
        )


def _is_passing(said: Kept, snapshot: Snapshot) -> bool:
    """Whether a node was only passed over."""
    there = snapshot.by_name.get(said.node_claim)
    pool = snapshot.node_pool(there.nodepool) if there is not None else None
    only_empty = pool is not None and pool.consolidation_policy == "WhenEmpty"
    return said.reason in _PASSING and not (said.reason == reasons.NOT_EMPTY and only_empty)


def _going(plan: Plan) -> dict[str, str]:
    """NodeClaims that rest before they go, or begin to go now, and why."""
    going = {claim: str(p) for p in plan.report.proposals for claim in p.claims}
    for command in plan.commands:
        if isinstance(command, DeleteNodeClaim):
            going.setdefault(command.name, f"{command.reason}: now")
        elif isinstance(command, PatchNodeClaim):
            written = disruption_commands.parse(
                (command.annotations or {}).get(labels.DISRUPTION_COMMAND)
            )
            if written is not None:
                going.setdefault(command.name, f"{written.reason}: its turn has come")
    return going


def _proposals(report: Report) -> Iterator[Resting]:
    for each in report.proposals:
        yield Resting(
            id=each.id,
            reason=each.reason,
            method=each.method,
            node_claims=each.claims,
            node_pools=each.node_pools,
            new_nodes=each.new_nodes,
            saves_usd_per_hour=each.saves_usd_per_hour,
            sentence=_short(str(each)),
            decided=each.decided,
            until=each.decided + REST,
        )


def _repacked(looks: Mapping[str, Look]) -> str:
    return next((str(x.repacked) for x in looks.values() if x.repacked is not None), "")


def _commands(tick: Tick) -> Iterator[UnderWay]:
    """What this tick began, and what was under way before it; what is only said to people aside."""
    for command in tick.plan.commands:
        if not isinstance(command, Announce):
            yield UnderWay(key=command.key, kind=type(command).__name__, since=tick.at)
    for key, hold in sorted(tick.snapshot.holds.items()):
        if hold.until is None and not key.startswith(_EVENTS):
            yield UnderWay(key=key, kind="", since=hold.since)


def _failing(snapshot: Snapshot) -> Iterator[Failing]:
    for key, hold in sorted(snapshot.holds.items()):
        if hold.failures and hold.until is not None:
            yield Failing(key=key, failures=hold.failures, why=_short(hold.why), until=hold.until)


def _short(text: str) -> str:
    return text if len(text) <= SENTENCE_MOST else f"{text[: SENTENCE_MOST - 1]}…"


def _settings(settings: Settings) -> dict[str, str]:
    """Settings that change what is decided, under the names that set them."""
    return {
        "BATCH_IDLE_DURATION": f"{settings.batch_idle.total_seconds():g}s",
        "BATCH_MAX_DURATION": f"{settings.batch_max.total_seconds():g}s",
        "CLUSTER_NAME": settings.cluster_name,
        "MIN_VALUES_POLICY": settings.min_values_policy,
        "PER_NODE_COST": f"{settings.per_node_cost_usd_per_hour:g}",
        "PREFERENCE_POLICY": settings.preference_policy,
        "SOLVE_MAX_DURATION": f"{settings.solve_max.total_seconds():g}s",
        "FEATURE_GATES": ",".join(f"{k}={v}" for k, v in sorted(settings.extra.items())),
    }
