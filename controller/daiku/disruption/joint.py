"""Repacks under way that lack room, weighed as one: what they have to buy, and who buys it.

The problem: weighed by itself, each takes the room that is left, and the nodes that others were made for, as its own;
when all have bought what they lack, some of it is filled with others' pods, and they buy again. The idea: what all of
them lack is looked for at once, and a NodePool buys nothing more while something of its own is still coming up.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Final

import numpy as np

from daiku.disruption import opening, payback
from daiku.disruption.ground import Ground
from daiku.disruption.moves import Move
from daiku.disruption.weighing import PATIENCE, Together, Weighing
from daiku.scheduling.columns import Ints
from daiku.scheduling.landing import Landing
from daiku.scheduling.solution import NewNode
from daiku.scheduling.whatif import WhatIf
from daiku.state.statenode import StateNode

SEVERAL = 2
"""With so many new nodes it matters who goes to which. Not final: in every second simulated history one will do."""
_SLACKS: Final = (0.01, 0.02, 0.03, 0.05, 0.08)
"""Shares by which pods are taken for larger than they are, one after the other, until all would land."""
_NODE_OF_FEW: Final = 1.5
"""What a node that few pods get to themselves costs, over what the lower bound says of them."""


def may_grow(move: Move, ground: Ground) -> bool:
    """Whether it is one of those that are weighed together: a repack that may still make nodes."""
    return (
        move.is_repack
        and not move.record.surged
        and (not move.replacements or move.is_younger_than(PATIENCE, ground.now))
    )


def growing(ground: Ground) -> frozenset[str]:
    """NodePools whose repacks wait for replacements that are coming up; one that takes long is waited for by nobody."""
    return ground.repacked_pools(
        PATIENCE, lambda move: any(not s.is_initialized for s in move.replacements)
    )


def unsettled(ground: Ground) -> frozenset[str]:
    """NodePools of which nodes are being repacked whose pods may still need room on nodes that stay."""
    return ground.repacked_pools(
        PATIENCE, lambda move: bool(move.members) or any(s.is_awaiting for s in move.replacements)
    )


def weigh(able: Sequence[Move], ground: Ground) -> Mapping[str, Weighing] | str:
    """What each of these moves does now, by its id, those left out that wait for others' nodes; or why all are wrong.

    Args:
        able: Moves of which all replacements are there, the oldest first.
        ground: This tick's view.
    """
    nodes = [s for move in able for s in move.staying]
    made = [s for move in able for s in move.replacements]
    others = ground.members - {s.claim_name for s in nodes}
    together = Together(ground.world_with(others), ground)
    right = {move.record.id: Weighing() for move in able}
    is_plain = together.world.whole.topology is None
    if made and is_plain and not _homeless(nodes, made, (), together, awaits=False):
        return right
    weighing, lost = _what_to_make(nodes, made, together)
    if weighing.refusal:
        return weighing.refusal
    if not weighing.new_nodes:
        return right
    if not made and (against := _loss(nodes, weighing, lost, together)):
        return against
    pods_of = {
        move.record.id: dict.fromkeys(p.meta.key for s in move.staying for p in s.reschedulable)
        for move in able
    }
    shares: dict[str, list[NewNode]] = {}
    for node in weighing.new_nodes:
        # The first of those that send the most pods there.
        buyer = max(pods_of, key=lambda each: sum(pod in pods_of[each] for pod in node.pods))
        shares.setdefault(buyer, []).append(node)
    return {
        each: Weighing(new_nodes=tuple(nodes), awaits_pods=weighing.awaits_pods)
        for each, nodes in shares.items()
    }


def objection(nodes: Sequence[StateNode], ground: Ground) -> str:
    """Why moves of these nodes that begin together would all be wrong by `weigh`; empty when they would be right.

    What is begun and called off each time keeps pods away from these nodes for nothing, and begins again.
    """
    together = Together(ground.world(), ground)
    weighing, lost = _what_to_make(nodes, (), together)
    if weighing.refusal or not weighing.new_nodes:
        return weighing.refusal
    return _loss(nodes, weighing, lost, together)


def _what_to_make(
    nodes: Sequence[StateNode], made: Sequence[StateNode], together: Together
) -> tuple[Weighing, float]:
    """What these nodes become, and what pods would cost that find no room even so.

    Nodes that stay closed until pods wait for them are made for those who find no room elsewhere. Where one node will
    do that is open at once nobody has to wait.
    """
    landed = together.weigh(nodes, made, landed=True)
    can_wait = opening.may_wait(nodes, together.ground) and all(
        map(opening.is_plain, landed.new_nodes)
    )
    if landed.refusal or not can_wait:
        return _with_slack(nodes, made, together)
    if not landed.new_nodes:
        return landed, 0.0
    if len(made) + len(landed.new_nodes) < SEVERAL:
        weighing, lost = _with_slack(nodes, made, together)
        if not (weighing.refusal or lost) and len(made) + len(weighing.new_nodes) < SEVERAL:
            return weighing, lost
    lost = _homeless(nodes, made, landed.new_nodes, together, awaits=True)
    return replace(landed, awaits_pods=True), lost


def _with_slack(
    nodes: Sequence[StateNode], made: Sequence[StateNode], together: Together
) -> tuple[Weighing, float]:
    """The same with nodes that are open at once: nobody knows who goes there, so there is as much slack as pays."""
    weighing = together.weigh(nodes, made)
    if weighing.refusal:
        return weighing, 0.0
    lost = _homeless(nodes, made, weighing.new_nodes, together, awaits=False)
    for slack in _SLACKS:
        if not (lost and weighing.new_nodes):
            break
        wider = together.weigh(nodes, made, slack)
        if wider.refusal:
            break
        weighing = wider
        lost = _homeless(nodes, made, wider.new_nodes, together, awaits=False)
    return weighing, lost


def _loss(nodes: Sequence[StateNode], weighing: Weighing, lost: float, together: Together) -> str:
    """Why it would not pay with the nodes that pods without room would need; empty when it would.

    New nodes are as dear here as when it was decided which nodes go: slack must not eat what was to be saved.
    """
    moving = together.ground.moving(nodes, together.world)
    new = sum(node.usd_per_hour for node in weighing.new_nodes)
    beside = (payback.friction(moving) - 1.0) * new
    if weighing.saves_usd_per_hour > moving + lost + beside:
        return ""
    return (
        f"it would save ${weighing.saves_usd_per_hour:.4f}/h; its new nodes run beside the old ones for minutes, which "
        f"counts ${beside:.4f}/h, and kube-scheduler would leave pods without room for which nodes cost ${lost:.4f}/h"
    )


def _homeless(
    nodes: Sequence[StateNode],
    made: Sequence[StateNode],
    new_nodes: Sequence[NewNode],
    together: Together,
    *,
    awaits: bool,
) -> float:
    """What more nodes would cost, in USD per hour, for pods that find no room the way kube-scheduler goes about it.

    Args:
        nodes: Nodes that go.
        made: Nodes that were made for them already.
        new_nodes: Nodes that would be made for them.
        together: With the what-if in which all others go.
        awaits: Whether new nodes stay closed until pods wait for them.
    """
    world = together.world
    names = frozenset(s.name for s in nodes)
    closed = [s for s in made if s.is_awaiting]
    awaiting, at_once = (new_nodes, ()) if awaits else ((), new_nodes)
    # Also on nodes that are to be left in peace: kube-scheduler does not know of them.
    question = world.landing(world.takers(names), at_once)
    moved = [pod for name in sorted(names) for pod in world.pods_on(name)]
    (left,) = question.left_over(world.counts_of(moved)[None])
    if left.any() and (closed or awaiting):
        going = frozenset(moved)
        places = [_kept(s, going, together.ground) for s in closed] + [
            node.pods for node in awaiting
        ]
        left = _beside(left, world.landing([s.name for s in closed], awaiting), places, world)
    return _NODE_OF_FEW * float(world.bound().worth @ (world.whole.requests @ left))


def _kept(made: StateNode, going: frozenset[str], ground: Ground) -> tuple[str, ...]:
    """Of the pods that go those for whom a place is kept on a node that is there."""
    pods = ground.snapshot.places.get(made.claim_name, ())
    return tuple(pod.meta.key for pod in pods if pod.meta.key in going)


def _beside(waiting: Ints, closed: Landing, places: Sequence[Sequence[str]], world: WhatIf) -> Ints:
    """Of pods that wait for nodes to open, how many of each class have no place there, shape (C,).

    Those whose like was planned there come first; the others have what is left.

    Args:
        waiting: How many of each class wait, shape (C,).
        closed: The nodes for which they wait.
        places: The pods for whom each of these was made.
        world: What classes they are of.
    """
    free, left = closed.free.copy(), waiting.copy()
    for column, pods in enumerate(places):
        taken = np.minimum(left, world.counts_of(pods))
        left -= taken
        free[:, column] -= world.whole.requests @ taken
    (rest,) = replace(closed, free=free).left_over(left[None])
    return rest
