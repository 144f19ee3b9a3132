"""How the pods of one class are divided among domains, before any node is looked at.

The idea: every domain stays within one pod of every other, as far as what is there already allows. Pods go to
the emptiest domains first, and so do pods that only *count* for someone else's constraint. Whoever is spread over
the same pods then fits everywhere, in whatever order the scheduler binds them: it holds by invariant, not by search.

Letters in shapes: none; there are few domains, and lists are quicker than arrays for them.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from daiku.scheduling.topology.bays import UNLIMITED


@dataclass(frozen=True, slots=True, kw_only=True)
class Level:
    """Counts of one counter, and what a class may make of them."""

    position: int
    """Which key it is about: a position in each cell."""
    counts: Mapping[int, int]
    """By domain."""
    universe: frozenset[int]
    """Domains that count for the emptiest."""
    max_skew: int = UNLIMITED
    """Without it the counts should stay level, but need not."""
    min_domains: int = 1
    adds: bool = True
    """Whether each pod of the class raises the count."""

    def least(self) -> int:
        """The count of the emptiest domain, 0 when there are fewer domains than there should be."""
        if len(self.universe) < self.min_domains:
            return 0
        return min((self.counts.get(d, 0) for d in sorted(self.universe)), default=0)


def fill(
    count: int,
    level: Level,
    domains: Sequence[int],
    load: Mapping[int, float],
    room: Callable[[int], int],
) -> dict[int, int]:
    """Divide `count` pods among `domains` by one level, the emptiest first; fewer when the skew does not allow more.

    Args:
        count: Pods.
        level: The only counter that matters.
        domains: Where pods may go.
        load: How much each domain carries; the least loaded one gets what does not divide.
        room: For how many of them a domain has room without another node; it gets that first.
    """
    heights = {d: level.counts.get(d, 0) for d in domains}
    rest = [level.counts.get(d, 0) for d in level.universe if d not in heights]
    short = len(level.universe) < level.min_domains
    ceiling = (0 if short else min(rest) if rest else UNLIMITED) + level.max_skew
    order = sorted(domains, key=lambda d: (heights[d], load.get(d, 0.0), d))
    filled = dict.fromkeys(order, 0)
    if count == 1:
        lowest = [d for d in order if heights[d] == heights[order[0]]]
        first = _roomiest_first(lowest, filled, load, room)
        return {first[0]: 1} if order and heights[order[0]] < ceiling else {}
    left = count
    # Raise the lowest ones to the next height, all together, until the pods are used up.
    for lowest in range(1, len(order) + 1):
        here = heights[order[lowest - 1]]
        above = heights[order[lowest]] if lowest < len(order) else UNLIMITED * 2
        rise = min(above, ceiling) - here
        if rise <= 0:
            if here >= ceiling:
                break
            continue
        whole = min(rise, left // lowest)
        for domain in order[:lowest]:
            filled[domain] += whole
        left -= whole * lowest
        if whole < rise:
            ranked = _roomiest_first(order[:lowest], filled, load, room) if left else []
            for domain in ranked[:left]:
                filled[domain] += 1
            break
        for position in range(lowest):
            heights[order[position]] = here + whole
    return {d: n for d, n in filled.items() if n}


def _roomiest_first(
    domains: Sequence[int],
    filled: Mapping[int, int],
    load: Mapping[int, float],
    room: Callable[[int], int],
) -> list[int]:
    """Domains that have room for one pod more than they get before the others, then the least loaded first."""
    if len(domains) < 2:
        return list(domains)
    return sorted(domains, key=lambda d: (room(d) <= filled[d], load.get(d, 0.0), d))


def one_by_one(
    count: int,
    levels: Sequence[Level],
    cells: Sequence[tuple[int, ...]],
    load: Sequence[float],
    room: Sequence[int],
) -> dict[int, int]:
    """Divide `count` pods among `cells` when several counters matter; pods of each cell, by its position.

    Args:
        count: Pods.
        levels: Counters that matter.
        cells: The domain of each key, for each cell in which pods may go.
        load: How much each cell carries.
        room: For how many of them each cell has room without another node.
    """
    counts = [dict(level.counts) for level in levels]
    filled: dict[int, int] = {}
    for _ in range(count):
        best: tuple[tuple[int, int, bool, int, float, int], int] | None = None
        least = [
            0
            if len(level.universe) < level.min_domains
            else min((c.get(d, 0) for d in sorted(level.universe)), default=0)
            for level, c in zip(levels, counts, strict=True)
        ]
        for index, cell in enumerate(cells):
            over: list[int] = []
            for level, c, low in zip(levels, counts, least, strict=True):
                skew = c.get(cell[level.position], 0) + level.adds - low
                if skew > level.max_skew:
                    break
                over.append(skew if level.adds else 0)
            else:
                own = filled.get(index, 0)
                rank = (max(over), sum(over), room[index] <= own, own, load[index], index)
                if best is None or rank < best[0]:
                    best = rank, index
        if best is None:
            break
        chosen = best[1]
        filled[chosen] = filled.get(chosen, 0) + 1
        for level, c in zip(levels, counts, strict=True):
            if level.adds:
                domain = cells[chosen][level.position]
                c[domain] = c.get(domain, 0) + 1
    return filled
