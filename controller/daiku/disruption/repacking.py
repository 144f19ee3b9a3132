"""Repacking as a method: as many of the steps to a cheaper end state as budgets let begin now.

A search says what all nodes that may go could become, and how to get there (`repack`). Its steps become proposals of
their own, which rest, are checked again, begin, wait for their replacements and are called off each by itself. So
whichever of them come to nothing, the others were worth it; and what is left is searched anew from where they led.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Final

from daiku.disruption import balanced, joint, payback, repack
from daiku.disruption.budgets import Allowance
from daiku.disruption.candidates import Candidate
from daiku.disruption.ground import Ground
from daiku.disruption.method import propose
from daiku.disruption.repack import Repack
from daiku.disruption.steps import Movable, Step
from daiku.disruption.weighing import Together, Weighing
from daiku.reason import Reason
from daiku.report import Proposal

METHOD: Final = "repack"
STEPS_MOST: Final = 100
"""Steps that begin in one tick at most."""
_PROMISED: Final = 0.95
"""Share of what steps were to save that they still have to save when they begin."""
_OUTDONE: Final = 1.1
"""How much more has to be saved, moves deducted, for steps that have rested to be decided anew."""
_AS_GOOD: Final = 0.98
_FEWER: Final = 0.75
"""Or how much of it with so much fewer evictions."""
_TRIES_OF_NODE: Final = 40
_TRIES_MOST: Final = 4000
"""Sets of nodes that one search weighs, by the number of nodes, and at most; the tick's time box may end it before."""
_TRIES_OF_PAIR: Final = 16
_NODES_MOST: Final = 800_000
"""Of few nodes more: by the square of their number, and at most so many nodes in all sets together, which is about
what the others take. Ten plans for 30 to 60 nodes ended 2.1 % over the bound with 4,000 sets, and 1.9 % with these."""


def find(
    candidates: Sequence[Candidate], ground: Ground, reason: Reason, allowance: Allowance
) -> tuple[list[Proposal], Repack]:
    """Steps that can begin now, each worth it when those before it are made, and the whole of which they are a part.

    Args:
        candidates: Nodes that may be consolidated.
        ground: This tick's view.
        reason: For which budgets count.
        allowance: What these leave; what begins is taken from it.
    """
    world = ground.world()
    movable = payback.movable(candidates, world, ground.snapshot, ground.now)
    by_node = {c.state_node.name: c for c in candidates}
    found = _searched(movable, by_node, ground)
    made = _begun(found.steps, by_node, ground, reason, allowance)
    if found.steps and not made:
        # Every step is too large for the budgets: what could those become that may go now?
        left = allowance.copy()
        few = [m for m in repack.ranked(world, movable) if left.take(m.pool)]
        if len(few) < len(movable):
            few.sort(key=lambda m: m.name)
            made = _begun(_searched(few, by_node, ground).steps, by_node, ground, reason, allowance)
    return made, found


def _searched(
    movable: Sequence[Movable], by_node: Mapping[str, Candidate], ground: Ground
) -> Repack:
    names = tuple(each.name for each in movable)
    if names not in ground.repacks:
        ground.repacks[names] = repack.search(
            ground.world(),
            movable,
            closed=ground.unquiet(),
            tries=_tries(len(movable)),
            stop=ground.stop,
            allows=lambda step: is_worth_it(step, by_node, ground),
        )
    return ground.repacks[names]


def is_worth_it(step: Step, by_node: Mapping[str, Candidate], ground: Ground) -> bool:
    """Whether NodePools of policy Balanced, if it has nodes of any, find that a step saves enough."""
    members = [by_node[name] for name in step.gone]
    return not balanced.objection(members, step.saved_usd_per_hour, ground)


def _tries(nodes: int) -> int:
    """How many sets of so many nodes are weighed."""
    few = min(_TRIES_OF_PAIR * nodes**2, _NODES_MOST // max(nodes, 1))
    return max(min(_TRIES_OF_NODE * nodes, _TRIES_MOST), few)


def _begun(
    steps: Sequence[Step],
    by_node: Mapping[str, Candidate],
    ground: Ground,
    reason: Reason,
    allowance: Allowance,
) -> list[Proposal]:
    """Of the steps those that can begin now, together; they alone are taken from the allowance."""
    every = [(step, [by_node[name] for name in step.gone]) for step in steps[:STEPS_MOST]]
    left = allowance.copy()
    able = [
        (_proposed(step, members, ground, reason), members)
        for step, members in every
        if left.take_all(_pools(members))
    ]
    together = Together(ground.world(), ground)
    if able and not are_right(able, ground, together):
        # One by one; what is refused leaves the budget to those after it.
        left = allowance.copy()
        able = list[tuple[Proposal, list[Candidate]]]()
        for step, members in every:
            if not left.has_all(_pools(members)):
                continue
            weighing = weigh(members, ground, together)
            if not weighing.refusal:
                left.take_all(_pools(members))
                proposal = _proposed(step, members, ground, reason)
                saved = weighing.saves_usd_per_hour
                able.append((replace(proposal, saves_usd_per_hour=saved), members))
    while able and joint.objection([c.state_node for _, going in able for c in going], ground):
        # They would be called off one by one as soon as they have begun; here each look takes as long as a search.
        del able[len(able) // 2 :]
    for _, members in able:
        allowance.take_all(_pools(members))
    return [proposal for proposal, _ in able]


def _pools(members: Sequence[Candidate]) -> list[str]:
    return [c.pool.meta.name for c in members]


def _proposed(step: Step, members: Sequence[Candidate], ground: Ground, reason: Reason) -> Proposal:
    return propose(
        members,
        ground,
        reason=reason,
        method=METHOD,
        new_nodes=step.launched,
        saves_usd_per_hour=step.saved_usd_per_hour,
    )


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


def are_right(
    begun: Sequence[tuple[Proposal, Sequence[Candidate]]], ground: Ground, together: Together
) -> bool:
    """Whether steps that were decided together are right together; if so they are counted there.

    By itself each is weighed with the room of those that come after it, and the last ones seem to save next to nothing.
    """
    nodes = [c.state_node for _, members in begun for c in members]
    weighing = together.weigh(nodes)
    promised = sum(proposal.saves_usd_per_hour for proposal, _ in begun)
    if weighing.refusal or weighing.saves_usd_per_hour < _PROMISED * promised:
        return False
    if any(balanced.objection(m, p.saves_usd_per_hour, ground) for p, m in begun):
        return False
    together.take(nodes, weighing)
    return True


def outdone(
    begun: Sequence[tuple[Proposal, Sequence[Candidate]]],
    candidates: Sequence[Candidate],
    ground: Ground,
) -> str:
    """Why steps that have rested had better be decided anew; empty when they had not.

    Much more could be saved now, or about as much with far fewer evictions. They may have been decided while pods were
    still leaving, and to move somebody again is dear for ten minutes.

    Args:
        begun: The steps, and their nodes.
        candidates: All nodes that may be disrupted.
        ground: This tick's view.
    """
    if all(proposal.changes == ground.snapshot.changes for proposal, _ in begun):
        return ""
    free, reason = [c for c in candidates if not c.is_dry], begun[0][0].reason
    allowance = ground.allowance(reason).copy()
    found, _ = find(free, ground, reason, allowance)
    nodes = ground.snapshot.by_name

    def net(proposals: Sequence[Proposal]) -> tuple[float, int]:
        """What is saved, moves deducted, and how many pods move."""
        going = [nodes[name] for each in proposals for name in each.claims if name in nodes]
        saved = sum(each.saves_usd_per_hour for each in proposals)
        moves = sum(len(each.reschedulable) for each in going)
        return saved - ground.moving(going, ground.world()), moves

    (promised, many), (best, few) = net([proposal for proposal, _ in begun]), net(found)
    if best > _OUTDONE * promised or (best >= _AS_GOOD * promised and few <= _FEWER * many):
        return (
            f"churn: moves deducted it would save ${promised:.4f}/h with {many} evictions, and ${best:.4f}/h can be "
            f"saved with {few} now"
        )
    return ""
