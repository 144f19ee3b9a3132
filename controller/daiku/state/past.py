"""What only what happened tells: whose pods were moved lately, and which nodes came and went.

The problem: a pod that was moved comes back under another name, and a node that is made again is another node; looking
at the cluster alone, nobody sees that the same is done over and over. The idea: evictions are remembered by the owner
of the pod, nodes by what they were. A pod of an owner whose pods were asked to leave is taken for one that was moved
when it was bound after the first of these; so is every pod that was bound shortly before this process began to look,
because nobody knows what the one before it did. Nodes that were made again after consolidation had taken their like
are written on their NodePool, so that whoever leads next knows of them.
"""

import json
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any, Final, cast

from daiku import reasons
from daiku.model import labels
from daiku.model.condition import find
from daiku.model.nodeclaim import NodeClaim
from daiku.model.nodepool import NodePool
from daiku.model.pod import Pod

RESIDENCY: Final = timedelta(minutes=10)
"""For how long after a move it is dearer to move a pod again."""
REMEMBERED: Final = timedelta(hours=1)
"""How long nodes that went are remembered."""
_CONSOLIDATED: Final = reasons.UNDERUTILIZED


@dataclass(frozen=True, slots=True, kw_only=True)
class Life:
    """A node that consolidation took away."""

    name: str
    """Of its NodeClaim."""
    nodepool: str
    instance_type: str
    capacity_type: str
    made: datetime
    ended: datetime
    """When it was told to go."""

    @property
    def shape(self) -> tuple[str, str, str]:
        """What makes two nodes alike."""
        return self.nodepool, self.instance_type, self.capacity_type


def circles(lives: Iterable[Life]) -> dict[tuple[str, str, str], list[Life]]:
    """Of `lives`, in the order of their ends, those of each shape that were made after the one before had ended."""
    found: dict[tuple[str, str, str], list[Life]] = {}
    for life in lives:
        chosen = found.setdefault(life.shape, [])
        if not chosen or life.made >= chosen[-1].ended:
            chosen.append(life)
    return found


@dataclass(frozen=True, slots=True, kw_only=True)
class Past:
    """What is remembered at one instant."""

    since: datetime | None = None
    """When this process began to look; None when it has no part in any of it."""
    evictions: Mapping[str, tuple[datetime, datetime]] = field(
        default_factory=dict[str, "tuple[datetime, datetime]"]
    )
    """uid of an owner -> when the first and the last of its pods were asked to leave, within one residency of each
    other."""
    lives: tuple[Life, ...] = ()
    """In the order in which they ended."""

    @property
    def moved_nothing(self) -> bool:
        """Whether no pod whatever can have been moved lately."""
        return self.since is None and not self.evictions

    def freshness(self, pod: Pod, now: datetime) -> float:
        """How lately a pod was moved: 1 for just now, 0 for `RESIDENCY` ago, or never."""
        if self.moved_nothing or pod.scheduled is None or pod.scheduled <= now - RESIDENCY:
            return 0.0
        moved = self.since is not None and pod.scheduled < self.since
        known = self.evictions.get(pod.meta.controller_uid)
        if known is not None:
            moved = moved or known[0] <= pod.scheduled <= known[1] + RESIDENCY
        return 1.0 - max((now - pod.scheduled) / RESIDENCY, 0.0) if moved else 0.0

    def note(self, nodepool: str) -> str | None:
        """What is to be written on a NodePool: nodes that were made again and taken away again; None when none was."""
        if not self.lives:
            return None
        own = circles(x for x in self.lives if x.nodepool == nodepool)
        rows = [
            [x.name, x.instance_type, x.capacity_type, x.made.isoformat(), x.ended.isoformat()]
            for _, circle in sorted(own.items())
            for x in circle
            if len(circle) > 1
        ]
        return json.dumps(rows, separators=(",", ":")) if rows else None


@dataclass(slots=True)
class Memory:
    """Takes in what happens. Part of `Cluster`; lost with it."""

    _since: datetime | None = None
    _evictions: dict[str, tuple[datetime, datetime]] = field(
        default_factory=dict[str, "tuple[datetime, datetime]"]
    )
    _lives: dict[str, Life] = field(default_factory=dict[str, Life])

    def evict(self, pod: Pod | None, now: datetime) -> None:
        """A pod is asked to leave."""
        if pod is None or not pod.meta.controller_uid:
            return
        first, last = self._evictions.get(pod.meta.controller_uid, (now, now))
        self._evictions[pod.meta.controller_uid] = (now if now - last > RESIDENCY else first, now)

    def lose(self, claim: NodeClaim) -> None:
        """A NodeClaim is gone."""
        told = find(claim.conditions, "DisruptionReason")
        if told is None or told.status != "True" or told.reason != _CONSOLIDATED:
            return
        if claim.meta.created is None or claim.meta.deleted is None:
            return
        self._lives[claim.meta.name] = Life(
            name=claim.meta.name,
            nodepool=claim.nodepool,
            instance_type=claim.meta.labels.get(labels.INSTANCE_TYPE, ""),
            capacity_type=claim.meta.labels.get(labels.CAPACITY_TYPE, ""),
            made=claim.meta.created,
            ended=claim.meta.deleted,
        )

    def recall(self, pool: NodePool) -> None:
        """Take in what was written on a NodePool, by this process or the one before."""
        for life in _noted(pool):
            self._lives.setdefault(life.name, life)

    def at(self, now: datetime) -> Past:
        """What is remembered at `now`; what is older is forgotten."""
        self._since = self._since or now
        if not (self._evictions or self._lives):
            return Past(since=self._since)
        old = [uid for uid, (_, last) in self._evictions.items() if now - last > 2 * RESIDENCY]
        for uid in old:
            del self._evictions[uid]
        self._lives = {n: x for n, x in self._lives.items() if now - x.ended < REMEMBERED}
        lives = sorted(self._lives.values(), key=lambda life: (life.ended, life.name))
        return Past(since=self._since, evictions=dict(self._evictions), lives=tuple(lives))


def _noted(pool: NodePool) -> Sequence[Life]:
    """What `Past.note` wrote; nothing of what it did not write."""
    found: list[Life] = []
    # A person may have edited it.
    with suppress(ValueError, TypeError):
        rows: Any = json.loads(pool.meta.annotations.get(labels.CIRCLING, "[]"))
        for name, instance_type, capacity_type, made, ended in cast("list[list[str]]", rows):
            found.append(
                Life(
                    name=name,
                    nodepool=pool.meta.name,
                    instance_type=instance_type,
                    capacity_type=capacity_type,
                    made=datetime.fromisoformat(made),
                    ended=datetime.fromisoformat(ended),
                )
            )
    return [x for x in found if x.made.tzinfo is not None and x.ended.tzinfo is not None]
