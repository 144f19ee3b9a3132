"""The controller's table of contents: from what is believed to what is to be done.

`tick` is a pure function. The live loop, `daiku plan`, the simulation and a pull request all call it.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from daiku.commands import Command, CreateNodeClaim, DeleteNodeClaim, PatchNodeClaim
from daiku.disruption import audit as disruption_audit
from daiku.disruption import plan as disruption
from daiku.lifecycle import audit as lifecycle_audit
from daiku.lifecycle import plan as lifecycle
from daiku.model.instance_type import Catalogue
from daiku.provisioning import plan as provisioning
from daiku.provisioning import static
from daiku.report import Report
from daiku.scheduling import audit as scheduling_audit
from daiku.scheduling import prices
from daiku.scheduling.packer.effort import Stop
from daiku.settings import Settings
from daiku.state.snapshot import Snapshot


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """What one tick decided."""

    commands: tuple[Command, ...]
    """In the order in which they are begun; no two of one key."""
    report: Report
    wake_at: datetime | None
    """When to decide again even if nothing happens; None: only when something does."""


def tick(
    snapshot: Snapshot,
    catalogue: Catalogue,
    settings: Settings,
    now: datetime,
    stop: Stop | None = None,
    *,
    hurry: Stop | None = None,
) -> Plan:
    """Decide everything that is to be done now.

    Args:
        snapshot: What is believed.
        catalogue: What can be bought, and for how much.
        settings: How to decide.
        now: The time.
        stop: Asked every few milliseconds of a search whether the best so far must do: the live loop's time box.
            Without it a search takes the steps that suit its size, so the same arguments make the same plan.
        hurry: The same for pods that wait, whose nodes shall not be late for a last cent; None: as `stop`.
    """
    if not snapshot.synced:
        note = "nothing is decided before every kind of object has been listed once"
        return Plan(commands=(), report=Report(notes=(note,)), wake_at=None)

    begun = lifecycle.plan(snapshot, catalogue, settings, now)
    asked = provisioning.plan(snapshot, catalogue, settings, now, hurry or stop)
    going = disruption.plan(snapshot, catalogue, settings, asked.placements, now, stop=stop)
    fixed = static.plan(snapshot, catalogue, settings, now)

    wanted = [*begun.commands, *asked.commands, *going.commands, *fixed.commands]
    free, wakes = _free(wanted, snapshot, settings)
    # What an order asks for need not be worth its price.
    planned = [c for c in free if c not in fixed.commands]
    violations = (
        # Places that were given before were looked at then, and nothing is made where nothing is planned.
        *(
            scheduling_audit.audit(planned, asked.placements, snapshot, catalogue)
            if asked.planned or any(isinstance(c, CreateNodeClaim) for c in planned)
            else ()
        ),
        *lifecycle_audit.audit(free, snapshot),
        *disruption_audit.audit(free, snapshot, now),
    )
    illegal = {v.command.key: v for v in violations if v.command is not None}
    lost = {
        pod: True
        for c in free
        if c.key in illegal and isinstance(c, CreateNodeClaim)
        for pod in c.pods
    }
    wakes += [*begun.wakes, *going.wakes, *fixed.wakes]
    wakes += [asked.wake_at] if asked.wake_at is not None else []
    report = Report(
        unschedulable=asked.unschedulable,
        kept=tuple(going.kept),
        proposals=tuple(going.proposals),
        looks={**going.looks, **fixed.looks},
        placements={pod: node for pod, node in asked.placements.items() if pod not in lost},
        usd_per_hour=sum(prices.of_nodes(snapshot, catalogue).values()),
        lower_bound_usd_per_hour=asked.lower_bound_usd_per_hour,
        new_usd_per_hour=asked.new_usd_per_hour,
        planned_pods=asked.planned,
        settled=tuple(begun.settled),
        notes=tuple(f"audit, rule {v.rule}: {v.message}" for v in violations),
    )
    return Plan(
        commands=tuple(command for command in free if command.key not in illegal),
        report=report,
        wake_at=_first(wakes, now),
    )


def _free(
    wanted: Sequence[Command], snapshot: Snapshot, settings: Settings
) -> tuple[list[Command], list[datetime]]:
    """Commands that may begin now, one of each key, and when those that are paused may be asked for again."""
    room = settings.commands_in_flight_max - sum(
        1 for hold in snapshot.holds.values() if hold.until is None
    )
    free: dict[str, Command] = {}
    wakes: list[datetime] = []
    for command in wanted:
        hold = snapshot.holds.get(command.key)
        if hold is not None:
            wakes += [hold.until] if hold.until is not None else []
        elif command.key in free:
            first = free[command.key]
            # What is to be ended need not be brought up to date first. Of two reasons the first is the one.
            if isinstance(command, DeleteNodeClaim) and not isinstance(first, DeleteNodeClaim):
                free[command.key] = command
            elif isinstance(command, PatchNodeClaim) and isinstance(first, PatchNodeClaim):
                free[command.key] = _both(first, command)
        elif len(free) < room:
            free[command.key] = command
    return list(free.values()), wakes


def _both(first: PatchNodeClaim, second: PatchNodeClaim) -> PatchNodeClaim:
    """One patch for what the lifecycle and a disruption write on the same NodeClaim."""
    annotations = {**(first.annotations or {}), **(second.annotations or {})}
    return replace(
        first,
        annotations=annotations or None,
        conditions=(*first.conditions, *second.conditions),
    )


def _first(wakes: Iterable[datetime], now: datetime) -> datetime | None:
    return min((at for at in wakes if at > now), default=None)
