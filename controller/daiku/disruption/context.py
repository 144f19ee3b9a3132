"""What all methods of one tick share, and what each of them returns.

The what-if, prices, costs and budgets are worked out when they are first asked for: most ticks ask nothing of them.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from functools import cached_property
from hashlib import sha256

from daiku.commands import Command
from daiku.disruption import budgets, disruption_commands, eviction_cost, fallback, loops
from daiku.disruption.budgets import Allowance
from daiku.disruption.candidates import Candidate
from daiku.disruption.disruption_commands import Move
from daiku.disruption.loops import Loop
from daiku.model.instance_type import Catalogue
from daiku.reason import Reason
from daiku.report import Kept, Look, Proposal
from daiku.scheduling import prices, whatif
from daiku.scheduling.packer.effort import Stop
from daiku.scheduling.solution import NewNode
from daiku.scheduling.whatif import WhatIf
from daiku.settings import Settings
from daiku.state.snapshot import Snapshot
from daiku.state.statenode import StateNode


@dataclass(kw_only=True)
class DisruptionContext:
    """One tick's view of disruption. Made and used up within it."""

    snapshot: Snapshot
    catalogue: Catalogue
    settings: Settings
    placements: Mapping[str, str]
    """Where pending pods are expected, by this tick's word."""
    moves: tuple[Move, ...]
    now: datetime
    stop: Stop | None = None
    """Asked now and then whether what is best so far must do."""
    _costs: eviction_cost.Costs | None = None
    _allowances: dict[str, Allowance] = field(default_factory=dict[str, Allowance])

    @property
    def members(self) -> frozenset[str]:
        """NodeClaims that are about to go."""
        return frozenset(s.claim_name for move in self.moves for s in move.members)

    def repacked_pools(self, most: timedelta, is_so: Callable[[Move], bool]) -> frozenset[str]:
        """NodePools with a step of a repack of which something is so, and which began less than `most` ago."""
        young = (m for m in self.moves if m.is_repack and m.is_younger_than(most, self.now))
        return frozenset(pool for move in young if is_so(move) for pool in move.pools)

    @cached_property
    def world(self) -> WhatIf:
        """The what-if in which everything that is about to go is gone."""
        return self.world_with(self.members)

    def world_with(self, gone: frozenset[str]) -> WhatIf:
        """The what-if in which these NodeClaims are gone."""
        edited = disruption_commands.as_if_gone(self.snapshot, gone)
        short = fallback.sold_out(self.snapshot, self.catalogue, self.now)
        if short:
            edited = replace(edited, sold_out={**short, **edited.sold_out})
        return whatif.prepare(
            edited, self.catalogue, self.settings, self.placements, stop=self.stop
        )

    @cached_property
    def loops(self) -> Mapping[str, Loop]:
        """NodePools whose nodes are made and taken away over and over."""
        return loops.find(self.snapshot)

    @cached_property
    def prices(self) -> Mapping[str, float]:
        """What each launched node costs in USD per hour, by name; 0 when the catalogue does not say."""
        return prices.of_nodes(self.snapshot, self.catalogue)

    def moving(self, nodes: Iterable[StateNode], world: WhatIf) -> float:
        """USD per hour that must be saved so that moving the pods of `nodes` pays; `world` says what room is worth."""
        if self._costs is None:
            # What room is worth is much the same in all what-ifs of a tick.
            self._costs = eviction_cost.Costs.of_snapshot(world, self.snapshot)
        total = 0.0
        for state_node in nodes:
            pool = self.snapshot.node_pool(state_node.nodepool)
            if pool is not None:
                lasting = eviction_cost.horizon(pool)
                total += self._costs.per_hour(state_node.reschedulable, lasting)
        return total

    def allowance(self, reason: Reason) -> Allowance:
        """What the budgets leave for `reason`; the same one each time, so what is taken stays taken."""
        if reason not in self._allowances:
            self._allowances[reason] = budgets.allowance(
                self.snapshot, reason, self.now, self.members
            )
        return self._allowances[reason]

    @cached_property
    def unquiet(self) -> frozenset[str]:
        """Nodes that a pod has joined or left so lately that their NodePool wants them left in peace."""
        return frozenset(
            s.name
            for s in self.snapshot.state_nodes
            if (pool := self.snapshot.node_pool(s.nodepool)) is not None
            and (due := s.consolidatable_at(pool)) is not None
            and due > self.now
        )


@dataclass(slots=True)
class MethodResult:
    """What is to be done about nodes that may go, by one method or by all. Made and used up within one tick."""

    commands: list[Command] = field(default_factory=list[Command])
    kept: list[Kept] = field(default_factory=list[Kept])
    """Nodes that could have been disrupted and are not, and why."""
    proposals: list[Proposal] = field(default_factory=list[Proposal])
    """Decisions: of all methods together, those that wait before they are acted upon."""
    looks: dict[str, Look] = field(default_factory=dict[str, Look])
    """What is to be remembered of methods that look at a part of the nodes at a time."""
    wakes: list[datetime] = field(default_factory=list[datetime])
    """When it would be decided otherwise if nothing happened."""

    def add(self, other: "MethodResult") -> None:
        """Take over what another says, but for its proposals."""
        self.commands += other.commands
        self.kept += other.kept
        self.looks |= other.looks
        self.wakes += other.wakes

    def keep(self, candidate: Candidate, reason: Reason, message: str) -> None:
        """Say why a node stays."""
        self.kept.append(Kept(node_claim=candidate.name, reason=reason, message=message))


def propose(
    candidates: Sequence[Candidate],
    context: DisruptionContext,
    *,
    reason: Reason,
    method: str,
    new_nodes: Sequence[NewNode] = (),
    saves_usd_per_hour: float = 0.0,
) -> Proposal:
    """The proposal to take these nodes away, with `new_nodes` in their place."""
    names = tuple(sorted(c.name for c in candidates))
    seed = f"{method}/{','.join(names)}/{context.now.isoformat()}"
    return Proposal(
        id=sha256(seed.encode()).hexdigest()[:8],
        reason=reason,
        method=method,
        claims=names,
        node_pools=tuple(sorted(dict.fromkeys(c.pool.meta.name for c in candidates))),
        new_nodes=len(new_nodes),
        detail=", ".join(node.types[0].name for node in new_nodes),
        saves_usd_per_hour=saves_usd_per_hour,
        decided=context.now,
        changes=context.snapshot.changes,
    )
