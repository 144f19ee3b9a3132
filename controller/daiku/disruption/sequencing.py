"""From an end state to small steps, each worth taking by itself.

The end state says how many pods of each class are where. Which of them comes from which node is free, and is settled
here so that as few nodes as possible depend on each other: some are emptied onto nodes that stay, and each new node
is filled from the nodes that have most of what it takes. A node that goes onto nodes that stay is a step of its own.
New nodes are paid for from their launch on; so a step takes in one after the other, with the nodes that are empty
by then, until it saves more than it launches and nothing forbids it. A pod never waits for a later step.

Letters in shapes: C pod classes, N nodes that go.
"""

import heapq
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

import numpy as np

from daiku.disruption.evaluation import GATE
from daiku.scheduling.columns import Ints
from daiku.scheduling.outcome import Outcome
from daiku.scheduling.solution import NewNode
from daiku.scheduling.whatif import WhatIf

_PENNY: Final = 1e-9
"""Differences in USD per hour that are not differences."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Movable:
    """A node that may go."""

    name: str
    pool: str
    usd_per_hour: float
    moving_usd_per_hour: float
    """What it costs to move its pods, divided by the horizon; 0 when moves are free."""
    is_spot: bool = False

    @property
    def gain(self) -> float:
        """What is saved when it goes, less what its moves cost."""
        return self.usd_per_hour - self.moving_usd_per_hour


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """Nodes that go together, and what has to be launched first."""

    gone: tuple[str, ...]
    """In the order of names."""
    launched: tuple[NewNode, ...]
    moves: tuple[str, ...]
    """Pods that are evicted, in order."""
    saved_usd_per_hour: float
    """Always more than 0."""
    moving_usd_per_hour: float
    """What the moves cost over their horizon; always less than what is saved."""


def ordered(
    outcome: Outcome, movable: Sequence[Movable], world: WhatIf, allows: Callable[[Step], bool]
) -> tuple[Step, ...]:
    """The steps to `outcome` that are worth taking and allowed, those that save most for what they cost first."""
    if not outcome.gone:
        return ()
    known = {each.name: each for each in movable}
    needs, new_nodes = _settled(outcome, known, world)
    plain = [_step([name], (), known, world) for name in outcome.gone if not needs[name]]
    plain = [step for step in plain if step.saved_usd_per_hour > step.moving_usd_per_hour + _PENNY]
    plain = [step for step in plain if allows(step)]
    others = {name: needs[name] for name in outcome.gone if needs[name]}
    # Steps with new nodes keep their order: some use the nodes of those before.
    filling = _with_new_nodes(others, new_nodes, known, world, allows)
    return tuple(heapq.merge(sorted(plain, key=_rank), filling, key=_rank))


def _rank(step: Step) -> tuple[float, tuple[str, ...]]:
    return -step.saved_usd_per_hour / (1.0 + len(step.moves)), step.gone


def _settled(
    outcome: Outcome, known: Mapping[str, Movable], world: WhatIf
) -> tuple[dict[str, frozenset[int]], tuple[NewNode, ...]]:
    """New nodes that each node needs before it can go, and the new nodes with the pods that come to them."""
    # Where spot may not replace spot, it had better be the others that need new nodes.
    spot_first = not world.settings.is_on(GATE)
    names = sorted(
        outcome.gone,
        key=lambda n: (spot_first and not known[n].is_spot, -_per_pod(known[n], world), n),
    )
    pods = {name: {r: list(p) for r, p in world.classes_on(name).items()} for name in names}
    left = np.array([world.counts_of(world.pods_on(name)) for name in names])
    # Pods that wait, and were expected on a node that goes, are no part of any step.
    moved = dict.fromkeys(outcome.moved)
    wanted = [
        world.counts_of(pod for pod in node.pods if pod in moved) for node in outcome.new_nodes
    ]
    onto_staying = left.sum(axis=0) - sum(wanted, np.zeros(left.shape[1], dtype=np.int64))
    for whole in (True, False):
        for position in range(len(names)):
            taken = np.minimum(left[position], onto_staying)
            if not whole or (taken == left[position]).all():
                left[position] -= taken
                onto_staying -= taken
                _draw(pods[names[position]], taken)
    needs: dict[str, list[int]] = {name: [] for name in names}
    new_nodes: list[NewNode] = []
    for number, node in enumerate(outcome.new_nodes):
        want, got = wanted[number], list[str]()
        while want.any():
            position = int(np.argmax(np.minimum(left, want).sum(axis=1)))
            taken = np.minimum(left[position], want)
            left[position] -= taken
            want = want - taken
            got += _draw(pods[names[position]], taken)
            needs[names[position]].append(number)
        new_nodes.append(replace(node, pods=tuple(sorted(got))))
    return {name: frozenset(own) for name, own in needs.items()}, tuple(new_nodes)


def _per_pod(node: Movable, world: WhatIf) -> float:
    return node.gain / (1.0 + len(world.pods_on(node.name)))


def _draw(pods: dict[int, list[str]], taken: Ints) -> list[str]:
    """So many pods of each class, which are taken out of `pods`."""
    drawn: list[str] = []
    for row in map(int, np.flatnonzero(taken)):
        count = int(taken[row])
        drawn += pods[row][:count]
        pods[row] = pods[row][count:]
    return drawn


def _with_new_nodes(
    needs: Mapping[str, frozenset[int]],
    new_nodes: Sequence[NewNode],
    known: Mapping[str, Movable],
    world: WhatIf,
    allows: Callable[[Step], bool],
) -> list[Step]:
    """Steps that launch something; what never saves more than it launches, or is forbidden, is left as it is."""
    left = dict(needs)
    made: list[Step] = []
    ready: list[int] = []
    launched: list[int] = []
    chosen: list[str] = []
    for number in range(len(new_nodes)):
        launched.append(number)
        there = frozenset((*ready, *launched))
        free = [name for name, own in left.items() if own <= there]
        chosen += free
        for name in free:
            del left[name]
        price = sum(new_nodes[i].usd_per_hour for i in launched)
        if sum(known[name].gain for name in chosen) > price + _PENNY:
            step = _step(chosen, tuple(new_nodes[i] for i in launched), known, world)
            if allows(step):
                made.append(step)
                ready += launched
                launched, chosen = [], []
    return made


def _step(
    names: Sequence[str], launched: tuple[NewNode, ...], known: Mapping[str, Movable], world: WhatIf
) -> Step:
    return Step(
        gone=tuple(sorted(names)),
        launched=launched,
        moves=tuple(sorted(pod for name in names for pod in world.pods_on(name))),
        saved_usd_per_hour=sum(known[n].usd_per_hour for n in names)
        - sum(node.usd_per_hour for node in launched),
        moving_usd_per_hour=sum(known[n].moving_usd_per_hour for n in names),
    )
