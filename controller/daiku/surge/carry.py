"""Carries every surge on from where it stands, or takes it back.

What is seen decides: the replicas of the Deployment, the pod that is to go, and the phase written last. Whoever else
changes the replicas meanwhile is right: a number that is neither ours nor the one before ends the surge as it
is; the one before, set back by somebody, ends it and is remembered, so that it is not tried again for an hour.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from typing import Final

from daiku import reasons
from daiku.commands import Announce, Command, PatchDeployment, PatchPod
from daiku.model import labels
from daiku.model.deployment import Deployment
from daiku.model.pod import Pod
from daiku.state.snapshot import Snapshot
from daiku.surge import asks, record
from daiku.surge.hold import is_going
from daiku.surge.record import State

TIMEOUT: Final = timedelta(minutes=10)
"""How long the new pod may take to be ready; then the surge is taken back and the node stays."""
CHEAPEST: Final = "-2147483648"
"""The least deletion cost that there is."""
RETURNED: Final = timedelta(minutes=1)
"""How long a ReplicaSet may take to let the pod go."""
US: Final = "daiku"
"""Our field manager."""


@dataclass(slots=True)
class Carried:
    """What is to be done about surges under way."""

    commands: list[Command] = field(default_factory=list[Command])
    wakes: list[datetime] = field(default_factory=list[datetime])


@dataclass(frozen=True, slots=True, kw_only=True)
class _Stand:
    """Where one surge stands."""

    deployment: Deployment
    state: State
    pod: Pod | None
    """The pod that is to go; None when it has gone, or begun to."""
    is_wanted: bool
    """Its node is still to go."""
    others: tuple[Pod, ...]
    """The other pods of the Deployment that are ready."""
    staying: int
    """How many of them run on nodes that stay."""
    now: datetime


def on(snapshot: Snapshot, now: datetime) -> Carried:
    """Bring every surge one step further."""
    made = Carried()
    if not snapshot.deployments:
        return made
    pods = _pods(snapshot)
    for key, deployment in sorted(snapshot.deployments.items()):
        state = record.read(deployment)
        if state is None:
            made.commands.append(_patch(deployment, _NOTHING, marked=False))
            continue
        mine = pods.get(key, ())
        found = next((e for e in mine if e[0].meta.uid == state.uid), None)
        pod = found[0] if found is not None else None
        others = [
            e for e in mine if e[0].meta.uid != state.uid and _is_available(e[0], deployment, now)
        ]
        stand = _Stand(
            deployment=deployment,
            state=state,
            pod=pod,
            is_wanted=found is not None and not found[1],
            others=tuple(p for p, _ in others),
            staying=sum(stays for _, stays in others),
            now=now,
        )
        made.commands += _step(stand)
        made.wakes += _wakes(stand, mine)
    return made


def _pods(snapshot: Snapshot) -> dict[str, list[tuple[Pod, bool]]]:
    """Deployment -> its active pods that have a node, and whether that stays."""
    names = {key.partition("/")[0]: True for key in snapshot.deployments}
    found: dict[str, list[tuple[Pod, bool]]] = {}
    for state_node in snapshot.state_nodes:
        stays = not is_going(state_node)
        for pod in state_node.pods:
            if pod.meta.namespace in names and pod.is_active:
                found.setdefault(asks.key(pod), []).append((pod, stays))
    return found


def _is_available(pod: Pod, deployment: Deployment, now: datetime) -> bool:
    if not pod.ready:
        return False
    since = pod.ready_since
    return since is None or since + deployment.min_ready <= now


def _step(stand: _Stand) -> Iterator[Command]:
    state, replicas = stand.state, stand.deployment.replicas
    if replicas not in {state.before, state.during}:
        # Somebody else wants another number: it stands.
        yield from _finish(stand)
    elif state.phase == "returning":
        yield from _return(stand)
    elif state.phase == "scaled" and replicas == state.before:
        others = ", ".join(m for m in stand.deployment.scaled_by if m != US) or "somebody"
        yield from _stop(
            stand, f"replicas were set back from {state.during} to {replicas} by {others}"
        )
    elif not stand.is_wanted:
        # The pod has gone by itself, or its node stays.
        yield from _to_phase(stand, "returning")
    elif stand.now - state.began >= TIMEOUT:
        minutes = int(TIMEOUT.total_seconds() // 60)
        yield from _stop(stand, f"the new pod was not ready within {minutes} minutes")
    elif state.phase == "begun":
        if replicas == state.before:
            yield _scale(stand, state.during)
        else:
            yield from _to_phase(stand, "scaled", since=state.since)
    elif (mark := _mark(stand)) is not None:
        yield mark
    elif len(stand.others) >= state.before and stand.staying > 0:
        yield from _to_phase(stand, "returning")


def _return(stand: _Stand) -> Iterator[Command]:
    state = stand.state
    if stand.deployment.replicas == state.during:
        yield _scale(stand, state.before)
    elif stand.pod is None or not stand.is_wanted or stand.now - state.began >= RETURNED:
        yield from _finish(stand)


def _stop(stand: _Stand, why: str) -> Iterator[Command]:
    """Take the surge back and remember why."""
    said = {labels.SURGE_STOPPED: record.stopped(why, stand.now)}
    if stand.pod is not None:
        yield Announce.on(
            "Pod",
            stand.pod.meta,
            type_="Warning",
            reason=reasons.SURGE_STOPPED,
            message=f"surge stopped: {why}",
        )
    if stand.deployment.replicas == stand.state.during:
        yield from _to_phase(stand, "returning", extra=said)
    else:
        yield from _finish(stand, said)


def _to_phase(
    stand: _Stand,
    phase: record.Phase,
    *,
    since: str = "",
    extra: Mapping[str, str | None] | None = None,
) -> Iterator[Command]:
    at = since or stand.now.isoformat(timespec="seconds")
    after = replace(stand.state, phase=phase, since=at)
    yield _patch(stand.deployment, {labels.SURGE_STATE: record.write(after), **(extra or {})})


def _finish(stand: _Stand, extra: Mapping[str, str | None] | None = None) -> Iterator[Command]:
    """Leave nothing of it, the mark on the pod first."""
    pod, cost = stand.pod, stand.state.cost
    if pod is not None and pod.meta.annotations.get(labels.POD_DELETION_COST) == CHEAPEST != cost:
        yield PatchPod.with_deletion_cost(pod.meta, cost or None)
    else:
        yield _patch(stand.deployment, {**_NOTHING, **(extra or {})}, marked=False)


def _mark(stand: _Stand) -> PatchPod | None:
    """Has the ReplicaSet let this pod go first; None when it is marked."""
    pod = stand.pod
    if pod is None or pod.meta.annotations.get(labels.POD_DELETION_COST) == CHEAPEST:
        return None
    return PatchPod.with_deletion_cost(pod.meta, CHEAPEST)


_NOTHING: Final[Mapping[str, str | None]] = {labels.SURGE_STATE: None}


def _patch(
    deployment: Deployment, annotations: Mapping[str, str | None], *, marked: bool = True
) -> PatchDeployment:
    return PatchDeployment(
        namespace=deployment.meta.namespace,
        name=deployment.meta.name,
        resource_version=deployment.meta.resource_version,
        labels=None if marked else {labels.SURGING: None},
        annotations=annotations,
    )


def _scale(stand: _Stand, replicas: int) -> PatchDeployment:
    meta = stand.deployment.meta
    return PatchDeployment(
        namespace=meta.namespace,
        name=meta.name,
        resource_version=meta.resource_version,
        replicas=replicas,
    )


def _wakes(stand: _Stand, mine: Sequence[tuple[Pod, bool]]) -> Iterator[datetime]:
    """When a time alone brings it further."""
    lasting = RETURNED if stand.state.phase == "returning" else TIMEOUT
    yield stand.state.began + lasting
    for pod, _ in mine:
        if pod.ready and pod.ready_since is not None:
            yield pod.ready_since + stand.deployment.min_ready
