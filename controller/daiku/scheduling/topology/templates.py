"""New nodes by NodePool and cell: which classes could have one, the bays that are open, and what comes of them.

Classes of equal labels and tolerations can have the same nodes, so that is asked once for all of them.

Letters in shapes: R resources, C classes, T instance types, H counters of nodes.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import groupby

import numpy as np

from daiku.model import taints
from daiku.model.requirements import Requirements
from daiku.scheduling import columns, hosting
from daiku.scheduling.classes import PodClass
from daiku.scheduling.columns import Floats, Ints, Mask
from daiku.scheduling.min_values import keeps_min_values, minds_min_values
from daiku.scheduling.packed import PackedNode
from daiku.scheduling.problem import Problem
from daiku.scheduling.topology import signature as signatures
from daiku.scheduling.topology.cells import Cell
from daiku.scheduling.topology.counts import Topology
from daiku.scheduling.topology.growing import Ask, NewBay
from daiku.scheduling.topology.signature import Signature, Table

_Option = tuple[int, int, int]
"""Index of a template, of a cell, and of a signature in their bay."""


@dataclass(frozen=True, slots=True, eq=False)
class Bay:
    """Where one class may have new nodes."""

    nodes: NewBay
    ask: Ask
    """What the class asks there."""
    uncounted: frozenset[int]
    """Counters for which the nodes do not count."""
    template: int
    """Index of the NodePool."""


@dataclass(slots=True, eq=False)
class _Spot:
    """One NodePool in one cell."""

    bay: NewBay
    cell: Cell
    template: int
    index: dict[Requirements, int] = field(default_factory=dict[Requirements, int])
    merged: dict[tuple[int, int], int] = field(default_factory=dict[tuple[int, int], int])
    uncounted: frozenset[int] = frozenset()
    """Counters for which its nodes do not count."""


@dataclass(slots=True, eq=False)
class Templates:
    """New nodes of one solve."""

    problem: Problem
    topology: Topology
    left: Sequence[Ints]
    """What the limits of each NodePool still allow, shape (L,) each."""
    weights: Floats
    """What a unit of each resource is worth, shape (R,)."""
    per_node_usd_per_hour: float
    min_values_bind: bool
    cell_index: dict[Cell, int]
    hosts_existing: list[Mask]
    """For each cell, which classes some existing node lets in, shape (C,)."""
    by_weight: list[range] = field(default_factory=list[range])
    _spots: dict[tuple[int, int], _Spot] = field(default_factory=dict[tuple[int, int], _Spot])
    _kinds: list[int] = field(default_factory=list[int])
    _of_kind: dict[int, list[int]] = field(default_factory=dict[int, list[int]])
    _options: dict[int, tuple[_Option, ...]] = field(default_factory=dict[int, tuple[_Option, ...]])
    _opening: dict[tuple[int, int], bool] | None = None
    """Template and cell in which some class could have nodes."""
    _of_row: dict[int, list[_Option]] = field(default_factory=dict[int, list[_Option]])
    _bays: dict[int, dict[int, list[Bay]]] = field(default_factory=dict[int, dict[int, list[Bay]]])
    _usable: dict[int, tuple[int, ...]] = field(default_factory=dict[int, tuple[int, ...]])
    _tables: dict[tuple[int, bytes], Table] = field(default_factory=dict[tuple[int, bytes], Table])
    _kept: dict[tuple[int, Requirements], tuple[Mask, Floats]] = field(
        default_factory=dict[tuple[int, Requirements], tuple[Mask, Floats]]
    )

    def __post_init__(self) -> None:
        """Put NodePools of equal weight together, the heaviest first."""
        every = range(len(self.problem.templates))
        of_weight = groupby(every, key=lambda i: self.problem.templates[i].pool.weight)
        for _, each in of_weight:
            indices = list(each)
            self.by_weight.append(range(indices[0], indices[-1] + 1))

    def usable(self, row: int) -> tuple[int, ...]:
        """Cells in which a pod of the class could be, by their labels, taints and the size of one pod."""
        known = self._usable.get(row)
        if known is None:
            opened = self.bays(row)
            known = self._usable[row] = tuple(
                index
                for index in range(len(self.hosts_existing))
                if index in opened or self.hosts_existing[index][row]
            )
        return known

    def growing(self, row: int) -> list[int]:
        """Cells in which a pod of the class could have a new node."""
        return list(self.bays(row))

    def opening(self, counter: int) -> frozenset[int]:
        """Cells in which new nodes that `counter` counts could be made for some class."""
        if self._opening is None:
            kinds = dict.fromkeys(map(self._kind, range(len(self.problem.counted))))
            self._opening = {(o[0], o[1]): True for k in kinds for o in self._options_of(k)}
        counted = (i for i in self._opening if counter not in self._spots[i].uncounted)
        return frozenset(cell for _, cell in counted)

    def openable(self, row: int) -> list[int]:
        """Cells in which the class could have a new node if size did not matter."""
        return list(dict.fromkeys(option[1] for option in self._options_of(self._kind(row))))

    def bays(self, row: int) -> Mapping[int, Sequence[Bay]]:
        """Bays in which the class could have new nodes, by cell, the heaviest NodePools first."""
        known = self._bays.get(row)
        if known is None:
            made: dict[int, list[Bay]] = {}
            requests = np.ascontiguousarray(self.problem.requests[:, row])
            asked = tuple(np.flatnonzero(requests).tolist())
            for template, index, signature in self._fitting(row):
                ask = Ask(
                    row=row,
                    requests=requests,
                    asked=asked,
                    signature=signature,
                    rules=self.topology.host_rules[row],
                )
                spot = self._spots[template, index]
                bay = Bay(spot.bay, ask, spot.uncounted, template)
                made.setdefault(index, []).append(bay)
            known = self._bays[row] = made
        return known

    def pins(self, cell: int, positions: Sequence[int]) -> Requirements:
        """What keeps a node in a cell, for the keys at `positions`."""
        named = next(each for each, index in self.cell_index.items() if index == cell)
        return self.topology.cells.pins(named, positions)

    def opened(self) -> Iterator[NewBay]:
        """Bays that have nodes."""
        return (spot.bay for spot in self._spots.values() if spot.bay.size)

    def packed(self, touched: Sequence[frozenset[int]]) -> Iterator[PackedNode]:
        """All nodes that were planned.

        Args:
            touched: For each class, the positions of keys that matter to it.
        """
        for spot in self._spots.values():
            bay = spot.bay
            template = self.problem.templates[spot.template]
            contents = bay.placed.by_node(bay.size)
            known: dict[tuple[int, frozenset[int]], tuple[Requirements, Mask, Floats]] = {}
            for node, counts in enumerate(contents):
                positions = frozenset[int]().union(*(touched[row] for row in counts))
                key = int(bay.signature_of[node]), positions
                if key not in known:
                    open_ones = bay.signatures[key[0]].requirements
                    pins = self.topology.cells.pins(spot.cell, sorted(positions))
                    known[key] = open_ones & pins, *self._types(spot.template, open_ones & pins)
                requirements, usable, prices = known[key]
                types = usable & (columns.copies(template.allocatable, bay.used[:, node]) > 0)
                if template.limited:
                    # A limit is charged with the type chosen, so none larger is kept.
                    chosen = template.capacity[:, bay.type_of[node]]
                    types &= (template.capacity <= chosen[:, None]).all(axis=0)
                ordered = {row: counts[row] for row in sorted(counts)}
                yield PackedNode(spot.template, requirements, ordered, types, prices)

    def _fitting(self, row: int) -> Sequence[_Option]:
        """Options of the class of which some type holds one pod; found for all classes of its kind at once."""
        known = self._of_row.get(row)
        if known is None:
            kind = self._kind(row)
            rows = self._of_kind[kind]
            for each in rows:
                self._of_row[each] = []
            for option in self._options_of(kind):
                hostings = self.problem.templates[option[0]].hostings
                usable = self._spots[option[0], option[1]].bay.signatures[option[2]].usable
                fits = np.array([hostings[each].fits for each in rows]) & usable
                for position in np.flatnonzero(fits.any(axis=1)).tolist():
                    self._of_row[rows[position]].append(option)
            known = self._of_row[row]
        return known

    def _kind(self, row: int) -> int:
        """The class whose nodes are the same as those of class `row`: the first of equal labels and tolerations."""
        if not self._kinds:
            first: dict[object, int] = {}
            for index, counted in enumerate(self.problem.counted):
                asked = counted.pod_class
                key = _choice(asked)
                kind = first.setdefault(key, index)
                self._kinds.append(kind)
                self._of_kind.setdefault(kind, []).append(index)
        return self._kinds[row]

    def _options_of(self, kind: int) -> tuple[_Option, ...]:
        known = self._options.get(kind)
        if known is None:
            known = self._options[kind] = tuple(self._find(kind))
        return known

    def _find(self, row: int) -> Iterator[_Option]:
        """Templates and cells in which the class could have nodes, with the first alternative that works there."""
        asked = self.problem.counted[row].pod_class
        for number, template in enumerate(self.problem.templates):
            if hosting.keeps_away(template.pool.template.taints, asked) is not None:
                continue
            fitting = [
                template.requirements & alternative
                for alternative in asked.alternatives
                if not template.requirements.compatible(alternative, template.types.known)
            ]
            for cell in self.topology.cells.of_template[number]:
                for joint in fitting:
                    signature = self._signature(number, cell, joint)
                    if signature >= 0:
                        yield number, self.cell_index[cell], signature
                        break

    def _signature(self, number: int, cell: Cell, requirements: Requirements) -> int:
        """The signature of such nodes in the cell's bay, -1 when no type can be that."""
        spot = self._spot(number, cell)
        known = spot.index.get(requirements)
        if known is not None:
            return known
        positions = range(len(self.topology.cells.keys))
        for position in positions:
            value = cell[position]
            asked = requirements.by_key.get(self.topology.cells.keys[position])
            if (
                asked is not None
                and (asked.has(value) if value is not None else asked.absent) is False
            ):
                spot.index[requirements] = -1
                return -1
        pinned = requirements & self.topology.cells.pins(cell, positions)
        usable, prices = self._types(number, pinned)
        if not usable.any():
            spot.index[requirements] = -1
            return -1
        made = Signature(
            requirements=requirements,
            pinned=pinned,
            usable=usable,
            prices=prices,
            order=_by_price(prices),
            table=self._table(number, prices),
            priced=np.append(prices, np.inf),
        )
        spot.bay.signatures.append(made)
        spot.index[requirements] = len(spot.bay.signatures) - 1
        return spot.index[requirements]

    def _table(self, number: int, prices: Floats) -> Table:
        key = number, prices.tobytes()
        if key not in self._tables:
            axes = signatures.axes_of(self.problem.resources)
            allocatable = self.problem.templates[number].allocatable
            self._tables[key] = signatures.table(allocatable, prices, axes)
        return self._tables[key]

    def _types(self, number: int, requirements: Requirements) -> tuple[Mask, Floats]:
        """Types that can be had under `requirements`, and their prices, infinity for all others."""
        key = number, requirements
        if key not in self._kept:
            types = self.problem.templates[number].types
            prices = types.prices(requirements)
            usable = types.labels.meets(requirements, only_known=True) & np.isfinite(prices)
            self._kept[key] = usable, np.where(usable, prices, np.inf)
        return self._kept[key]

    def _spot(self, number: int, cell: Cell) -> _Spot:
        key = number, self.cell_index[cell]
        if key in self._spots:
            return self._spots[key]
        template = self.problem.templates[number]
        bay = NewBay(
            allocatable=template.allocatable,
            capacity=template.capacity,
            left=self.left[number],
            signatures=[],
            merge=lambda one, other: self._merge(spot, one, other),
            keeps=self._keeps(number),
            weights=self.weights,
            per_node_usd_per_hour=self.per_node_usd_per_hour,
        ).start(len(self.topology.host_rows))
        spot = _Spot(bay=bay, cell=cell, template=number, uncounted=self._uncounted(number, cell))
        self._spots[key] = spot
        return spot

    def _merge(self, spot: _Spot, one: int, other: int) -> int:
        if one == other:
            return one
        key = (one, other) if one < other else (other, one)
        if key not in spot.merged:
            mine, theirs = (spot.bay.signatures[k].requirements for k in key)
            joint = mine & theirs
            possible = not mine.intersects(theirs) and not joint.is_empty
            spot.merged[key] = self._signature(spot.template, spot.cell, joint) if possible else -1
        return spot.merged[key]

    def _keeps(self, number: int):  # noqa: ANN202
        if not self.min_values_bind:
            return None
        template = self.problem.templates[number]
        if not minds_min_values(template.requirements):
            return None

        def keeps(signature: Signature, need: Ints) -> bool:
            held = columns.copies(template.allocatable, need) > 0
            return keeps_min_values(signature.pinned, template.types.types, held & signature.usable)

        return keeps

    def _uncounted(self, number: int, cell: Cell) -> frozenset[int]:
        template = self.problem.templates[number]
        positions = range(len(self.topology.cells.keys))
        becomes = template.requirements & self.topology.cells.pins(cell, positions)
        found: list[int] = []
        for index, counter in enumerate(self.topology.counters):
            kept = counter.filter
            if kept is None:
                continue
            fits = kept.alternatives is None or any(
                not becomes.compatible(a, template.types.known) for a in kept.alternatives
            )
            tolerated = (
                kept.tolerations is None
                or taints.untolerated(template.pool.template.taints, kept.tolerations) is None
            )
            named = dict(zip(self.topology.cells.keys, cell, strict=True))
            if not (fits and tolerated and all(named.get(k, "") is not None for k in kept.keys)):
                found.append(index)
        return frozenset(found)


def _choice(asked: PodClass) -> tuple[object, ...]:
    """Equal only for classes that can have the same nodes, size aside; alternatives are shared by those that agree."""
    return id(asked.alternatives), asked.tolerations, asked.minds_preferences


def _by_price(prices: Floats) -> np.ndarray[tuple[int], np.dtype[np.intp]]:
    finite = np.flatnonzero(np.isfinite(prices))
    return finite[np.lexsort((finite, prices[finite]))]
