"""From pods that wait, or are about to, to NodeClaims.

Pods with constraints that have a place keep it (`nominations`); the others are expected where kube-scheduler would put
them. Pods without a place are planned together once their batch is closed (`batching`), and again every few seconds as
long as there is none. Pods whose nodes are being deleted (`leaving`) are planned with them.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from typing import Final

from daiku import reasons
from daiku.commands import Announce, Command, CreateNodeClaim
from daiku.model import resources
from daiku.model.instance_type import Catalogue
from daiku.model.pod import Pod
from daiku.provisioning import batching, leaving, nominations
from daiku.provisioning.nominations import Standing
from daiku.report import Unschedulable
from daiku.scheduling import claims, limits, node_sets, price_guard, problem, solver
from daiku.scheduling.packer.effort import Stop
from daiku.scheduling.solution import NewNode, Solution
from daiku.settings import Settings
from daiku.state.snapshot import Snapshot

_CROWDING: Final = timedelta(seconds=1)
"""How long after the last pod has lost its place to another nothing is planned for those without one."""
_CROWDING_MOST: Final = timedelta(seconds=5)
"""How long after the first of them at most."""
_RETRY: Final = timedelta(seconds=10)
"""How often pods without a place are looked at again when nothing else asks for it (Karpenter's interval)."""
_ANNOUNCED_MOST: Final = 50
"""Pods per tick that are told why they wait; the others of their class wait for the same reason."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Provisioning:
    """What is to be done about pending pods."""

    commands: tuple[Command, ...] = ()
    placements: Mapping[str, str] = field(default_factory=dict[str, str])
    """Pod namespace/name -> node or NodeClaim, in an order in which they could be bound."""
    unschedulable: tuple[Unschedulable, ...] = ()
    planned: bool = False
    """Whether pods were planned, or only waited for."""
    lower_bound_usd_per_hour: float = 0.0
    new_usd_per_hour: float = 0.0
    wake_at: datetime | None = None


def plan(
    snapshot: Snapshot,
    catalogue: Catalogue,
    settings: Settings,
    now: datetime,
    stop: Stop | None = None,
) -> Provisioning:
    """Decide which nodes to make.

    Args:
        snapshot: Nodes, pods and NodePools.
        catalogue: What can be bought.
        settings: How to decide.
        now: The time.
        stop: Asked now and then whether the cheapest nodes so far must do.
    """
    pods = snapshot.provisionable
    leaves = leaving.find(snapshot, now)
    standing = nominations.divide([*pods, *(each.pod for each in leaves)], snapshot, catalogue, now)
    since = {each.pod.meta.key: each.since for each in leaves}
    standing, waits = _without_waiting(standing, since, snapshot, now)
    if catalogue.version:
        standing = _with_landed(
            standing, [*pods, *(each.pod for each in leaves)], snapshot, catalogue, now
        )
    due_at = _due_at(standing, since, snapshot, settings, now)
    if catalogue.version == 0 or due_at is None or due_at > now:
        return Provisioning(
            placements=standing.placed,
            unschedulable=snapshot.unschedulable,
            wake_at=_first(due_at, waits) if catalogue.version else None,
        )
    asked = problem.build(
        standing.loose,
        snapshot,
        catalogue,
        taken=standing.taken,
        expected_on=standing.placed,
        preference_policy=settings.preference_policy,
    )
    solved = solver.solve(
        asked,
        per_node_usd_per_hour=settings.per_node_cost_usd_per_hour,
        min_values_policy=settings.min_values_policy,
        stop=stop,
    )
    solved = node_sets.cheapest(asked, solved)
    waiting_since = {**snapshot.arrivals, **since}
    bought, withheld = price_guard.divide(solved.new_nodes, catalogue, waiting_since, settings, now)
    solved = replace(solved, new_nodes=bought)
    creations = _creations(solved, snapshot, catalogue, settings, now)
    divided = limits.divide(creations, snapshot, catalogue)
    bought = _made(bought, creations, divided)
    left = (*solved.unschedulable, *withheld, *divided.refused)
    solved = replace(solved, new_nodes=bought, unschedulable=left)
    made = {pod: c.node_claim.meta.name for c in divided.within for pod in c.pods}
    stuck = _waiting(solved.unschedulable, since)
    return Provisioning(
        commands=(*divided.within, *_announcements(stuck, standing.loose)),
        placements={**standing.placed, **solved.homes(made)},
        unschedulable=stuck,
        planned=True,
        lower_bound_usd_per_hour=solved.lower_bound_usd_per_hour,
        new_usd_per_hour=solved.usd_per_hour,
        wake_at=_first(now + _RETRY if solved.unschedulable or divided.postponed else None, waits),
    )


def _made(
    nodes: Sequence[NewNode], creations: Sequence[CreateNodeClaim], divided: limits.Division
) -> tuple[NewNode, ...]:
    """Those of `nodes` whose NodeClaims, one each in `creations`, are made."""
    kept = {each.node_claim.meta.name: True for each in divided.within}
    pairs = zip(nodes, creations, strict=True)
    return tuple(node for node, creation in pairs if creation.node_claim.meta.name in kept)


def _first(*times: datetime | None) -> datetime | None:
    return min((at for at in times if at is not None), default=None)


def _without_waiting(
    standing: Standing,
    leaving_since: Mapping[str, datetime],
    snapshot: Snapshot,
    now: datetime,
) -> tuple[Standing, datetime | None]:
    """The same without pods for which nothing is bought yet, and when the first of these is looked at again."""
    if not leaving.are_closed(snapshot):
        return standing, None
    until = {
        pod.meta.key: at
        for pod in standing.loose
        if (at := leaving.waits_until(pod, leaving_since.get(pod.meta.key), snapshot, now))
    }
    loose = tuple(pod for pod in standing.loose if pod.meta.key not in until)
    return replace(standing, loose=loose), min(until.values(), default=None)


def _with_landed(
    standing: Standing,
    pods: Sequence[Pod],
    snapshot: Snapshot,
    catalogue: Catalogue,
    now: datetime,
) -> Standing:
    """The same with pods where kube-scheduler would put them, as far as it may put them anywhere.

    Where a pod was packed says nothing of where it will run: kube-scheduler levels nodes. So after each change all
    pods are placed as it would place them; who finds no room then has no place.

    Args:
        standing: Pods by what was planned.
        pods: Pods that wait or will lose their nodes.
        snapshot: Nodes and pods.
        catalogue: What can be bought.
        now: The time.
    """
    loose = {pod.meta.key: True for pod in standing.loose}
    plain = [
        pod
        for pod in pods
        if not pod.constrains
        and (pod.meta.key in loose or _is_free(standing.placed.get(pod.meta.key), snapshot))
    ]
    if not plain:
        return standing
    moved = {pod.meta.key: pod for pod in plain}
    fixed = {key: node for key, node in standing.placed.items() if key not in moved}
    by_key = {pod.meta.key: pod for pod in pods}
    taken = {
        node: amounts for node, amounts in standing.taken.items() if not _is_free(node, snapshot)
    }
    for key, node in fixed.items():
        if key in by_key and _is_free(node, snapshot):
            taken[node] = resources.add(taken.get(node, {}), by_key[key].requests)
    plain.sort(key=lambda pod: (pod.meta.created or now, pod.meta.key))
    homes = leaving.landed(plain, snapshot, catalogue, taken=taken, expected_on=fixed)
    if homes is None:
        return standing
    for pod, node in homes.items():
        taken[node] = resources.add(taken.get(node, {}), moved[pod].requests)
    left = [pod for pod in plain if pod.meta.key not in homes]
    crowded = {
        pod.meta.key: snapshot.nominations[pod.meta.key].lost or now
        for pod in left
        if pod.meta.key in standing.placed or pod.meta.key in standing.crowded_since
    }
    others = tuple(pod for pod in standing.loose if pod.meta.key not in moved)
    return Standing(
        placed={**fixed, **homes},
        taken=taken,
        loose=(*others, *left),
        crowded_since={
            **{k: at for k, at in standing.crowded_since.items() if k not in moved},
            **crowded,
        },
    )


def _is_free(target: str | None, snapshot: Snapshot) -> bool:
    """Whether nothing keeps kube-scheduler from putting a pod elsewhere than on `target`."""
    state_node = snapshot.by_name.get(target or "")
    return state_node is not None and not state_node.is_closed


def _due_at(
    standing: Standing,
    leaving_since: Mapping[str, datetime],
    snapshot: Snapshot,
    settings: Settings,
    now: datetime,
) -> datetime | None:
    """When the pods without a place are to be planned; None when there are none.

    kube-scheduler fills nodes otherwise than planned, so while nodes come up pods lose their places one after the
    other. They make a batch as pods do that arrive: each planned by itself would get a node of its own.
    """
    loose = standing.loose
    if not loose:
        return None
    tried = {pod: True for each in snapshot.unschedulable for pod in each.pods}
    if snapshot.last_pass is not None:
        # Nobody is told of pods that still run, so of these only the time says whether they have been planned.
        tried |= {pod: True for pod, at in leaving_since.items() if at <= snapshot.last_pass}
    arrivals = {**snapshot.arrivals, **leaving_since}
    new = [p.meta.key for p in loose if p.meta.key not in tried]
    fresh = [arrivals.get(key, now) for key in new if key not in standing.crowded_since]
    times = [batching.closes_at(fresh, settings)]
    if len(new) < len(loose):
        times.append(snapshot.last_pass + _RETRY if snapshot.last_pass is not None else now)
    # Who has lost its place may get that of another; who has none is known when kube-scheduler is done.
    since = [at for key in new if (at := standing.crowded_since.get(key)) is not None]
    if since:
        times.append(min(max(since) + _CROWDING, min(since) + _CROWDING_MOST))
    return min(t for t in times if t is not None)


def _waiting(
    unschedulable: Iterable[Unschedulable], leaving_since: Mapping[str, datetime]
) -> tuple[Unschedulable, ...]:
    """Those of the pods without a place that have none now."""
    left = (
        replace(each, pods=tuple(pod for pod in each.pods if pod not in leaving_since))
        for each in unschedulable
    )
    return tuple(each for each in left if each.pods)


def _creations(
    solved: Solution, snapshot: Snapshot, catalogue: Catalogue, settings: Settings, now: datetime
) -> list[CreateNodeClaim]:
    taken = dict.fromkeys(snapshot.by_name)
    given = {ref: claims.given_labels(types) for ref, types in catalogue.instance_types.items()}
    creations: list[CreateNodeClaim] = []
    for ordinal, node in enumerate(solved.new_nodes):
        ref = node.pool.template.node_class
        types = catalogue.instance_types[ref]
        creation = claims.create(
            node, types, settings, now, given=given[ref], taken=taken, purpose=str(ordinal)
        )
        taken[creation.node_claim.meta.name] = None
        creations.append(creation)
    return creations


def _announcements(unschedulable: Sequence[Unschedulable], pods: Sequence[Pod]) -> list[Announce]:
    """Tell pods why there is no place for them."""
    by_key = {pod.meta.key: pod for pod in pods}
    told: list[Announce] = []
    for each in unschedulable:
        message = "; ".join(str(blocker) for blocker in each.blockers)
        told += [
            Announce.on(
                "Pod",
                by_key[key].meta,
                type_="Warning",
                reason=reasons.FAILED_SCHEDULING,
                message=message,
            )
            for key in each.pods[: max(_ANNOUNCED_MOST - len(told), 0)]
            if by_key[key].meta.uid
        ]
    return told
