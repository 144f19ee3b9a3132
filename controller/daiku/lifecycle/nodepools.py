"""What a NodePool says about itself: its hash, its nodes, what they add up to, and whether it can be used.

Beside that it keeps, for whoever leads next, which of its nodes go in circles.

Source: Karpenter's nodepool.hash, nodepool.counter, nodepool.validation, nodepool.readiness and
nodepool.registrationhealth.
"""

from collections.abc import Callable, Iterator, Sequence
from datetime import datetime
from typing import Final

from daiku import reasons
from daiku.commands import PatchNodePool
from daiku.lifecycle import conditions, hydration
from daiku.model import labels, memo, nodepool_hash, resources
from daiku.model.condition import Condition, Status, find
from daiku.model.instance_type import Catalogue, InstanceType
from daiku.model.nodepool import NodePool
from daiku.model.requirements import Requirements
from daiku.reason import NO_REASON
from daiku.scheduling.problem import template_requirements
from daiku.state import readiness, registrations
from daiku.state.snapshot import Snapshot
from daiku.state.statenode import StateNode

_COUNTED: Final = (
    resources.CPU,
    resources.MEMORY,
    resources.PODS,
    resources.EPHEMERAL_STORAGE,
    resources.NODES,
)
"""Always part of `status.resources`, zero or not."""


def patches(snapshot: Snapshot, catalogue: Catalogue, now: datetime) -> Iterator[PatchNodePool]:
    """The commands that write what has changed of each NodePool."""
    nodes: dict[str, list[StateNode]] = {pool.meta.name: [] for pool in snapshot.node_pools}
    for state_node in snapshot.state_nodes:
        if state_node.nodepool in nodes and not state_node.is_deleting:
            nodes[state_node.nodepool].append(state_node)
    for pool in snapshot.node_pools:
        if pool.meta.deleted is not None:
            continue
        wanted = _patch(pool, nodes[pool.meta.name], snapshot, catalogue, now)
        if wanted is not None:
            yield wanted


def _patch(
    pool: NodePool,
    nodes: Sequence[StateNode],
    snapshot: Snapshot,
    catalogue: Catalogue,
    now: datetime,
) -> PatchNodePool | None:
    """The command that writes what has changed, or None when nothing has."""
    total = resources.add(dict.fromkeys(_COUNTED, 0), *(s.capacity for s in nodes))
    node_class = snapshot.node_classes.get(pool.template.node_class)
    generation = node_class.meta.generation if node_class is not None else None
    annotations = _annotations(pool, snapshot) or None
    changed = _conditions(pool, snapshot, catalogue, now)
    numbers = (
        len(nodes) if len(nodes) != pool.status_nodes else None,
        total if total != pool.status_resources else None,
        generation if generation != pool.status_class_generation else None,
    )
    if annotations is None and not changed and numbers == (None, None, None):
        return None
    return PatchNodePool(
        name=pool.meta.name,
        resource_version=pool.meta.resource_version,
        annotations=annotations,
        conditions=changed,
        nodes=numbers[0],
        resources=numbers[1],
        class_generation=numbers[2],
    )


def _annotations(pool: NodePool, snapshot: Snapshot) -> dict[str, str | None]:
    """Those that are to be written: its hash, and the nodes that go in circles."""
    wanted: dict[str, str | None] = {labels.CIRCLING: snapshot.past.note(pool.meta.name)}
    if hydration.is_done(pool, snapshot):
        wanted[labels.NODEPOOL_HASH] = nodepool_hash.of(pool.template)
        wanted[labels.NODEPOOL_HASH_VERSION] = nodepool_hash.VERSION
    known = pool.meta.annotations
    return {name: value for name, value in wanted.items() if known.get(name) != value}


def _conditions(
    pool: NodePool, snapshot: Snapshot, catalogue: Catalogue, now: datetime
) -> tuple[Condition, ...]:
    invalid, unready = _judge(catalogue)(pool), readiness.node_class_problem(pool, snapshot)
    is_told = invalid is None and unready is None and _is_told_to_be_ready(pool)
    ready = () if is_told else _readiness(pool, invalid, unready, now)
    return conditions.changed(pool.conditions, (*ready, _registration(pool, snapshot, now)))


def _readiness(
    pool: NodePool,
    invalid: readiness.Problem | None,
    unready: readiness.Problem | None,
    now: datetime,
) -> tuple[Condition, ...]:
    parts = (
        _condition(pool, "ValidationSucceeded", invalid, now),
        _condition(pool, "NodeClassReady", unready, now),
    )
    root = conditions.root(pool.conditions, parts, generation=pool.meta.generation, now=now)
    return (*parts, root)


@memo.by_identity(1000)
def _is_told_to_be_ready(pool: NodePool) -> bool:
    """Whether a NodePool that nothing is wrong with says so already, as nearly all do."""
    known = find(pool.conditions, conditions.ROOT)
    if known is None or known.last_transition is None:
        return False
    wanted = _readiness(pool, None, None, known.last_transition)
    return not conditions.changed(pool.conditions, wanted)


def _registration(pool: NodePool, snapshot: Snapshot, now: datetime) -> Condition:
    """Whether nodes of the pool come to register, by how its last launches ended."""
    kind, generation = registrations.CONDITION, pool.meta.generation
    known = find(pool.conditions, kind)
    results = snapshot.registrations.get(pool.meta.uid, ())
    failures = [r for r in results if r.reason]
    node_class = snapshot.node_classes.get(pool.template.node_class)
    status: Status = "Unknown"
    reason, message = (
        reasons.AWAITING_RECONCILIATION,
        reasons.means(reasons.AWAITING_RECONCILIATION),
    )
    if len(failures) >= registrations.FAILURES:
        status, reason, message = "False", failures[-1].reason, failures[-1].message
    elif len(failures) < len(results):
        status, reason, message = "True", NO_REASON, ""
    elif (
        known is not None
        and known.observed_generation == generation
        and node_class is not None
        and node_class.meta.generation == pool.status_class_generation
    ):
        return known
    return conditions.make(
        pool.conditions,
        kind=kind,
        status=status,
        reason=reason,
        message=message,
        generation=generation,
        now=now,
    )


def _condition(
    pool: NodePool, kind: str, problem: readiness.Problem | None, now: datetime
) -> Condition:
    status: Status = "False" if problem is not None else "True"
    reason, message = problem or (NO_REASON, "")
    return conditions.make(
        pool.conditions,
        kind=kind,
        status=status,
        reason=reason,
        message=message,
        generation=pool.meta.generation,
        now=now,
    )


@memo.by_identity(2)
def _judge(catalogue: Catalogue) -> Callable[[NodePool], readiness.Problem | None]:
    """What is wrong with a NodePool beside this catalogue, asked once of each."""
    return memo.by_identity(1000)(lambda pool: _invalid(pool, catalogue))


def _invalid(pool: NodePool, catalogue: Catalogue) -> readiness.Problem | None:
    if pool.invalid:
        return reasons.NODE_POOL_VALIDATION_FAILED, pool.invalid
    types = catalogue.instance_types.get(pool.template.node_class, ())
    asked = template_requirements(pool)
    if not types or any(not t.requirements.intersects(asked) for t in types):
        return None
    # Which wish is to blame is seen by leaving out one at a time.
    wishes = tuple(asked)
    without = [
        (_count(types, Requirements.of(*(w for w in wishes if w is not wish))), str(wish))
        for wish in wishes
    ]
    most, wish = max(without)
    hint = f"; without {wish} there would be {most}" if most else ""
    of = f"{pool.template.node_class.kind} {pool.template.node_class.name!r}"
    message = (
        f"none of the {len(types)} instance types of {of} meets its requirements{hint}: "
        "widen spec.template.spec.requirements"
    )
    return reasons.NO_COMPATIBLE_INSTANCE_TYPES, message


def _count(types: Sequence[InstanceType], asked: Requirements) -> int:
    """How many types meet `asked`, sold out or not."""
    return sum(1 for t in types if not t.requirements.intersects(asked))
