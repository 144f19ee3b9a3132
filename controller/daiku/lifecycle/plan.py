"""What was begun is finished: every NodeClaim, Node and NodePool is brought one step further.

Each NodeClaim goes through its stages in order, every time: launch, registration, initialization, limits of time;
before them all comes what the cloud has said of its instance, and whether its machine is broken. A stage that is done
says so again and costs nothing. One that is being deleted goes through its end instead.
"""

from dataclasses import dataclass, field
from datetime import datetime

from daiku.commands import Command
from daiku.events import Interrupted
from daiku.lifecycle import (
    collection,
    consistency,
    drain,
    drift,
    hydration,
    initialization,
    interruption,
    launch,
    liveness,
    nodepools,
    quietness,
    registration,
    repair,
    reserved,
    termination,
)
from daiku.lifecycle.draft import Draft
from daiku.model.instance_type import Catalogue
from daiku.settings import Settings
from daiku.state import ownership
from daiku.state.snapshot import Snapshot
from daiku.state.statenode import StateNode
from daiku.surge import carry as surge


@dataclass(slots=True)
class Lifecycle:
    """What is to be done about what exists."""

    commands: list[Command] = field(default_factory=list[Command])
    wakes: list[datetime] = field(default_factory=list[datetime])
    settled: list[Interrupted] = field(default_factory=list[Interrupted])
    """Warnings of the cloud about which nothing is left to be done."""


def plan(snapshot: Snapshot, catalogue: Catalogue, settings: Settings, now: datetime) -> Lifecycle:
    """Decide the next step of everything that exists."""
    made = Lifecycle()
    warnings = interruption.by_claim(snapshot)
    made.settled += interruption.settled(warnings, snapshot, settings)
    unhealthy = repair.count(snapshot, settings)
    standard = drift.Standard.of(snapshot, catalogue)
    for state_node in snapshot.state_nodes:
        draft = Draft(state_node.claim, now) if state_node.claim is not None else None
        if draft is not None and not state_node.expected:
            about = warnings.get(state_node.claim_name, ())
            interruption.advance(draft, state_node, about, settings)
            if not draft.ended:
                repair.advance(draft, state_node, unhealthy, settings)
            _advance(draft, state_node, snapshot, catalogue, settings)
            if draft.claim.meta.deleted is None and not draft.ended:
                reserved.advance(draft, state_node, snapshot, standard.instances)
            if draft.claim.meta.deleted is None:
                drift.advance(draft, standard)
        node = state_node.node
        ours = draft is not None or (node is not None and ownership.is_of_ours(node, settings))
        if node is not None and node.meta.deleted is not None and ours:
            ending = termination.of_node(state_node, node, draft, snapshot, now)
            made.commands += ending.commands
            made.wakes += ending.wakes
        if draft is not None and not state_node.expected:
            made.commands += draft.commands
            made.wakes += draft.wakes
            patch = draft.patch()
            if patch is not None:
                made.commands.append(patch)
    made.commands, wakes = drain.in_turn(made.commands, snapshot, now)
    made.wakes += wakes
    surges = surge.on(snapshot, now)
    made.commands += surges.commands
    made.wakes += surges.wakes
    made.commands += collection.orphans(snapshot, settings)
    made.commands += nodepools.patches(snapshot, catalogue, now)
    return made


def _advance(
    draft: Draft,
    state_node: StateNode,
    snapshot: Snapshot,
    catalogue: Catalogue,
    settings: Settings,
) -> None:
    if draft.claim.meta.deleted is not None:
        termination.of_claim(draft, snapshot)
        return
    if draft.ended:
        return
    hydration.advance(draft, state_node, snapshot)
    launch.advance(draft, snapshot, catalogue, settings)
    registration.advance(draft, snapshot)
    initialization.advance(draft, snapshot)
    if not draft.ended:
        collection.advance(draft, state_node, snapshot)
    if not draft.ended:
        liveness.advance(draft, settings)
    consistency.advance(draft, state_node)
    quietness.advance(draft, state_node, snapshot)
