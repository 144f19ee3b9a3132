"""What all methods of one tick share: the snapshot, who may go, what the budgets leave, and the what-if.

The what-if is prepared when it is first asked for: most ticks ask nothing of it.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta

from daiku.disruption import budgets, fallback, loops, moves, payback
from daiku.disruption.budgets import Allowance
from daiku.disruption.candidates import Candidate
from daiku.disruption.loops import Loop
from daiku.disruption.moves import Move
from daiku.disruption.repack import Repack
from daiku.model.instance_type import Catalogue
from daiku.scheduling import prices, whatif
from daiku.scheduling.packer.effort import Stop
from daiku.scheduling.whatif import WhatIf
from daiku.settings import Settings
from daiku.state.snapshot import Snapshot
from daiku.state.statenode import StateNode


@dataclass(slots=True, kw_only=True)
class Ground:
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
    _world: WhatIf | None = None
    _prices: Mapping[str, float] | None = None
    _costs: payback.Costs | None = None
    _loops: Mapping[str, Loop] | None = None
    _unquiet: frozenset[str] | None = None
    _least_priority: int | None = None
    repacks: dict[tuple[str, ...], Repack] = field(default_factory=dict[tuple[str, ...], Repack])
    """What sets of nodes could become, as far as it has been searched for in this tick."""
    _allowances: dict[str, Allowance] = field(default_factory=dict[str, Allowance])

    @property
    def members(self) -> frozenset[str]:
        """NodeClaims that are about to go."""
        return frozenset(s.claim_name for move in self.moves for s in move.members)

    def repacked_pools(self, most: timedelta, is_so: Callable[[Move], bool]) -> frozenset[str]:
        """NodePools with a step of a repack of which something is so, and which began less than `most` ago."""
        young = (m for m in self.moves if m.is_repack and m.is_younger_than(most, self.now))
        return frozenset(pool for move in young if is_so(move) for pool in move.pools)

    def world(self) -> WhatIf:
        """The what-if in which everything that is about to go is gone."""
        if self._world is None:
            self._world = self.world_with(self.members)
        return self._world

    def world_with(self, gone: frozenset[str]) -> WhatIf:
        """The what-if in which these NodeClaims are gone."""
        edited = moves.as_if_gone(self.snapshot, gone)
        short = fallback.sold_out(self.snapshot, self.catalogue, self.now)
        if short:
            edited = replace(edited, sold_out={**short, **edited.sold_out})
        return whatif.prepare(
            edited, self.catalogue, self.settings, self.placements, stop=self.stop
        )

    def loops(self) -> Mapping[str, Loop]:
        """NodePools whose nodes are made and taken away over and over."""
        if self._loops is None:
            self._loops = loops.find(self.snapshot)
        return self._loops

    def prices(self) -> Mapping[str, float]:
        """What each launched node costs in USD per hour, by name; 0 when the catalogue does not say."""
        if self._prices is None:
            self._prices = prices.of_nodes(self.snapshot, self.catalogue)
        return self._prices

    def moving(self, nodes: Iterable[StateNode], world: WhatIf) -> float:
        """USD per hour that must be saved so that moving the pods of `nodes` pays; `world` says what room is worth."""
        if self._costs is None:
            snapshot = self.snapshot
            self._costs = payback.Costs.of_snapshot(world, snapshot)
        total = 0.0
        for state_node in nodes:
            pool = self.snapshot.node_pool(state_node.nodepool)
            if pool is not None:
                total += self._costs.per_hour(state_node.reschedulable, payback.horizon(pool))
        return total

    def allowance(self, reason: str) -> Allowance:
        """What the budgets leave for `reason`; the same one each time, so what is taken stays taken."""
        if reason not in self._allowances:
            self._allowances[reason] = budgets.allowance(
                self.snapshot, reason, self.now, self.members
            )
        return self._allowances[reason]

    def least_priority(self) -> int:
        """The lowest priority of a pod that runs and could be moved; 0 when there is none."""
        if self._least_priority is None:
            running = (pod.priority for s in self.snapshot.state_nodes for pod in s.reschedulable)
            self._least_priority = min(running, default=0)
        return self._least_priority

    def unquiet(self) -> frozenset[str]:
        """Nodes that a pod has joined or left so lately that their NodePool wants them left in peace."""
        if self._unquiet is None:
            self._unquiet = frozenset(
                s.name
                for s in self.snapshot.state_nodes
                if (pool := self.snapshot.node_pool(s.nodepool)) is not None
                and (due := s.consolidatable_at(pool)) is not None
                and due > self.now
            )
        return self._unquiet


def names(candidates: Iterable[Candidate]) -> frozenset[str]:
    """Their nodes, by name."""
    return frozenset(c.state_node.name for c in candidates)
