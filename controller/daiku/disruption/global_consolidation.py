"""N nodes become M: the cheapest end state that is found, the steps to it, and those that can begin now.

Karpenter looks at one node at a time, or at a prefix of a list. What a person sees by eye, that these five could be
those three, it finds by luck. Here the whole set is looked at: which nodes are worth keeping, where everybody else
goes, and which nodes to make for those who find no room.

How: `removal_search` finds the nodes that had better go. That set is solved in earnest; all places come from
`scheduling.whatif`, so every constraint that holds for pods that wait holds here. `sequencing` makes the steps there.
They become proposals of their own, which wait, are evaluated again, begin and are called off each by itself. So
whichever of them come to nothing, the others were worth it.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Final

from daiku.disruption import candidates, evaluation, eviction_cost, removal_search, sequencing
from daiku.disruption.budgets import Allowance
from daiku.disruption.candidates import Candidate
from daiku.disruption.context import DisruptionContext, propose
from daiku.disruption.removal_search import RemovalSearch
from daiku.disruption.sequencing import Movable, Step
from daiku.reason import Reason
from daiku.report import Proposal, Repacked
from daiku.scheduling.columns import Mask
from daiku.scheduling.outcome import Outcome
from daiku.scheduling.packer.effort import Stop
from daiku.scheduling.whatif import WhatIf
from daiku.state.snapshot import Snapshot

METHOD: Final = "repack"
TRIES: Final = 400
"""Sets of nodes that are weighed unless another number is asked for: a fraction of a second."""
STEPS_MOST: Final = 100
"""Steps that begin in one tick at most."""
_TRIES_OF_NODE: Final = 40
_TRIES_MOST: Final = 4000
"""Sets of nodes that one search weighs, by the number of nodes, and at most; the tick's time box may end it before."""
_TRIES_OF_PAIR: Final = 16
_NODES_MOST: Final = 800_000
"""Of few nodes more: by the square of their number, and at most so many nodes in all sets together, which is about
what the others take. Ten plans for 30 to 60 nodes ended 2.1 % over the bound with 4,000 sets, and 1.9 % with these."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Repack:
    """The cheapest end state that was found, and the way there."""

    steps: tuple[Step, ...]
    """In order; each leaves the cluster cheaper and no pod without a place."""
    figures: Repacked
    tried: int = 0
    """Sets of nodes that were weighed."""

    def __str__(self) -> str:
        """One sentence for a person."""
        return str(self.figures)


def search(
    world: WhatIf,
    movable: Sequence[Movable],
    *,
    closed: frozenset[str] = frozenset(),
    tries: int = TRIES,
    stop: Stop | None = None,
    allows: Callable[[Step], bool] = lambda _step: True,
) -> Repack:
    """The cheapest end state that is found.

    Args:
        world: The snapshot, ready to be asked.
        movable: Nodes that may go, in the order of names.
        closed: Nodes that shall take no pod while they stay.
        tries: How many changes of the best set are tried.
        stop: Asked between two tries whether the best so far will do.
        allows: Whether a step may be taken, beside what the rules for spot nodes say.
    """
    known = {each.name: each for each in movable}
    spots = [each for each in movable if each.is_spot]

    def is_allowed(step: Step) -> bool:
        return _is_allowed(step, known, world) and allows(step)

    def found(
        some: Sequence[Movable], *, may_grow: bool
    ) -> tuple[tuple[Step, ...], frozenset[str]]:
        """The way, and nodes that the end state would do without and no step takes away."""
        nonlocal tried
        asked = removal_search.question(world, some, closed, may_grow=may_grow)
        first = asked.first(asked.order(), stop)
        best = _solved(asked, asked.improved(first, tries, stop))
        if best.refusal is not None:
            best = _solved(asked, first)
        tried += asked.tried
        if best.refusal is not None:
            return (), frozenset()
        steps_there = sequencing.ordered(best, some, world, is_allowed)
        return steps_there, frozenset(best.gone).difference(*(step.gone for step in steps_there))

    least, before, tried = world.bound().usd_per_hour, world.total_usd_per_hour, 0
    way: tuple[Step, ...] = ()
    if movable and least > 0:
        forbidden = not world.settings.is_on(evaluation.GATE)
        left = frozenset(known)
        if not (forbidden and len(spots) == len(movable)):
            way, left = found(movable, may_grow=True)
        if any(each.name in left for each in spots):
            # What may not be replaced may find room on nodes that are there.
            way = max((way, found(spots, may_grow=False)[0]), key=_net)
    figures = Repacked(
        considered=len(movable),
        gone=sum(len(step.gone) for step in way),
        made=sum(len(step.launched) for step in way),
        steps=len(way),
        moved=sum(len(step.moves) for step in way),
        usd_per_hour_before=before,
        usd_per_hour_after=before - sum(step.saved_usd_per_hour for step in way),
        lower_bound_usd_per_hour=least,
    )
    return Repack(steps=way, figures=figures, tried=tried)


def _net(way: Sequence[Step]) -> float:
    """What steps save, moves deducted, in USD per hour."""
    return sum(step.saved_usd_per_hour - step.moving_usd_per_hour for step in way)


def _is_allowed(step: Step, known: Mapping[str, Movable], world: WhatIf) -> bool:
    """Whether the rules for spot nodes let a step be taken."""
    if not step.launched or not all(known[name].is_spot for name in step.gone):
        return True
    new_nodes, is_single = step.launched, len(step.gone) == len(step.launched) == 1
    if is_single:
        (name,), (node,) = step.gone, new_nodes
        moving = step.moving_usd_per_hour
        cheaper = world.narrowed(
            node,
            capacity_type=node.capacity_types[0],
            below_usd_per_hour=known[name].gain / eviction_cost.friction(moving),
        )
        new_nodes = (cheaper or replace(node, types=()),)
    return evaluation.spot_to_spot(new_nodes, world.settings, one_for_one=is_single) is None


def _solved(asked: RemovalSearch, gone: Mask) -> Outcome:
    """What becomes of the pods if these went."""
    names = frozenset(m.name for m, goes in zip(asked.movable, gone, strict=True) if goes)
    most = None if asked.may_grow else 0
    closed = asked.closed - names
    return asked.world.without(names, new_nodes_most=most, closed=closed, landed=True)


def find(
    found: Sequence[Candidate], context: DisruptionContext, reason: Reason, allowance: Allowance
) -> tuple[list[Proposal], Repack]:
    """Steps that can begin now, each worth it when those before it are made, and the whole of which they are a part.

    Args:
        found: Nodes that may be consolidated.
        context: This tick's view.
        reason: For which budgets count.
        allowance: What these leave; what begins is taken from it.
    """
    by_node = {c.state_node.name: c for c in found}
    every = movable(found, context.world, context.snapshot, context.now)
    repack = _searched(every, context)
    proposals = _begun(repack.steps, by_node, context, reason, allowance)
    if repack.steps and not proposals:
        # Every step is too large for the budgets: what could those become that may go now?
        left = allowance.copy()
        order = removal_search.question(context.world, every).order()
        few = [every[i] for i in reversed(order) if left.take(every[i].pool)]
        if len(few) < len(every):
            few.sort(key=lambda each: each.name)
            steps = _searched(few, context).steps
            proposals = _begun(steps, by_node, context, reason, allowance)
    return proposals, repack


def movable(
    found: Sequence[Candidate], world: WhatIf, snapshot: Snapshot, now: datetime | None
) -> list[Movable]:
    """Of `found` those that may go, in the order of names, with what it costs to empty them.

    Args:
        found: Nodes that may be disrupted; those whose pods object stay.
        world: The same snapshot, ready to be asked.
        snapshot: All pods, to tell how large a share of its workload each is.
        now: The time; None to look at what would be possible once everybody has been quiet for long enough.
    """
    costs = eviction_cost.Costs.of_snapshot(world, snapshot)
    return sorted(
        (
            Movable(
                name=each.state_node.name,
                pool=each.pool.meta.name,
                usd_per_hour=world.usd_per_hour[each.state_node.name],
                moving_usd_per_hour=costs.per_hour(
                    each.reschedulable, eviction_cost.horizon(each.pool)
                ),
                is_spot=evaluation.is_spot(each.state_node),
            )
            for each in found
            if each.state_node.name in world.usd_per_hour
            and each.pool.consolidation_policy != "WhenEmpty"
            and not any(candidates.kept_from_consolidation(each, now))
        ),
        key=lambda each: each.name,
    )


def is_worth_it(step: Step, context: DisruptionContext) -> bool:
    """Whether NodePools of policy Balanced, if it has nodes of any, find that a step saves enough."""
    nodes = [context.snapshot.by_name[name] for name in step.gone]
    return evaluation.unbalanced(nodes, step.saved_usd_per_hour, context) is None


def _searched(some: Sequence[Movable], context: DisruptionContext) -> Repack:
    few = min(_TRIES_OF_PAIR * len(some) ** 2, _NODES_MOST // max(len(some), 1))
    return search(
        context.world,
        some,
        closed=context.unquiet,
        tries=max(min(_TRIES_OF_NODE * len(some), _TRIES_MOST), few),
        stop=context.stop,
        allows=lambda step: is_worth_it(step, context),
    )


def _begun(
    steps: Sequence[Step],
    by_node: Mapping[str, Candidate],
    context: DisruptionContext,
    reason: Reason,
    allowance: Allowance,
) -> list[Proposal]:
    """Of the steps those that can begin now, together; they alone are taken from the allowance."""
    every: list[tuple[Proposal, Sequence[Candidate]]] = []
    for step in steps[:STEPS_MOST]:
        members = [by_node[name] for name in step.gone]
        proposal = propose(
            members,
            context,
            reason=reason,
            method=METHOD,
            new_nodes=step.launched,
            saves_usd_per_hour=step.saved_usd_per_hour,
        )
        every.append((proposal, members))
    able, _ = evaluation.admit(every, context, allowance)
    return able
