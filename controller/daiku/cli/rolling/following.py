"""Watching a roll: how far it is, which nodes are going, and when it has stood still for too long."""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Final

from daiku.cli.rolling import holding, rounds
from daiku.cli.rolling.rounds import Member, Selection
from daiku.kube.client import Client
from daiku.model import units
from daiku.runtime import clock

POLL_SECONDS: Final = 2.0
STILL_SECONDS: Final = 180.0
"""Without a change for so long a person is told how to find out why."""
HELD_SECONDS: Final = 10.0
"""How often it is asked what holds nodes up; a multiple of the time between two polls."""
_NAMED_MOST: Final = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class Stand:
    """How far a roll is."""

    total: int
    left: tuple[Member, ...]
    """Those still to be replaced, the ones that are going among them."""
    paused: bool

    @property
    def done(self) -> int:
        """How many are replaced."""
        return max(0, self.total - len(self.left))

    def __str__(self) -> str:
        """One line for people."""
        going = [m.node or m.name for m in self.left if m.going]
        more = f" and {len(going) - _NAMED_MOST} more" if len(going) > _NAMED_MOST else ""
        now = f"; going: {', '.join(going[:_NAMED_MOST])}{more}" if going else ""
        rest = "; paused" if self.paused else ""
        return f"{self.done} of {units.counted(self.total, 'node')} replaced{now}{rest}"


def stand(members: Sequence[Member]) -> Stand:
    """How far the roll of these is."""
    marked = [(m, m.mark) for m in members if m.mark is not None]
    return Stand(
        total=max((mark.total for _, mark in marked), default=0),
        left=tuple(m for m, _ in marked),
        paused=bool(marked) and all(mark.paused for _, mark in marked),
    )


@dataclass(slots=True)
class Follower:
    """Asks the cluster again and again until nothing is left to be replaced."""

    client: Client
    selection: Selection
    show: Callable[[Stand], None]
    """Told whenever something has changed."""
    hint: Callable[[Stand], None]
    """Told when nothing has for long."""
    say: Callable[[str], None]
    """Told what holds a node up, once for each that changes."""
    sleep: Callable[[float], None] = time.sleep
    _marked: dict[str, None] = field(default_factory=dict[str, None])
    _total: int = 0
    _held: dict[str, bool] = field(default_factory=dict[str, bool])
    """What held nodes up the last time -> whether it has been said."""

    def follow(self) -> Stand:
        """How it ended: with nothing left, or paused by somebody else.

        Raises:
            KubeError: The cluster cannot be read any more.
        """
        last, still, waited = "", 0.0, 0.0
        while True:
            members = rounds.read(self.client)
            now = stand([m for m in members if m.mark is not None and self._is_mine(m)])
            self._total = max(self._total, now.total)
            now = Stand(total=self._total, left=now.left, paused=now.paused)
            if str(now) != last:
                last, still = str(now), 0.0
                self.show(now)
            if not now.left or now.paused:
                return now
            if waited % HELD_SECONDS == 0:
                self._tell(holding.held(self.client, now.left, clock.now()))
            self.sleep(POLL_SECONDS)
            still, waited = still + POLL_SECONDS, waited + POLL_SECONDS
            if still >= STILL_SECONDS:
                still = 0.0
                self.hint(now)

    def _tell(self, held: Sequence[str]) -> None:
        """Say what was so the last time already: most pods end within seconds."""
        for each in held:
            if self._held.get(each) is False:
                self.say(each)
        self._held = {each: each in self._held for each in held}

    def _is_mine(self, member: Member) -> bool:
        """A node that was meant once stays so, even when its Node has gone before its NodeClaim."""
        if self.selection.has(member):
            self._marked[member.name] = None
        return member.name in self._marked
