"""Why pods are still on a node that is being emptied, in sentences that name who can do something about it.

The API server decides whether a pod may be evicted; what is said here is read from the budgets that it decides by.
"""

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from typing import Final

from daiku.model import labels, selectors
from daiku.model.pdb import PodDisruptionBudget
from daiku.model.pod import FOREVER, Pod

_NAMED_MOST: Final = 5
"""Pods that are named; the others are counted."""


def sentence(waiting: Sequence[Pod], pdbs: Iterable[PodDisruptionBudget], now: datetime) -> str:
    """What a drain waits for: `waits for PDB web-pdb: 0 disruptions allowed (default/web-1)`."""
    by_namespace: dict[str, list[PodDisruptionBudget]] = {}
    for pdb in pdbs:
        by_namespace.setdefault(pdb.meta.namespace, []).append(pdb)
    found: dict[str, list[str]] = {}
    for pod in waiting:
        why = _why(pod, by_namespace.get(pod.meta.namespace, ()), now)
        found.setdefault(why, []).append(pod.meta.key)
    return "; ".join(f"waits for {why} ({_names(keys)})" for why, keys in sorted(found.items()))


def is_blocked(waiting: Sequence[Pod], pdbs: Iterable[PodDisruptionBudget], now: datetime) -> bool:
    """Whether somebody has to do something before all of them can leave."""
    budgets = tuple(pdbs)
    return any(
        pod.must_not_be_disrupted(now)
        or len(ours := _of(pod, budgets)) > 1
        or any(map(_is_spent, ours))
        for pod in waiting
        if pod.is_active
    )


def _why(pod: Pod, pdbs: Iterable[PodDisruptionBudget], now: datetime) -> str:
    if pod.meta.deleted is not None:
        return "pods to end"
    until = pod.protected_until()
    if until is not None and now < until:
        if until >= FOREVER:
            return f"annotation {labels.DO_NOT_DISRUPT}"
        return f"annotation {labels.DO_NOT_DISRUPT} until {until.isoformat(timespec='seconds')}"
    ours = _of(pod, pdbs)
    if len(ours) > 1:
        names = " and ".join(pdb.meta.name for pdb in ours)
        return f"PDBs {names}: no pod of two budgets can be evicted, keep one"
    spent = next(filter(_is_spent, ours), None)
    if spent is not None:
        return f"PDB {spent.meta.name}: 0 disruptions allowed"
    return "pods to leave"


def _of(pod: Pod, pdbs: Iterable[PodDisruptionBudget]) -> list[PodDisruptionBudget]:
    return [
        pdb
        for pdb in pdbs
        if pdb.meta.namespace == pod.meta.namespace and _selects(pdb, pod.meta.labels)
    ]


def _selects(pdb: PodDisruptionBudget, known: Mapping[str, str]) -> bool:
    try:
        return selectors.selects(pdb.selector, known)
    except ValueError:
        # The API server refuses such a selector; one that got past it selects nothing here.
        return False


def _is_spent(pdb: PodDisruptionBudget) -> bool:
    return pdb.disruptions_allowed < 1


def _names(keys: Sequence[str]) -> str:
    more = f" and {len(keys) - _NAMED_MOST} others" if len(keys) > _NAMED_MOST else ""
    return ", ".join(keys[:_NAMED_MOST]) + more
