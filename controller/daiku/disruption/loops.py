"""Nodes that are made and taken away over and over.

Consolidation and something else that decides about nodes (pods that come and go, another controller, a mistake of
ours) can undo each other for ever. When nodes of one shape have had three lives one after the other within an hour,
each ended by consolidation, their NodePool is not consolidated until an hour after the end of the first. Nodes that
live at the same time are no loop: many of them may go at once.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from daiku import reasons
from daiku.commands import Announce
from daiku.model.nodepool import NodePool
from daiku.state import past
from daiku.state.past import REMEMBERED, Life
from daiku.state.snapshot import Snapshot

REASON: Final = reasons.LOOP
LIVES: Final = 3
"""Lives one after the other that make a loop."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Loop:
    """Lives of one shape in one NodePool, one after the other."""

    lives: tuple[Life, ...]

    @property
    def until(self) -> datetime:
        """Until when the NodePool is left alone."""
        return self.lives[-LIVES].ended + REMEMBERED

    def __str__(self) -> str:
        """One sentence for a person."""
        shape = self.lives[0]
        told = ", ".join(f"{x.name} ({x.made:%H:%M:%S} to {x.ended:%H:%M:%S})" for x in self.lives)
        return (
            f"a node of type {shape.instance_type} ({shape.capacity_type}) was made and taken away "
            f"{len(self.lives)} times within an hour: {told}; NodePool {shape.nodepool} is not consolidated before "
            f"{self.until:%H:%M:%S} UTC"
        )


def find(snapshot: Snapshot) -> dict[str, Loop]:
    """NodePools that go round in circles."""
    found: dict[str, Loop] = {}
    for (pool, *_), circle in sorted(past.circles(snapshot.past.lives).items()):
        if len(circle) >= LIVES:
            found.setdefault(pool, Loop(lives=tuple(circle)))
    return found


def announce(pools: Mapping[str, Loop], snapshot: Snapshot) -> list[Announce]:
    """Tell people who look at the NodePool."""
    there = (snapshot.node_pool(name) for name in pools)
    return [_event(pool, pools[pool.meta.name]) for pool in there if pool is not None]


def _event(pool: NodePool, loop: Loop) -> Announce:
    return Announce.on(
        "NodePool", pool.meta, type_="Warning", reason=reasons.CONSOLIDATION_LOOP, message=str(loop)
    )
