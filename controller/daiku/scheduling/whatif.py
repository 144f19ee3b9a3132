"""What if these nodes went away: where would their pods go, and what would all of it cost?

The question that every method of disruption asks, thousands of times. `prepare` is called once per snapshot and builds
one problem in which every pod that runs, and may have to move, is counted where it is. `without(names)` then takes
the named nodes out, makes their reschedulable pods the pods to be placed, and solves that: an edit of arrays
(`editing`) and a solve of a few classes.

    world = whatif.prepare(snapshot, catalogue, settings, placements)
    outcome = world.without(frozenset({"node-a", "node-b"}), new_nodes_most=1, below_usd_per_hour=0.34)
    if outcome.refusal is None: ...

Pods go to nodes that are initialized and not on their way out, in the order of names, and onto new nodes when there
is no room. Pods that wait already are given what they can have first, so that nobody is moved into their places; those
that find nothing are left to provisioning and are no part of any outcome.

Source: Karpenter's SimulateScheduling, with these differences: pods that wait do not share new nodes with pods that
move, and limits count the old node and the new one, because for a while both are there.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from daiku import reasons
from daiku.model import resources
from daiku.model.instance_type import Catalogue
from daiku.model.pod import Pod
from daiku.scheduling import editing, landing, narrowing, prices, problem, solver, worths
from daiku.scheduling.bound import Bound
from daiku.scheduling.catalogue import Types
from daiku.scheduling.columns import Ints, Mask
from daiku.scheduling.landing import Landing
from daiku.scheduling.outcome import Outcome, Refusal
from daiku.scheduling.packer.effort import Stop
from daiku.scheduling.problem import Problem
from daiku.scheduling.solution import NewNode, Solution
from daiku.settings import Settings
from daiku.state.snapshot import Snapshot


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class WhatIf:
    """One snapshot, ready to be asked. Made by `prepare`; asking changes nothing."""

    settings: Settings
    whole: Problem
    """All pods that may have to move, each counted where it is."""
    usd_per_hour: Mapping[str, float]
    """What each launched node costs, by name; 0 when the catalogue does not say."""
    total_usd_per_hour: float
    """What all launched nodes cost."""
    _movable: Mapping[str, Mapping[int, tuple[str, ...]]]
    """Node -> class -> pods that would have to move."""
    _guests: Mapping[str, Mapping[int, tuple[str, ...]]]
    """The same of pods that wait and are expected there."""
    _position: Mapping[str, int]
    """Node -> its position in the snapshot."""
    _column: Mapping[str, int]
    """Node -> its index among those that take pods."""
    _closed: frozenset[int]
    """Indices of nodes that are not initialized."""
    _awaiting: frozenset[int]
    """Indices of nodes that are kept closed for others."""
    _types: Mapping[str, Types]
    """NodePool -> its instance types."""
    _row_of: Mapping[str, int]
    """Pod that may have to move -> its class."""
    _expected: Mapping[str, str]
    """Pod that waits, or whose node is on its way out -> the node that it is expected on; all of them have room."""
    _stop: Stop | None = None
    """Asked now and then whether the cheapest nodes so far must do."""

    def without(
        self,
        names: frozenset[str],
        *,
        new_nodes_most: int | None = None,
        below_usd_per_hour: float | None = None,
        closed: frozenset[str] = frozenset(),
        landed: bool = False,
    ) -> Outcome:
        """Where the reschedulable pods of the nodes would go.

        Args:
            names: Nodes that go, by `StateNode.name`.
            new_nodes_most: New nodes that may be made: 0 to use only room that is there, 1 for consolidation (its pods
                then share one node even if two would be cheaper), None for as many as are cheapest.
            below_usd_per_hour: What all new nodes together must cost less than, whichever of their types and zones
                comes of them. With it a new node is of one capacity type only, so that a shortage of spot makes the
                launch fail and does not buy something dearer.
            closed: Other nodes that shall take no pod.
            landed: Whether room on nodes that are open is filled as kube-scheduler does it, and not as well as can be,
                where no pod minds company.

        Raises:
            KeyError: A name is not that of a node in the snapshot.
        """
        gone = tuple(sorted(names))
        positions = [self._position[name] for name in gone]
        moved = _merged([self._movable.get(name, {}) for name in gone])
        solved = Solution()
        if moved:
            rows, shut, homes = self._asking(gone, moved, closed, landed=landed)
            asked = editing.edited(self.whole, rows, closed=shut, gone=positions)
            solved = solver.solve(
                asked,
                per_node_usd_per_hour=self.settings.per_node_cost_usd_per_hour,
                grow=new_nodes_most != 0,
                min_values_policy=self.settings.min_values_policy,
                together=new_nodes_most == 1,
                stop=self._stop,
            )
            solved = replace(solved, placements={**solved.placements, **homes})
        pods = tuple(sorted(pod for each in moved.values() for pod in each))
        return self._outcome(gone, pods, solved, new_nodes_most, below_usd_per_hour)

    def _asking(
        self,
        gone: Sequence[str],
        moved: Mapping[int, tuple[str, ...]],
        closed: frozenset[str],
        *,
        landed: bool,
    ) -> tuple[dict[int, tuple[str, ...]], NDArray[np.intp], dict[str, str]]:
        """Pods to be placed by class, indices of nodes that take none of them, and nodes of pods that land anyway."""
        guests = _merged([self._guests.get(name, {}) for name in gone])
        # Pods are handed out in this order, so those that wait anyway are the ones to be left over.
        rows = {row: moved.get(row, ()) + guests.get(row, ()) for row in {**moved, **guests}}
        shut = self._closed | {self._column[n] for n in (*gone, *closed) if n in self._column}
        homes: dict[str, str] = {}
        if landed and self.whole.topology is None:
            takers = self.takers(frozenset((*gone, *closed)))
            homes, rows = landing.homes(self.landing(takers), takers, rows)
            shut |= {self._column[name] for name in takers}
        return rows, np.array(sorted(shut), dtype=np.intp), homes

    def are_placed(self, pods: Iterable[str]) -> bool:
        """Whether all these pods, which wait or will, have room on nodes that are ready, beside all others that do."""
        column = ((self._column.get(self._expected.get(pod, ""))) for pod in pods)
        return all(index is not None and index not in self._closed for index in column)

    def pods_on(self, name: str) -> tuple[str, ...]:
        """Pods that would have to move if the node went, class by class."""
        return tuple(pod for pods in self._movable.get(name, {}).values() for pod in pods)

    def classes_on(self, name: str) -> Mapping[int, tuple[str, ...]]:
        """The same pods by their class, in which each can stand for each other."""
        return self._movable.get(name, {})

    def counts_of(self, pods: Iterable[str]) -> Ints:
        """How many of the pods, which are some that may have to move, are of each class, shape (C,)."""
        rows = np.array([self._row_of[pod] for pod in pods], dtype=np.intp)
        return np.bincount(rows, minlength=len(self.whole.counts)).astype(np.int64)

    def bound(self) -> Bound:
        """No cluster that holds the pods that run can cost less; and what each resource is worth by that."""
        whole = self.whole
        first = whole.origin == np.arange(len(whole.origin))
        running = np.where(first, whole.counts, 0)
        return worths.worth_of(whole, running, range(len(whole.templates)))

    def worth(self) -> dict[str, float]:
        """USD per hour of a unit of each resource that pods ask for, by the lower bound."""
        return dict(zip(self.whole.resources, self.bound().worth.tolist(), strict=True))

    def free_on(self, names: Sequence[str]) -> Ints:
        """What each node has left for pods, 0 for those that take none, shape (R, len(names))."""
        free = np.zeros((len(self.whole.resources), len(names)), dtype=np.int64)
        there = [position for position, name in enumerate(names) if name in self._column]
        free[:, there] = self.whole.nodes.free[:, [self._column[names[p]] for p in there]]
        return np.maximum(free, 0)

    def takers(self, closed: frozenset[str]) -> list[str]:
        """Nodes that are open to pods, `closed` ones left out, in the order in which they are filled."""
        names = sorted(self._column, key=lambda name: self._column[name])
        shut = self._closed | self._awaiting
        return [n for n in names if n not in closed and self._column[n] not in shut]

    def landing(self, names: Sequence[str], new_nodes: Sequence[NewNode] = ()) -> Landing:
        """Where kube-scheduler would put pods, on these takers and on nodes that are still to be made."""
        whole, chosen = self.whole, np.array([self._column[n] for n in names], dtype=np.intp)
        # A class may go wherever it may when it has given up what it merely prefers.
        hostable: Mask = np.zeros_like(whole.nodes.hostable)
        np.logical_or.at(hostable, whole.origin, whole.nodes.hostable)
        rooms = [self._room_of(node) for node in new_nodes]
        # Of thousands of classes on thousands of nodes it takes 100 MiB, so it is made once.
        kin = np.zeros((len(whole.counts), len(names) + len(rooms)), dtype=np.int64)
        for index, name in enumerate(names):
            for row, pods in self.classes_on(name).items():
                kin[row, index] = len(pods)
        return landing.of(
            whole.resources,
            free=np.column_stack([whole.nodes.free[:, chosen], *(room for room, _ in rooms)]),
            held=whole.requests @ kin,
            hostable=np.column_stack([hostable[:, chosen], *(lets_in for _, lets_in in rooms)]),
            requests=whole.requests,
            kin=kin,
        )

    def _room_of(self, node: NewNode) -> tuple[Ints, Mask]:
        """What a new node of its cheapest type has for pods, shape (R,), and which class it may host, shape (C,)."""
        made_of = next(t for t in self.whole.templates if t.pool.meta.name == node.pool.meta.name)
        index = [each.name for each in made_of.types.types].index(node.types[0].name)
        lets_in = [not h.refused and bool(h.compatible[index]) for h in made_of.hostings]
        return made_of.allocatable[:, index], np.array(lets_in, dtype=np.bool_)

    def narrowed(
        self, node: NewNode, *, capacity_type: str, below_usd_per_hour: float = np.inf
    ) -> NewNode | None:
        """The same node with fewer instance types; None when none is left, or too few for its `minValues`.

        Args:
            node: A new node of one of the outcomes.
            capacity_type: Only types that can be had as this, at its price.
            below_usd_per_hour: Only types that cost less wherever they are launched.
        """
        return narrowing.of_capacity_type(
            node,
            self._types[node.pool.meta.name],
            capacity_type,
            below_usd_per_hour,
            min_values_bind=self.settings.min_values_policy == "Strict",
        )

    def _outcome(
        self,
        gone: tuple[str, ...],
        moved: tuple[str, ...],
        solved: Solution,
        new_nodes_most: int | None,
        below: float | None,
    ) -> Outcome:
        mine = dict.fromkeys(moved)
        made = tuple(node for node in solved.new_nodes if any(pod in mine for pod in node.pods))
        stuck = tuple(
            replace(each, pods=pods)
            for each in solved.unschedulable
            if (pods := tuple(pod for pod in each.pods if pod in mine))
        )
        refusal: Refusal | None = None
        if stuck:
            refusal = Refusal(reason=reasons.NO_PLACE, unschedulable=stuck)
        elif new_nodes_most is not None and len(made) > new_nodes_most:
            refusal = Refusal(
                reason=reasons.TOO_MANY_NEW_NODES,
                new_nodes=len(made),
                new_nodes_most=new_nodes_most,
            )
        elif below is not None and made:
            bind = self.settings.min_values_policy == "Strict"
            cheaper = narrowing.all_below(made, self._types, below, min_values_bind=bind)
            if cheaper is None:
                least = sum(node.usd_per_hour for node in made)
                refusal = Refusal(
                    reason=reasons.NOT_CHEAPER, least_usd_per_hour=least, below_usd_per_hour=below
                )
            made = cheaper or made
        return Outcome(
            gone=gone,
            moved=moved,
            placements={p: solved.placements[p] for p in moved if p in solved.placements},
            new_nodes=made,
            unschedulable=stuck,
            refusal=refusal,
            usd_per_hour_before=self.total_usd_per_hour,
            gone_usd_per_hour=sum(self.usd_per_hour.get(name, 0.0) for name in gone),
            order=solved.order,
        )


def prepare(
    snapshot: Snapshot,
    catalogue: Catalogue,
    settings: Settings,
    placements: Mapping[str, str],
    *,
    stop: Stop | None = None,
) -> WhatIf:
    """Everything that is the same for all questions about `snapshot`.

    Args:
        snapshot: Nodes and pods.
        catalogue: What can be bought.
        settings: How pods are placed.
        placements: Where pending pods are expected, by this tick's word.
        stop: Asked now and then whether the cheapest new nodes so far must do.
    """
    named = {s.claim_name or s.name: s.name for s in snapshot.state_nodes}
    names = {s.name: s.name for s in snapshot.state_nodes} | named
    expected = {pod: names[on] for pod, on in placements.items() if on in names}
    leaving = [s for s in snapshot.state_nodes if s.is_leaving]
    homeless = (*snapshot.provisionable, *(p for s in leaving for p in s.reschedulable))
    for claim, pods in snapshot.places.items():
        if claim in names:
            # Those that stay after all are no guests, and are passed over.
            expected |= {p.meta.key: names[claim] for p in pods if p.meta.key not in expected}
    loose = [pod for pod in homeless if pod.meta.key not in expected]
    if loose:
        asked = problem.build(
            loose,
            snapshot,
            catalogue,
            taken=_asked_of(expected, snapshot),
            expected_on=expected,
            preference_policy=settings.preference_policy,
        )
        expected |= solver.solve(asked, grow=False).placements
    return replace(_prepared(snapshot, catalogue, settings, expected), _stop=stop)


def _prepared(
    snapshot: Snapshot, catalogue: Catalogue, settings: Settings, expected: Mapping[str, str]
) -> WhatIf:
    """The questions' common ground once every pod that waits is expected somewhere or nowhere."""
    there = [s for s in snapshot.state_nodes if s.node is not None and not s.is_leaving]
    movable = {s.name: s.reschedulable for s in there}
    guests: dict[str, list[Pod]] = {}
    for pod in (
        *snapshot.waiting,
        *(p for s in snapshot.state_nodes if s.is_leaving for p in s.pods),
    ):
        if pod.meta.key in expected:
            guests.setdefault(expected[pod.meta.key], []).append(pod)
    every = [pod for pods in (*movable.values(), *guests.values()) for pod in pods]
    whole = problem.build(
        every,
        snapshot,
        catalogue,
        taken=_asked_of(expected, snapshot),
        expected_on=expected,
        preference_policy=settings.preference_policy,
        stay=True,
    )
    row_of = {
        pod: row
        for row, counted in enumerate(whole.counted)
        if whole.origin[row] == row
        for pod in counted.pods
    }
    column = {name: index for index, name in enumerate(whole.nodes.names)}
    usd_per_hour = prices.of_nodes(snapshot, catalogue)
    return WhatIf(
        settings=settings,
        whole=whole,
        usd_per_hour=usd_per_hour,
        _movable={name: _by_class(pods, row_of) for name, pods in movable.items()},
        _guests={name: _by_class(pods, row_of) for name, pods in guests.items()},
        _position={s.name: index for index, s in enumerate(snapshot.state_nodes)},
        _column=column,
        _closed=frozenset(
            column[s.name]
            for s in snapshot.state_nodes
            if s.name in column and not (s.is_initialized and s.node is not None)
        ),
        _awaiting=frozenset(
            column[s.name] for s in snapshot.state_nodes if s.name in column and s.is_awaiting
        ),
        _types={t.pool.meta.name: t.types for t in whole.templates},
        _row_of=row_of,
        _expected=expected,
        total_usd_per_hour=sum(usd_per_hour.values()),
    )


def _asked_of(expected: Mapping[str, str], snapshot: Snapshot) -> dict[str, dict[str, int]]:
    """What the pods that are expected on each node will ask of it."""
    asked: dict[str, list[Mapping[str, int]]] = {}
    leaving = (p for s in snapshot.state_nodes if s.is_leaving for p in s.pods)
    for pod in (*snapshot.waiting, *leaving):
        if pod.meta.key in expected:
            asked.setdefault(expected[pod.meta.key], []).append(pod.requests)
    return {name: resources.add(*each) for name, each in asked.items()}


def _by_class(pods: Sequence[Pod], row_of: Mapping[str, int]) -> dict[int, tuple[str, ...]]:
    found: dict[int, list[str]] = {}
    for key in sorted(pod.meta.key for pod in pods):
        found.setdefault(row_of[key], []).append(key)
    return {row: tuple(found[row]) for row in sorted(found)}


def _merged(parts: Sequence[Mapping[int, tuple[str, ...]]]) -> dict[int, tuple[str, ...]]:
    found: dict[int, list[str]] = {}
    for part in parts:
        for row, pods in part.items():
            found.setdefault(row, []).extend(pods)
    return {row: tuple(sorted(found[row])) for row in sorted(found)}
