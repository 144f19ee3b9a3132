"""New nodes for pods, chosen by price.

The idea: fill a node of every instance type with the pods that are worth most for the room they take, in several mixes
of cpu and memory; take the node that carries most worth per dollar, as often as there are pods for it; repeat. What a
pod is worth comes from the lower bound's prices, so a node that is filled evenly wins over one that is
filled with whatever is largest.

Pods share a node only if their requirements can be met together. Which classes those are is tried from each
requirement that is left, alone and joined with all others that do not make the node dearer.

Letters in shapes: R resources, C classes, M classes that may share the node, T instance types, K candidate nodes
(one per mix and type), L limited resources.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Final

import numpy as np
from numpy.typing import NDArray

from daiku.model import resources
from daiku.model.requirements import Requirements
from daiku.scheduling import columns, mixes, purchase, worths
from daiku.scheduling.caps import Caps
from daiku.scheduling.columns import Floats, Ints, Mask
from daiku.scheduling.min_values import keeps_min_values
from daiku.scheduling.packed import PackedNode
from daiku.scheduling.packer.effort import Stop
from daiku.scheduling.problem import Problem
from daiku.scheduling.purchase import Bought, Purchase

_JOIN_LOSS: Final = 0.97
"""Least share of worth per dollar that must be left when another requirement joins a node."""
_PURCHASES_MOST: Final = 8
"""How often what a limit has refused is bought anew; what is then left is filled node by node."""


@dataclass(frozen=True, slots=True, eq=False)
class Group:
    """Classes of one NodePool that may share a node."""

    template: int
    requirements: Requirements
    prices: Floats
    """Shape (T,)."""
    members: NDArray[np.intp]
    """Their class indices, shape (M,)."""


@dataclass(slots=True, eq=False)
class Packing:
    """Packs what existing nodes have no room for. Made for one solve."""

    problem: Problem
    residual: Ints
    """Pods of each class that have no place yet, shape (C,); goes down as nodes are made."""
    per_node_usd_per_hour: float
    left: list[Ints]
    """What the limits of each template still allow, shape (L,) each; goes down as nodes are made."""
    min_values_bind: bool
    """Whether a node is given up when too few types are left for `minValues`."""
    caps: Caps
    """How many pods of a class a node takes."""
    stop: Stop | None = None
    """Asked now and then whether the cheapest nodes so far must do."""
    nodes: list[PackedNode] = field(default_factory=list[PackedNode])
    lower_bound: float = 0.0
    _joined: dict[tuple[int, Requirements, Requirements], tuple[Requirements, Floats] | None] = (
        field(
            default_factory=dict[
                tuple[int, Requirements, Requirements], "tuple[Requirements, Floats] | None"
            ]
        )
    )
    _usable: dict[tuple[int, Requirements, bytes], NDArray[np.intp]] = field(
        default_factory=dict[tuple[int, Requirements, bytes], NDArray[np.intp]]
    )

    def fill(self, templates: Sequence[int]) -> None:
        """Make nodes from `templates`, which are equally welcome, until no pod is left that fits one.

        First what is cheapest for all pods together; what that could not take into account (minValues, custom labels
        that cannot be shared) is filled node by node.
        """
        asked = self.residual.copy()
        bound = self._fill(templates)
        left = np.flatnonzero(self.residual)
        if any(
            self.problem.templates[t].hostings[row].types.any() for t in templates for row in left
        ):
            # Pods that a limit or minValues left without a node have no share in what the nodes cost.
            bound = worths.worth_of(self.problem, asked - self.residual, templates).usd_per_hour
        self.lower_bound += bound

    def _fill(self, templates: Sequence[int]) -> float:
        """Make the nodes; the least that could carry every pod that `templates` can host."""
        least = worths.worth_of(self.problem, self.residual, templates)
        worth = least.worth
        bound = max(least.usd_per_hour, self._buy(templates, worth))
        while self.residual.any():
            best: tuple[tuple[float, float], PackedNode] | None = None
            for template in templates:
                for group in self._groups(template, worth):
                    for offer in self._offers(group, worth):
                        if best is None or offer[0] > best[0]:
                            best = offer
            if best is None:
                break
            self._take(best[1], columns.AMOUNT_MAX)
        return bound

    def _buy(self, templates: Sequence[int], worth: Floats) -> float:
        """Make what is cheapest for all pods that are left; the least that they could cost in USD per hour.

        Where a limit ends, the nodes that carry most for their price are made, and the rest is bought anew from what
        the limits leave.
        """
        carries = worth @ self.problem.requests
        bounds: list[float] = []
        while self.residual.any() and len(bounds) < _PURCHASES_MOST:
            before = self.residual.copy()
            bought = self._purchase(templates, self.per_node_usd_per_hour)
            bounds.append(bought.lower_bound_usd_per_hour)
            if self._are_too_many(bought.nodes):
                # Of few nodes, larger ones carry more pods, whatever they cost.
                bought = self._purchase(templates, self._dearest(templates))
            is_short = False
            for nodes in sorted(
                bought.nodes, key=lambda n: -round(float(carries @ n.counts) / n.price, 9)
            ):
                is_short |= not self._accept(nodes)
            if not is_short or (before == self.residual).all():
                break
        return bounds[0] if bounds else 0.0

    def _purchase(self, templates: Sequence[int], per_node_usd_per_hour: float) -> Purchase:
        return purchase.cheapest(
            self.problem,
            self.residual,
            templates,
            per_node_usd_per_hour,
            self.caps,
            within={index: self._within(index) for index in templates},
            stop=self.stop,
        )

    def _are_too_many(self, nodes: Iterable[Bought]) -> bool:
        """Whether a limit allows fewer nodes than were bought of its NodePool."""
        counts: Counter[int] = Counter()
        for each in nodes:
            counts[each.template] += each.copies
        for index, count in counts.items():
            limited = self.problem.templates[index].limited
            if (
                resources.NODES in limited
                and self.left[index][limited.index(resources.NODES)] < count
            ):
                return True
        return False

    def _dearest(self, templates: Sequence[int]) -> float:
        """What the dearest node costs that could be made."""
        # Most classes share their list of prices.
        lists = {
            id(h.prices): h.prices for t in templates for h in self.problem.templates[t].hostings
        }
        every = np.concatenate(list(lists.values()))
        return float(every[np.isfinite(every)].max(initial=0.0))

    def _within(self, index: int) -> Mask:
        """Types of which the limits of a template allow another node, shape (T,)."""
        return np.all(self.problem.templates[index].capacity <= self.left[index][:, None], axis=0)

    def fill_one(self, templates: Sequence[int]) -> None:
        """Make the cheapest node of `templates` that holds every pod that is left, if there is one."""
        members = np.flatnonzero(self.residual if self.caps.allow(self.residual) else 0)
        best: tuple[tuple[float, int], PackedNode] | None = None
        for index in templates if members.size else ():
            group = self._shared(index, members)
            node = group and self._cheapest(group, self.residual[members], self._within(index))
            if node:
                offer = (float(node.prices[node.types].min()), index), node
                best = min(best or offer, offer, key=lambda each: each[0])
        if best is not None:
            self._take(best[1], 1)

    def join(self) -> None:
        """Put pods for which no more nodes can be made on those that are made, where one of their types has room.

        That may make a node dearer: it is done only when the alternative is to wait.
        """
        rows = np.flatnonzero((self.residual > 0) & ~self.caps.capped)
        if not rows.size or not self.nodes:
            return
        # Most nodes are one of a few, made several times.
        distinct = {id(node): self._roomiest(node) for node in self.nodes}
        roomiest = np.stack([distinct[id(node)] for node in self.nodes], axis=1)
        for row in map(int, rows):
            fits = columns.copies(roomiest, self.problem.requests[:, row])
            for position in map(int, np.flatnonzero(fits)):
                most = min(int(fits[position]), int(self.residual[row]))
                joined = self._joined_by(self.nodes[position], row, most) if most else None
                if joined is not None:
                    self.residual[row] -= joined.counts[row] - self.nodes[position].counts.get(
                        row, 0
                    )
                    self.nodes[position] = joined
                    roomiest[:, position] = self._roomiest(joined)

    def _used(self, node: PackedNode) -> Ints:
        """What the pods of `node` ask for, shape (R,)."""
        return self.problem.requests[:, list(node.counts)] @ np.array(list(node.counts.values()))

    def _roomiest(self, node: PackedNode) -> Ints:
        """The most that any of its types has left of each resource, shape (R,)."""
        allocatable = self.problem.templates[node.template].allocatable
        return allocatable[:, node.types].max(axis=1) - self._used(node)

    def _joined_by(self, node: PackedNode, row: int, most: int) -> PackedNode | None:
        """`node` with up to `most` pods of a class more, None when none of its types can be had with one."""
        template = self.problem.templates[node.template]
        hosting = template.hostings[row]
        requirements = node.requirements & hosting.requirements
        if not hosting.types.any() or requirements.is_empty:
            return None
        if node.requirements.intersects(hosting.requirements):
            return None
        prices = template.types.prices(requirements)
        possible = node.types & np.isfinite(prices)
        asked = self.problem.requests[:, row]
        room = columns.copies(template.allocatable - self._used(node)[:, None], asked)
        for count in range(min(most, int(room[possible].max(initial=0))), 0, -1):
            types = possible & (room >= count)
            if not self.min_values_bind or keeps_min_values(
                requirements, template.types.types, types
            ):
                counts = {**node.counts, row: node.counts.get(row, 0) + count}
                ordered = {each: counts[each] for each in sorted(counts)}
                return PackedNode(node.template, requirements, ordered, types, prices)
        return None

    def _shared(self, template: int, members: NDArray[np.intp]) -> Group | None:
        """`members` as classes that share a node; None when their requirements contradict each other."""
        source = self.problem.templates[template]
        hostings = [source.hostings[int(row)] for row in members]
        if not all(hosting.types.any() for hosting in hostings):
            return None
        distinct = dict.fromkeys(hosting.requirements for hosting in hostings)
        joint, *others = distinct
        for other in others:
            joint &= other
        if joint.is_empty:
            return None
        return Group(template, joint, source.types.prices(joint), members)

    def _cheapest(self, group: Group, counts: Ints, within: Mask) -> PackedNode | None:
        """The node that holds `counts` pods of the group's members, None when no type does."""
        template = self.problem.templates[group.template]
        used = self.problem.requests[:, group.members] @ counts
        holds = columns.copies(template.allocatable, used) > 0
        holds &= np.isfinite(group.prices) & within
        if not holds.any():
            return None
        chosen = int(np.argmin(np.where(holds, group.prices, np.inf)))
        node = self._node(group, counts, within, chosen)
        if self.min_values_bind and not keeps_min_values(
            node.requirements, template.types.types, node.types
        ):
            return None
        return node

    def _accept(self, nodes: purchase.Bought) -> bool:
        """Make the nodes that were bought, as far as rules allow that the purchase did not know.

        Returns:
            False when a limit allows no more of them.
        """
        template = self.problem.templates[nodes.template]
        members = np.flatnonzero(nodes.counts)
        group = self._shared(nodes.template, members)
        if group is None:
            return True
        within = self._within(nodes.template)
        if not within[nodes.type_index]:
            return False
        node = self._node(group, nodes.counts[members], within, nodes.type_index)
        if not node.types.any() or (
            self.min_values_bind
            and not keeps_min_values(group.requirements, template.types.types, node.types)
        ):
            return True
        return self._take(node, nodes.copies) == nodes.copies

    def _groups(self, template: int, worth: Floats) -> Iterator[Group]:
        """Sets of classes that may share a node: each requirement alone, and with all that join it well."""
        hostings = self.problem.templates[template].hostings
        by_requirements: dict[Requirements, list[int]] = {}
        for row in np.flatnonzero((self.residual > 0) & ~self.caps.capped):
            hosting = hostings[row]
            if hosting.types.any():
                by_requirements.setdefault(hosting.requirements, []).append(int(row))
        for requirements, rows in by_requirements.items():
            prices = hostings[rows[0]].prices
            yield Group(template, requirements, prices, np.array(rows, dtype=np.intp))
            joint, joint_prices, members = requirements, prices, list(rows)
            for other, more in by_requirements.items():
                joined = (
                    self._join(template, joint, joint_prices, other, worth)
                    if other != requirements
                    else None
                )
                if joined is not None:
                    joint, joint_prices = joined
                    members += more
            if len(members) > len(rows):
                yield Group(template, joint, joint_prices, np.array(sorted(members), dtype=np.intp))

    def _join(
        self, template: int, one: Requirements, prices: Floats, other: Requirements, worth: Floats
    ) -> tuple[Requirements, Floats] | None:
        """Both requirements on one node and its prices, or None when that is impossible or a waste."""
        key = (template, one, other)
        if key not in self._joined:
            self._joined[key] = None
            if not one.intersects(other):
                source = self.problem.templates[template]
                joint = one & other
                joint_prices = source.types.prices(joint)
                offers = worth @ np.maximum(source.allocatable, 0)
                if (offers / joint_prices).max() >= _JOIN_LOSS * (offers / prices).max() > 0:
                    self._joined[key] = joint, joint_prices
        return self._joined[key]

    def _offers(
        self, group: Group, worth: Floats
    ) -> Iterator[tuple[tuple[float, float], PackedNode]]:
        """The best node for `group`, with its worth per dollar and its worth. None when no pod fits a type."""
        template = self.problem.templates[group.template]
        within = self._within(group.template)
        usable = self._undominated(group, within)
        if not usable.size:
            return
        requests = self.problem.requests[:, group.members]
        values = worth @ requests
        filled = mixes.fill(
            template.allocatable[:, usable],
            requests,
            self.residual[group.members],
            values,
            _axes(self.problem),
        )
        worths = values @ filled
        costs = np.tile(group.prices[usable], len(mixes.MIXES)) + self.per_node_usd_per_hour
        # Rounded, so that mixes that are equal but for the last bit tie, and the tie goes to the fuller node.
        per_dollar = np.round(worths / np.maximum(costs, 1e-9), 9)
        for column in np.lexsort((np.arange(len(costs)), -worths, -per_dollar)):
            if worths[column] <= 0:
                return
            node = self._node(group, filled[:, column], within, int(usable[column % len(usable)]))
            if not self.min_values_bind or keeps_min_values(
                node.requirements, template.types.types, node.types
            ):
                yield (float(per_dollar[column]), float(worths[column])), node
                return

    def _undominated(self, group: Group, within: Mask) -> NDArray[np.intp]:
        key = (group.template, group.requirements, within.tobytes())
        if key not in self._usable:
            allocatable = self.problem.templates[group.template].allocatable
            self._usable[key] = _undominated(allocatable, np.where(within, group.prices, np.inf))
        return self._usable[key]

    def _node(self, group: Group, counts: Ints, within: Mask, chosen: int) -> PackedNode:
        template = self.problem.templates[group.template]
        used = self.problem.requests[:, group.members] @ counts
        types = (
            (columns.copies(template.allocatable, used) > 0) & np.isfinite(group.prices) & within
        )
        if template.limited:
            # A limit is charged with the largest type that may be launched, so none larger than needed is kept.
            types &= (template.capacity <= template.capacity[:, chosen][:, None]).all(axis=0)
        carried = np.flatnonzero(counts)
        every = dict(zip(group.members[carried].tolist(), counts[carried].tolist(), strict=True))
        return PackedNode(group.template, group.requirements, every, types, group.prices)

    def _take(self, node: PackedNode, most: int) -> int:
        """Make `node` as often as there are pods for it and its limits allow, at most `most` times; how often."""
        carried = np.array(list(node.counts), dtype=np.intp)
        each = np.array(list(node.counts.values()), dtype=np.int64)
        times = min(most, int((self.residual[carried] // each).min()))
        charge = self.problem.templates[node.template].capacity[:, node.types].max(axis=1)
        charged = charge > 0
        if charged.any():
            times = min(times, int((self.left[node.template][charged] // charge[charged]).min()))
        times = max(times, 1)
        self.left[node.template] -= charge * times
        self.residual[carried] -= each * times
        self.nodes += [node] * times
        return times


def start(
    problem: Problem,
    residual: Ints,
    per_node_usd_per_hour: float,
    left: list[Ints],
    *,
    min_values_bind: bool,
    caps: Caps,
    stop: Stop | None = None,
) -> Packing:
    """A packing with no node yet.

    Args:
        problem: What is to be solved.
        residual: Pods of each class that need new nodes, shape (C,).
        per_node_usd_per_hour: What a node costs beside its instance.
        left: What the limits of each template still allow, shape (L,) each; it goes down.
        min_values_bind: Whether `minValues` is strict.
        caps: How many pods of a class a node takes.
        stop: Asked now and then whether the cheapest nodes so far must do.
    """
    return Packing(
        problem, residual.copy(), per_node_usd_per_hour, left, min_values_bind, caps, stop
    )


def _axes(problem: Problem) -> tuple[int, int]:
    """Rows of cpu and memory; -1 where no pod asks for it."""
    rows = {resource: row for row, resource in enumerate(problem.resources)}
    return rows.get("cpu", -1), rows.get("memory", -1)


def _undominated(allocatable: Ints, prices: Floats) -> NDArray[np.intp]:
    """Types that no other type beats in every resource and in price, in index order."""
    finite = np.flatnonzero(np.isfinite(prices))
    order = finite[np.lexsort((finite, -allocatable[:, finite].sum(axis=0), prices[finite]))]
    kept: list[int] = []
    for candidate in order:
        held = allocatable[:, kept]
        if not (held >= allocatable[:, candidate][:, None]).all(axis=0).any():
            kept.append(int(candidate))
    return np.array(sorted(kept), dtype=np.intp)
