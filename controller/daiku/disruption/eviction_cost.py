"""What it costs to move pods, in two measures.

`of_pods` is the peer's: a number without a unit, by which nodes are ranked and moves of NodePools with the policy
Balanced are scored. A pod that says nothing costs 1. `pod-deletion-cost` and priority make it dearer or cheaper, within
bounds, so that no single pod outweighs a whole node.
Source: Karpenter's disruption.EvictionCost and ReschedulingCost.

`Costs` is in dollars, so that it can be compared with what a move saves. While a pod starts again, what it holds is
paid for and does nothing; that is its cost, more for pods that are dear by the first measure and for those that are a
large share of their workload. How long it does nothing is seen on the pods of its workload that run: the median time
from node to Ready, and two minutes for what nobody sees. A saving in dollars per hour counts for as long as it is
believed to last, the *horizon*. With a horizon of zero moves are free, as they are for Karpenter.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from datetime import timedelta
from functools import partial
from typing import Final, Self

from daiku.model import labels, memo, units
from daiku.model.nodepool import NodePool
from daiku.model.pod import Pod
from daiku.scheduling.whatif import WhatIf
from daiku.state.snapshot import Snapshot

NODE: Final = 1.0
"""What it costs to replace a node on which nobody has to move."""
_DELETION_COST_UNIT: Final = 2.0**27
_PRIORITY_UNIT: Final = 2.0**25
_MOST: Final = 10.0
HORIZON: Final = "daiku.dev/payback-horizon"
"""Annotation of a NodePool: how long a saving is believed to last, such as "30m"; "0" makes moves free."""
HORIZON_DEFAULT: Final = timedelta(hours=1)
START: Final = timedelta(minutes=3)
"""How long a pod that was moved does nothing when nobody has seen one of its workload become ready."""
_MISSED: Final = timedelta(minutes=2)
"""For how long a pod that is moved is missed beside its start: it ends, is made again, waits until its node takes
pods (10 to 15 s beside a real kube-scheduler), and when it is ready its clients connect anew and its caches are cold.
Plans for ten clusters of 2,000 pods that were scaled to 30 % by node (`scale_in`) then move 229 of 600 and end 2.0 %
over the lower bound; with a minute and a half 248 and 2.0 %, with two and a half 224 and 2.2 %."""
_START_MOST: Final = timedelta(minutes=30)
"""A pod that became ready later than this has not been starting all the time."""
_FRICTION: Final = 1.05
"""How much dearer than on paper new nodes are where a move has its price: for minutes they run beside the old ones.
More of it saves evictions (eight simulated clusters of 1,000 pods, scaled to 30 %, ended 1.0 % over the lower bound
with 305 of 320 pods moved, with 1.3 1.4 % and 287, with 1.6 2.8 % and 264, with 2.2 6.6 % and 205), but then what would
save less than that share never pays, for however long it is there."""
_AGAIN: Final = 3.0
"""How much dearer it is to move a pod again that was moved a moment ago; it falls to nothing within ten minutes."""
_LAST_REPLICA: Final = 9.0
"""How much dearer it is to move the only replica of a workload than one of very many."""


def of_eviction(pod: Pod) -> float:
    """What it costs to move one pod, from -10 to 10."""
    cost = NODE + pod.priority / _PRIORITY_UNIT
    said = pod.meta.annotations.get(labels.POD_DELETION_COST)
    if said is not None:
        with suppress(ValueError):
            cost += float(said) / _DELETION_COST_UNIT
    # Of a cost that is no number ("nan") min and max would make either bound, by their order.
    return max(-_MOST, min(_MOST, cost)) if cost == cost else NODE  # noqa: PLR0124


@memo.by_identity(16_384)
def of_pods(pods: tuple[Pod, ...]) -> float:
    """What it costs to replace a node with these pods that would have to move; at least 1."""
    return NODE + sum(max(0.0, of_eviction(pod)) for pod in pods)


def horizon(pool: NodePool) -> timedelta:
    """How long a saving on nodes of `pool` counts; the default when the annotation is no duration."""
    asked = pool.meta.annotations.get(HORIZON, "")
    if asked == "0":
        return timedelta(0)
    with suppress(ValueError):
        return units.parse_duration(asked) if asked else HORIZON_DEFAULT
    return HORIZON_DEFAULT


def friction(moving: float) -> float:
    """How much dearer than on paper new nodes are; not at all where moves are free, as then all is moved again.

    Args:
        moving: What the moves cost for which they are made, in whatever unit.
    """
    return _FRICTION if moving > 0 else 1.0


def starts(snapshot: Snapshot) -> dict[str, timedelta]:
    """The median time from node to Ready of the pods of each owner, by the owner's uid."""
    seen: dict[str, list[timedelta]] = {}
    for state_node in snapshot.state_nodes:
        for pod in state_node.pods:
            if pod.ready_since is not None and pod.scheduled is not None and pod.is_active:
                took = max(pod.ready_since - pod.scheduled, timedelta(0))
                seen.setdefault(_owner(pod), []).append(min(took, _START_MOST))
    return {owner: sorted(times)[len(times) // 2] for owner, times in seen.items()}


class Costs:
    """What it costs to move pods of one snapshot."""

    def __init__(
        self,
        world: WhatIf,
        replicas: Mapping[str, int],
        starts: Mapping[str, timedelta],
        freshness: Callable[[Pod], float] = lambda _pod: 0.0,
    ) -> None:
        self._worth = world.worth()
        self._replicas = replicas
        self._starts = starts
        self._freshness = freshness

    @classmethod
    def of_snapshot(cls, world: WhatIf, snapshot: Snapshot) -> Self:
        """What moves cost at the time of `snapshot`, of which `world` was made."""
        running = (pod for s in snapshot.state_nodes for pod in s.pods if pod.is_active)
        freshness = partial(snapshot.past.freshness, now=snapshot.at)
        return cls(world, Counter(map(_owner, running)), starts(snapshot), freshness)

    def of(self, pod: Pod) -> float:
        """USD for moving `pod` once."""
        owner = _owner(pod)
        share = 1.0 / max(self._replicas.get(owner, 1), 1)
        took = self._starts.get(owner)
        idle_hours = (START if took is None else took + _MISSED) / timedelta(hours=1)
        worth = sum(self._worth.get(r, 0.0) * amount for r, amount in pod.requests.items())
        again = 1.0 + _AGAIN * self._freshness(pod)
        weight = max(0.0, of_eviction(pod))
        return worth * idle_hours * weight * (1.0 + _LAST_REPLICA * share) * again

    def per_hour(self, pods: Iterable[Pod], lasting: timedelta) -> float:
        """USD per hour that must be saved for as long as `lasting` so that moving `pods` pays; 0 if moves are free."""
        if lasting <= timedelta(0):
            return 0.0
        return sum(self.of(pod) for pod in pods) / (lasting / timedelta(hours=1))


def _owner(pod: Pod) -> str:
    return pod.meta.controller_uid or pod.meta.key
