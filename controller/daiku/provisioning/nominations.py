"""Pods that have a place already, although no one has bound them yet.

A node takes a minute to come up. Until then the pods it was made for stay pending, and every tick sees them again.
Those that are expected on a node that is on its way, or that is there since a moment, are left alone and their room
is taken off; all others are planned.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from daiku.model import resources
from daiku.model.instance_type import Catalogue
from daiku.model.pod import Pod
from daiku.scheduling import expected
from daiku.state.snapshot import Snapshot
from daiku.state.statenode import StateNode


@dataclass(frozen=True, slots=True, kw_only=True)
class Standing:
    """Pending pods, divided."""

    placed: Mapping[str, str]
    """Pod namespace/name -> name of the node it is expected on."""
    taken: Mapping[str, Mapping[str, int]]
    """Node name -> what those pods will ask of it, and those for whom places are kept."""
    loose: tuple[Pod, ...]
    """Pods without a place."""
    crowded_since: Mapping[str, datetime]
    """Those of them whose node was filled by others -> since when."""


def divide(
    pods: Sequence[Pod], snapshot: Snapshot, catalogue: Catalogue, now: datetime
) -> Standing:
    """Which of `pods` still have a place, as far as their node has room for them."""
    placed: dict[str, str] = {}
    taken: dict[str, dict[str, int]] = {}
    room: dict[str, dict[str, int]] = {}
    loose: list[Pod] = []
    crowded: dict[str, datetime] = {}
    for pod in pods:
        target = _target(pod, snapshot, now)
        if target is None:
            loose.append(pod)
            continue
        name = target.name
        if name not in room:
            room[name] = resources.subtract(expected.allocatable(target, catalogue), target.used())
        if not resources.fits(pod.requests, room[name]):
            loose.append(pod)
            crowded[pod.meta.key] = snapshot.nominations[pod.meta.key].lost or now
            continue
        room[name] = resources.subtract(room[name], pod.requests)
        taken[name] = resources.add(taken.get(name, {}), pod.requests)
        placed[pod.meta.key] = name
    for claim, moving in snapshot.places.items():
        if (target := snapshot.by_name.get(claim)) is not None:
            kept = [pod.requests for pod in moving if pod.meta.key not in placed]
            taken[target.name] = resources.add(taken.get(target.name, {}), *kept)
    given = {pod.meta.key: True for pod in pods}
    for pod in snapshot.waiting if snapshot.places else ():
        # Its place was kept, and kube-scheduler has not tried it yet: until then it is not planned for.
        if pod.meta.key not in given and (target := _target(pod, snapshot, now)) is not None:
            taken[target.name] = resources.add(taken.get(target.name, {}), pod.requests)
            placed[pod.meta.key] = target.name
    return Standing(placed=placed, taken=taken, loose=tuple(loose), crowded_since=crowded)


def _target(pod: Pod, snapshot: Snapshot, now: datetime) -> StateNode | None:
    nomination = snapshot.nominations.get(pod.meta.key)
    if nomination is None:
        return None
    target = snapshot.by_name.get(nomination.target)
    if target is None or target.is_leaving:
        return None
    if target.is_initialized and nomination.until <= now:
        return None
    return target
