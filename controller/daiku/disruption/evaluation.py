"""Is this set of removals and additions right?

Asked here by every method: when it decides, when its decision has waited, and while its command is under way.

The pods of the nodes that go must have room on nodes that stay or on new ones (`scheduling.whatif`). What is done for
cost must also pay:

- It saves more than its evictions cost over the payback horizon (`eviction_cost`).
- Spot nodes make place for spot nodes only by the feature gate, and one for one only with enough types to choose from.
- For NodePools with the policy Balanced, what it saves as a share of what the NodePool costs must be at least half of
  what it evicts as a share of the NodePool.
- Steps of a repack must pay with pods where kube-scheduler puts them, which packs less well than the plan: evicted pods
  come back within milliseconds, each to the node that is then the least full. New nodes stay closed until pods wait for
  them where that is possible (`opening`), and what pods without room would cost is counted.

Steps that begin together are evaluated together: by itself each would take the room that is left as its own.

Source: Karpenter's computeConsolidation, computeSpotToSpotConsolidation, and ScoreMove with its k of 2.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Final

import numpy as np

from daiku.disruption import eviction_cost, opening
from daiku.disruption.budgets import Allowance
from daiku.disruption.candidates import Candidate
from daiku.disruption.context import DisruptionContext
from daiku.model import labels
from daiku.report import Proposal
from daiku.scheduling import outcome as outcomes
from daiku.scheduling.columns import Ints
from daiku.scheduling.landing import Landing
from daiku.scheduling.solution import NewNode
from daiku.scheduling.whatif import WhatIf
from daiku.settings import Settings
from daiku.state.statenode import StateNode

UNWEIGHED: Final = ("empty", "static")
"""Methods without a what-if: no pod has to move, or the NodePool's number of replicas makes the room."""
GATE: Final = "SpotToSpotConsolidation"
SPOT_TYPES_LEAST: Final = 15
"""Cheaper spot types that must be left to choose from before one spot node makes place for another one."""
BALANCED: Final = "Balanced"
K: Final = 2
SEVERAL = 2
"""With so many new nodes it matters which pod goes to which. Not final: half of the simulations set it to 1."""
_PROMISED: Final = 0.95
"""Share of what several moves were to save that they still have to save together."""
_NODE_OF_FEW: Final = 1.5
"""What a node that few pods get to themselves costs, over what the lower bound says of them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class NotWorthEvictions:
    """It saves no more than its evictions cost."""

    saves_usd_per_hour: float
    evictions_usd_per_hour: float

    def __str__(self) -> str:
        """One sentence for a person."""
        return (
            f"it would save ${self.saves_usd_per_hour:.4f}/h, and moving its pods costs "
            f"${self.evictions_usd_per_hour:.4f}/h over the payback horizon"
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class NotWorthNewNodes:
    """It saves no more than evictions, the time in which old and new nodes run, and pods without room cost."""

    saves_usd_per_hour: float
    overlap_usd_per_hour: float
    left_over_usd_per_hour: float

    def __str__(self) -> str:
        """One sentence for a person."""
        return (
            f"it would save ${self.saves_usd_per_hour:.4f}/h; its new nodes run beside the old ones for minutes, which "
            f"counts ${self.overlap_usd_per_hour:.4f}/h, and kube-scheduler would leave pods without room for which "
            f"nodes cost ${self.left_over_usd_per_hour:.4f}/h"
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class SpotToSpot:
    """Spot nodes must not make place for these spot nodes."""

    types: int | None = None
    """Cheaper types to choose from, if these are too few; None: the gate is off."""

    def __str__(self) -> str:
        """In Karpenter's words."""
        if self.types is None:
            return f"{GATE} is disabled, can't replace a spot node with a spot node"
        return (
            f"{GATE} requires {SPOT_TYPES_LEAST} cheaper instance type options than the current "
            f"candidate to consolidate, got {self.types}"
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Score:
    """What a move is to one NodePool of policy Balanced."""

    pool: str
    worth: float
    saves_usd_per_hour: float
    of_usd_per_hour: float
    """What the whole NodePool costs."""
    disturbs: float
    of_disturbance: float
    """Cost of moving all of it."""

    @property
    def is_worth_it(self) -> bool:
        """Whether it reaches the threshold."""
        return self.worth >= 1 / K

    @property
    def comparison(self) -> str:
        """The score and the threshold in Karpenter's words."""
        sign = ">=" if self.is_worth_it else "<"
        saves = _percent(self.saves_usd_per_hour, self.of_usd_per_hour)
        disturbs = _percent(self.disturbs, self.of_disturbance)
        return (
            f"score {self.worth:.2f} {sign} threshold {1 / K:.2f} "
            f"(k: {K}, savings {saves}, disruption {disturbs})"
        )

    def __str__(self) -> str:
        """The refusal, for a person."""
        return (
            f"NodePool {self.pool} is Balanced: {self.comparison}: saves ${self.saves_usd_per_hour:.4f}/h of "
            f"${self.of_usd_per_hour:.4f}/h, moves {self.disturbs:.1f} of {self.of_disturbance:.1f}"
        )


Refusal = outcomes.Refusal | NotWorthEvictions | NotWorthNewNodes | SpotToSpot | Score
"""Why a move is not right. Its text is made when it is read."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Evaluation:
    """What a move comes to."""

    refusal: Refusal | None = None
    """None when it is right."""
    new_nodes: tuple[NewNode, ...] = ()
    """Nodes to be made, for this move and those that begin before it in this tick."""
    saves_usd_per_hour: float = 0.0
    evictions_usd_per_hour: float = 0.0
    """What its evictions cost over the payback horizon; 0 where that does not matter."""
    awaits_pods: bool = False
    """Whether the new nodes stay closed until the pods wait for which they are made."""


@dataclass(slots=True)
class Evaluator:
    """Evaluates moves, each beside those before it that were found right and `take`n."""

    context: DisruptionContext
    gone: frozenset[str] | None = None
    """NodeClaims of other commands, which are gone; None: of all under way."""
    _world: WhatIf | None = None
    _begun: tuple[StateNode, ...] = ()
    _saved_usd_per_hour: float = 0.0

    @property
    def world(self) -> WhatIf:
        """The what-if in which those are gone."""
        if self._world is None:
            known, gone = self.context, self.gone
            self._world = known.world if gone is None else known.world_with(gone)
        return self._world

    def evaluate(
        self,
        nodes: Sequence[StateNode],
        method: str,
        *,
        replacements: Sequence[StateNode] = (),
        may_grow: bool = True,
    ) -> Evaluation:
        """Whether it is right to take `nodes` away.

        Args:
            nodes: Nodes that would go.
            method: empty, drift, static, repack or single.
            replacements: Nodes that were made for them already, and are paid for.
            may_grow: Whether nodes may be made for them; if not, all that is asked is whether every pod has a place.
        """
        if method in UNWEIGHED:
            known = self.context.prices
            return Evaluation(saves_usd_per_hour=sum(known.get(s.name, 0.0) for s in nodes))
        if not may_grow or method == "drift":
            outcome = self.world.without(_names(nodes), new_nodes_most=None if may_grow else 0)
            if outcome.refusal is not None:
                return Evaluation(refusal=outcome.refusal)
            saved = outcome.saved_usd_per_hour
            return Evaluation(new_nodes=outcome.new_nodes, saves_usd_per_hour=saved)
        every = (*self._begun, *nodes)
        is_repack = method == "repack"
        found = self._repacked(every, replacements) if is_repack else self._cheaper(every, most=1)
        if found.refusal is not None or not self._begun:
            return found
        # It has to pay by itself.
        saved = found.saves_usd_per_hour - self._saved_usd_per_hour
        evictions = self.context.moving(nodes, self.world)
        return self._paid(nodes, saved, evictions, found)

    def take(self, nodes: Sequence[StateNode], evaluation: Evaluation) -> None:
        """Count a move that was found right for those that follow."""
        self._begun += tuple(nodes)
        self._saved_usd_per_hour += evaluation.saves_usd_per_hour

    def _cheaper(
        self,
        nodes: Sequence[StateNode],
        replacements: Sequence[StateNode] = (),
        *,
        most: int | None = None,
        landed: bool = False,
    ) -> Evaluation:
        """Whether the pods fit elsewhere and on new nodes that are clearly cheaper than `nodes` together.

        Args:
            nodes: Nodes that would go.
            replacements: Nodes that were made for them already.
            most: How many nodes may be made; None for any number.
            landed: Whether nodes that are open are filled as kube-scheduler does it.
        """
        gone, there, known = _names(nodes), _names(replacements), self.world.usd_per_hour
        price = sum(known.get(name, 0.0) for name in gone)
        price -= sum(known.get(name, 0.0) for name in there)
        evictions = self.context.moving(nodes, self.world)
        if evictions > 0 and price <= evictions:
            return self._paid(nodes, price, evictions, Evaluation())
        outcome = self.world.without(
            gone,
            new_nodes_most=most,
            below_usd_per_hour=(price - evictions) / eviction_cost.friction(evictions),
            closed=self.context.unquiet - gone - there,
            landed=landed,
        )
        if outcome.refusal is not None:
            return Evaluation(refusal=outcome.refusal)
        new_nodes = outcome.new_nodes
        if all(is_spot(s) for s in nodes):
            one_for_one = len(nodes) == len(new_nodes) == 1
            against = spot_to_spot(new_nodes, self.context.settings, one_for_one=one_for_one)
            if against is not None:
                return Evaluation(refusal=against)
            if one_for_one and _may_be_spot(new_nodes):
                new_nodes = (_cut(new_nodes[0]),)
        saved = price - sum(node.usd_per_hour for node in new_nodes)
        return self._paid(nodes, saved, evictions, Evaluation(new_nodes=new_nodes))

    def _paid(
        self, nodes: Sequence[StateNode], saved: float, evictions: float, found: Evaluation
    ) -> Evaluation:
        """`found`, if it saves more than its evictions cost; where these are free, nodes may go that cost nothing."""
        if saved <= evictions and (evictions > 0 or found.new_nodes):
            refusal = NotWorthEvictions(saves_usd_per_hour=saved, evictions_usd_per_hour=evictions)
            return Evaluation(refusal=refusal)
        return replace(
            found,
            saves_usd_per_hour=saved,
            evictions_usd_per_hour=evictions,
            refusal=unbalanced(nodes, saved, self.context),
        )

    def _repacked(
        self, nodes: Sequence[StateNode], replacements: Sequence[StateNode]
    ) -> Evaluation:
        """The same for steps of a repack, with pods where kube-scheduler would put them."""
        is_plain = self.world.whole.topology is None
        if replacements and is_plain and not self._left_over(nodes, replacements, Evaluation()):
            return Evaluation()
        found = self._cheaper(nodes, replacements, landed=True)
        can_wait = opening.may_wait(nodes, self.context) and all(
            map(opening.is_plain, found.new_nodes)
        )
        if found.refusal is not None or not can_wait:
            found = self._cheaper(nodes, replacements)
        elif found.new_nodes:
            # Where one node will do that is open at once no pod has to wait.
            if len(replacements) + len(found.new_nodes) < SEVERAL:
                at_once = self._cheaper(nodes, replacements)
                made = len(replacements) + len(at_once.new_nodes)
                lands = at_once.refusal is None and made < SEVERAL
                if lands and not self._left_over(nodes, replacements, at_once):
                    return at_once
            found = replace(found, awaits_pods=True)
        if found.refusal is not None or not found.new_nodes or replacements:
            # What was made already is paid for.
            return found
        left_over = self._left_over(nodes, replacements, found)
        new = sum(node.usd_per_hour for node in found.new_nodes)
        overlap = (eviction_cost.friction(found.evictions_usd_per_hour) - 1.0) * new
        saved = found.saves_usd_per_hour
        if saved > found.evictions_usd_per_hour + left_over + overlap:
            return found
        return Evaluation(
            refusal=NotWorthNewNodes(
                saves_usd_per_hour=saved,
                overlap_usd_per_hour=overlap,
                left_over_usd_per_hour=left_over,
            )
        )

    def _left_over(
        self, nodes: Sequence[StateNode], replacements: Sequence[StateNode], found: Evaluation
    ) -> float:
        """What more nodes would cost, in USD per hour, for pods that find no room the way kube-scheduler places them.

        Args:
            nodes: Nodes that go.
            replacements: Nodes that were made for them already.
            found: Nodes that would be made for them, and whether these stay closed until pods wait for them.
        """
        world, names = self.world, _names(nodes)
        closed = [s for s in replacements if s.is_awaiting]
        awaiting, at_once = (found.new_nodes, ()) if found.awaits_pods else ((), found.new_nodes)
        # Also on nodes that are to be left in peace: kube-scheduler does not know of them.
        question = world.landing(world.takers(names), at_once)
        moved = [pod for name in sorted(names) for pod in world.pods_on(name)]
        (left,) = question.left_over(world.counts_of(moved)[None])
        if left.any() and (closed or awaiting):
            going, kept = frozenset(moved), self.context.snapshot.places
            places = [
                tuple(p.meta.key for p in kept.get(s.claim_name, ()) if p.meta.key in going)
                for s in closed
            ]
            places += [node.pods for node in awaiting]
            left = _beside(left, world.landing([s.name for s in closed], awaiting), places, world)
        return _NODE_OF_FEW * float(world.bound().worth @ (world.whole.requests @ left))


def admit(
    moves: Sequence[tuple[Proposal, Sequence[Candidate]]],
    context: DisruptionContext,
    allowance: Allowance,
) -> tuple[list[Proposal], dict[str, str]]:
    """Of moves for cost those that are right beside each other within the budgets, and why not, by the ids of others.

    Args:
        moves: Each with all of its nodes.
        context: This tick's view.
        allowance: What budgets leave; what is admitted is taken from it, and what is refused leaves it to the next.
    """
    left = allowance.copy()
    able = [
        (p, members) for p, members in moves if left.take_all(c.pool.meta.name for c in members)
    ]
    evaluator: Evaluator | None = Evaluator(context)
    if len(able) > 1:
        # By itself each has the room of those that come after it, and the last ones seem to save next to nothing.
        nodes = [c.state_node for _, members in able for c in members]
        whole = evaluator.evaluate(nodes, "repack")
        promised = sum(p.saves_usd_per_hour for p, _ in able)
        if whole.refusal is None and whole.saves_usd_per_hour >= _PROMISED * promised:
            moves, evaluator = able, None
    admitted: list[Proposal] = []
    refused: dict[str, str] = {}
    for proposal, members in moves:
        pools = [c.pool.meta.name for c in members]
        if not allowance.has_all(pools):
            names = ", ".join(dict.fromkeys(pools))
            refused[proposal.id] = f"budget: NodePool {names} allows no more disruptions now"
            continue
        if evaluator is not None:
            nodes = [c.state_node for c in members]
            found = evaluator.evaluate(nodes, proposal.method)
            if found.refusal is not None:
                refused[proposal.id] = f"scheduling: {found.refusal}"
                continue
            evaluator.take(nodes, found)
            saves = found.saves_usd_per_hour
            admitted.append(replace(proposal, saves_usd_per_hour=saves))
        else:
            admitted.append(proposal)
        allowance.take_all(pools)
    return admitted, refused


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


def spot_to_spot(
    new_nodes: Sequence[NewNode], settings: Settings, *, one_for_one: bool
) -> SpotToSpot | None:
    """Why nodes that are all spot must not be replaced with `new_nodes`; None when they may.

    Args:
        new_nodes: Each with the types that are cheaper than what goes.
        settings: With the feature gates.
        one_for_one: Whether one node makes place for one.
    """
    if not _may_be_spot(new_nodes):
        return None
    if not settings.is_on(GATE):
        return SpotToSpot()
    types = min(len(node.types) for node in new_nodes)
    return SpotToSpot(types=types) if one_for_one and types < SPOT_TYPES_LEAST else None


def scores(
    nodes: Sequence[StateNode], saving: float, context: DisruptionContext
) -> Iterator[Score]:
    """What a move is to each of its NodePools of policy Balanced, in the order of their names.

    What a move over several NodePools saves is shared out by what their nodes in it cost.
    """
    snapshot, prices = context.snapshot, context.prices
    total = sum(prices.get(s.name, 0.0) for s in nodes)
    for name in sorted(dict.fromkeys(s.nodepool for s in nodes)):
        pool = snapshot.node_pool(name)
        if pool is None or pool.consolidation_policy != BALANCED:
            continue
        mine = [s for s in nodes if s.nodepool == name]
        price = sum(prices.get(s.name, 0.0) for s in mine)
        share = saving * price / total if total > 0 else 0.0
        whole = [s for s in snapshot.state_nodes if s.nodepool == name]
        cost = sum(prices.get(s.name, 0.0) for s in whole)
        disturbs, of = (
            sum(eviction_cost.of_pods(s.reschedulable) for s in each) for each in (mine, whole)
        )
        yield Score(
            pool=name,
            worth=score(share, disturbs, cost, of),
            saves_usd_per_hour=share,
            of_usd_per_hour=cost,
            disturbs=disturbs,
            of_disturbance=of,
        )


def unbalanced(
    nodes: Sequence[StateNode], saving: float, context: DisruptionContext
) -> Score | None:
    """For which NodePool of policy Balanced a move is not worth it; None when it is for all."""
    found = scores(nodes, saving, context)
    return next((each for each in found if not each.is_worth_it), None)


def score(saving: float, disruption: float, total_price: float, total_disruption: float) -> float:
    """Saving per disruption, both as shares of the whole NodePool; infinite when it disturbs nobody.

    Args:
        saving: USD per hour.
        disruption: Cost of the moves.
        total_price: USD per hour of the whole NodePool.
        total_disruption: Cost of moving all of it.
    """
    if saving <= 0 or total_price <= 0 or total_disruption <= 0:
        return 0.0
    if disruption <= 0:
        return float("inf")
    return (saving / total_price) / (disruption / total_disruption)


def _cut(node: NewNode) -> NewNode:
    """The cheapest types only, so that the next round finds the node among them and leaves it.

    `minValues` may ask for more of them.
    """
    wide = max((r.min_values or 0 for r in node.requirements), default=0)
    return replace(node, types=node.types[: max(SPOT_TYPES_LEAST, wide)])


def _may_be_spot(new_nodes: Sequence[NewNode]) -> bool:
    return any(labels.SPOT in node.capacity_types for node in new_nodes)


def is_spot(state_node: StateNode) -> bool:
    """Whether it was bought as spot capacity."""
    return state_node.labels.get(labels.CAPACITY_TYPE) == labels.SPOT


def _names(nodes: Sequence[StateNode]) -> frozenset[str]:
    return frozenset(s.name for s in nodes)


def _percent(part: float, whole: float) -> str:
    return f"{100 * part / whole:.1f}%" if whole > 0 else "0.0%"
