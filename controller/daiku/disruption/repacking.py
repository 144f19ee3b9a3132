"""Repacking as a method: as many of the steps to a cheaper end state as budgets let begin now.

A search says what all nodes that may go could become, and how to get there (`repack`). Its steps become proposals of
their own, which rest, are checked again, begin, wait for their replacements and are called off each by itself. So
whichever of them come to nothing, the others were worth it; and what is left is searched anew from where they led.
"""

from collections.abc import Mapping, Sequence
from typing import Final

from daiku.disruption import balanced, joint, payback, repack
from daiku.disruption.budgets import Allowance
from daiku.disruption.candidates import Candidate
from daiku.disruption.ground import Ground
from daiku.disruption.method import propose
from daiku.disruption.repack import Repack
from daiku.disruption.steps import Movable, Step
from daiku.disruption.weighing import Together, Weighing
from daiku.report import Proposal

METHOD: Final = "repack"
STEPS_MOST: Final = 100
"""Steps that begin in one tick at most."""
_TRIES_OF_NODE: Final = 40
_TRIES_MOST: Final = 4000
"""Sets of nodes that one search weighs, by the number of nodes and at most; the tick's time box may end it before."""


def find(
    candidates: Sequence[Candidate], ground: Ground, reason: str
) -> tuple[list[Proposal], Repack]:
    """Steps that can begin now, each worth it when those before it are made, and the whole of which they are a part.

    Args:
        candidates: Nodes that may be consolidated.
        ground: This tick's view.
        reason: For which budgets count.
    """
    world = ground.world()
    movable = payback.movable(candidates, world, ground.snapshot, ground.now)
    found = _searched(movable, ground)
    by_node = {c.state_node.name: c for c in candidates}
    made = _begun(found.steps, by_node, ground, reason)
    if found.steps and not made:
        # Every step is too large for the budgets: what could those become that may go now?
        left = Allowance(dict(ground.allowance(reason).left))
        few = [m for m in repack.ranked(world, movable) if left.take(m.pool)]
        if len(few) < len(movable):
            few.sort(key=lambda m: m.name)
            made = _begun(_searched(few, ground).steps, by_node, ground, reason)
    return made, found


def _searched(movable: Sequence[Movable], ground: Ground) -> Repack:
    return repack.search(
        ground.world(),
        movable,
        closed=ground.unquiet(),
        tries=min(_TRIES_OF_NODE * len(movable), _TRIES_MOST),
        stop=ground.stop,
    )


def _begun(
    steps: Sequence[Step], by_node: Mapping[str, Candidate], ground: Ground, reason: str
) -> list[Proposal]:
    """Of the steps those that can begin now, together."""
    together, allowance = Together(ground.world(), ground), ground.allowance(reason)
    made: list[tuple[Proposal, list[Candidate]]] = []
    for step in steps[:STEPS_MOST]:
        members = [by_node[name] for name in step.gone]
        pools = [c.pool.meta.name for c in members]
        if not allowance.has_all(pools):
            continue
        weighing = weigh(members, ground, together)
        if weighing.refusal:
            continue
        allowance.take_all(pools)
        proposal = propose(
            members,
            ground,
            reason=reason,
            method=METHOD,
            new_nodes=step.launched,
            saves_usd_per_hour=weighing.saves_usd_per_hour,
        )
        made.append((proposal, members))
    while made and joint.objection([c.state_node for _, going in made for c in going], ground):
        # They would be called off one by one as soon as they have begun; here each look takes as long as a search.
        del made[len(made) // 2 :]
    return [proposal for proposal, _ in made]


def weigh(members: Sequence[Candidate], ground: Ground, together: Together) -> Weighing:
    """Whether a step is right beside those that begin together with it; if so, it is counted there."""
    nodes = [c.state_node for c in members]
    weighing = together.weigh(nodes)
    if weighing.refusal:
        return weighing
    against = balanced.objection(members, weighing.saves_usd_per_hour, ground)
    if against:
        return Weighing(refusal=against)
    together.take(nodes, weighing)
    return weighing
