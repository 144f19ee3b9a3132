"""What people are told of nodes that stay although they might go: as events, once per news and not once per tick.

Source: Karpenter's DisruptionBlocked events on Node, NodeClaim and NodePool, and those on pods whose annotation
do-not-disrupt is a time.
"""

from collections.abc import Iterator, Sequence
from datetime import timedelta
from typing import Final

from daiku import reasons
from daiku.commands import Announce, Command
from daiku.disruption import disruption_commands, evaluation
from daiku.disruption.context import DisruptionContext, MethodResult
from daiku.model import labels, resources, taints
from daiku.model.pod import Pod
from daiku.report import Kept, Look, Proposal
from daiku.state.snapshot import Snapshot
from daiku.state.statenode import StateNode

LOOK: Final = "telling"
BLOCKED: Final = reasons.DISRUPTION_BLOCKED
APPROVED: Final = reasons.CONSOLIDATION_APPROVED
_REASONS: Final = frozenset(
    {
        reasons.DO_NOT_DISRUPT, reasons.POD_DO_NOT_DISRUPT, reasons.POD_DISRUPTION_BUDGET, reasons.SEVERAL_BUDGETS,
        reasons.NODE_POOL_NOT_FOUND, reasons.NO_PLACE,
    }
)  # fmt: skip
"""Of what is said of kept nodes, what blocks a disruption that would be possible otherwise."""
_NOT_WORTH_IT: Final = frozenset({reasons.UNCONSOLIDATABLE, reasons.DRY_RUN})
"""What is said under its own reason."""
_BUDGET: Final = reasons.BUDGET
_MOST: Final = 20
"""Nodes per tick that are told; the others are told by the ticks that follow."""
_AGAIN: Final = timedelta(minutes=15)
"""What has been said is said again after this long."""


def blocked(kept: Sequence[Kept], context: DisruptionContext) -> MethodResult:
    """What is news about nodes that are blocked or not worth it, and what has been told by now, if that is more."""
    before = context.snapshot.looks.get(LOOK)
    is_old = before is None or context.now - before.at >= _AGAIN
    told = {} if before is None or is_old else {(k.node_claim, k.message): k for k in before.kept}
    concerned = [k for k in kept if k.reason in _REASONS | _NOT_WORTH_IT or k.reason == _BUDGET]
    pods = dict(_bounded(context))
    concerned += pods
    if not concerned and (before is None or not before.kept):
        return MethodResult()
    there = {(k.node_claim, k.message): k for k in concerned}
    news = [k for key, k in there.items() if key not in told][:_MOST]
    # What is not so any more is forgotten, so that it is news when it comes back.
    known = [k for key, k in told.items() if key in there]
    at = context.now if before is None or is_old else before.at
    look = Look(at=at, changes=-1, kept=(*known, *news), complete=True)
    said: list[Command] = [_to_pod(each, pods[each]) for each in news if each in pods]
    said += _say([each for each in news if each not in pods], context)
    return MethodResult(commands=said, looks={LOOK: look} if look != before else {})


def approved(
    proposal: Proposal, nodes: Sequence[StateNode], context: DisruptionContext
) -> Iterator[Announce]:
    """Tell why a move is worth it for NodePools of policy Balanced: one node's itself, else the NodePool.

    Source: Karpenter's ConsolidationApproved.
    """
    for each in evaluation.scores(nodes, proposal.saves_usd_per_hour, context):
        if len(nodes) == 1:
            yield from disruption_commands.announce(nodes[0], APPROVED, each.comparison)
            continue
        pool = context.snapshot.node_pool(each.pool)
        if pool is not None:
            yield Announce.on(
                "NodePool", pool.meta, type_="Normal", reason=APPROVED, message=each.comparison
            )


def _bounded(context: DisruptionContext) -> Iterator[tuple[Kept, Pod]]:
    """What there is to say of pods that want to be left alone for a time, each with its pod."""
    for state_node in context.snapshot.state_nodes:
        for pod in state_node.bounded if state_node.claim is not None else ():
            until, wish = pod.protected_until(), pod.meta.annotations[labels.DO_NOT_DISRUPT]
            about = f"pod {pod.meta.key}: "
            if until is None:
                reason = reasons.INVALID_DO_NOT_DISRUPT
                about += f"{labels.DO_NOT_DISRUPT} {wish!r} is neither true nor a duration such as 30m; ignored"
            elif context.now < until:
                reason = reasons.DO_NOT_DISRUPT_UNTIL
                about += (
                    f"the {wish} of its {labels.DO_NOT_DISRUPT} end at {until:%Y-%m-%dT%H:%M:%SZ}"
                )
            elif context.now < until + _AGAIN:
                reason = reasons.DO_NOT_DISRUPT_OVER
                about += f"the {wish} of its {labels.DO_NOT_DISRUPT} are over, it may be disrupted"
            else:
                continue
            yield Kept(node_claim=state_node.claim_name, reason=reason, message=about), pod


def _to_pod(told: Kept, pod: Pod) -> Announce:
    kind = "Warning" if told.reason == reasons.INVALID_DO_NOT_DISRUPT else "Normal"
    return Announce.on("Pod", pod.meta, type_=kind, reason=told.reason, message=told.message)


def _say(news: Sequence[Kept], context: DisruptionContext) -> Iterator[Announce]:
    pools: dict[str, str] = {}
    for each in news:
        state_node = context.snapshot.by_name.get(each.node_claim)
        if state_node is None:
            continue
        if each.reason == _BUDGET:
            pools.setdefault(state_node.nodepool, each.message)
        elif each.reason in _NOT_WORTH_IT:
            message = f"{each.message}{apart(state_node, context.snapshot)}"
            yield from disruption_commands.announce(state_node, each.reason, message)
        else:
            yield from disruption_commands.announce(state_node, BLOCKED, each.message)
    for name, message in pools.items():
        pool = context.snapshot.node_pool(name)
        if pool is not None:
            yield Announce.on(
                "NodePool", pool.meta, type_="Normal", reason=BLOCKED, message=message
            )


def apart(state_node: StateNode, snapshot: Snapshot) -> str:
    """Which of its pods would have room elsewhere but for what pods ask of each other; empty when none would."""
    for pod in state_node.pods:
        spread = next((s for s in pod.spread if s.hard), None)
        if not pod.is_reschedulable or not (spread or pod.pod_anti_affinity):
            continue
        roomy = next((s for s in snapshot.state_nodes if _has_room(s, state_node, pod)), None)
        if roomy is None:
            continue
        asked = (
            f"must spread over {spread.key} (maxSkew {spread.max_skew})"
            if spread is not None
            else f"keeps apart from others by {pod.pod_anti_affinity[0].key}"
        )
        return f"; {roomy.name} would have room for pod {pod.meta.key}, which {asked}"
    return ""


def _has_room(there: StateNode, leaving: StateNode, pod: Pod) -> bool:
    """Whether `pod` fits on a node that stays, as far as amounts go."""
    if there is leaving or there.is_leaving or there.node is None or not there.is_initialized:
        return False
    used = resources.add(there.used(), pod.requests)
    return taints.untolerated(there.taints, pod.tolerations) is None and resources.fits(
        used, there.allocatable
    )
