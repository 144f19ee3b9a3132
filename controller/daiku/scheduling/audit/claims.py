"""Is each new NodeClaim worth having: of a NodePool, within its limits, and big enough whatever is launched?

Source: karpenter.sh/v1; kube-scheduler's noderesources.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from daiku.commands import CreateNodeClaim
from daiku.model import labels, resources
from daiku.model.instance_type import Catalogue, InstanceType
from daiku.model.nodeclaim import NodeClaim
from daiku.model.nodepool import NodePool
from daiku.model.pod import Pod
from daiku.model.requirements import Requirements
from daiku.model.taints import Taint
from daiku.scheduling.audit import ground, suitability
from daiku.scheduling.audit.violation import Violation
from daiku.state.snapshot import Snapshot
from daiku.state.statenode import StateNode


@dataclass(frozen=True, slots=True)
class _Offer:
    """An instance type under the requirements and taints of a NodeClaim."""

    room: Mapping[str, int]
    """What it has for pods beside the DaemonSets that are sure to run on it."""
    lacking: str
    """What those DaemonSets alone ask for and it does not have; empty: it has all."""
    is_for_sale: bool


_Offers = dict[str, _Offer]
"""By the name of the type."""


@dataclass(slots=True)
class _Audit:
    snapshot: Snapshot
    catalogue: Catalogue
    pods: Mapping[str, Pod]
    charged: dict[str, dict[str, int]] = field(default_factory=dict[str, dict[str, int]])
    """NodePool name -> what its nodes and the claims looked at so far take from its limits."""
    offers: dict[tuple[Requirements, tuple[Taint, ...]], _Offers] = field(
        default_factory=dict[tuple[Requirements, tuple[Taint, ...]], _Offers]
    )
    """By requirements, instance types aside, and taints: many claims differ in their lists of types only."""


def check(
    creations: Sequence[CreateNodeClaim], snapshot: Snapshot, catalogue: Catalogue
) -> Iterator[Violation]:
    """What is wrong with the NodeClaims of `creations`, each by itself and together against the limits."""
    work = _Audit(snapshot, catalogue, {pod.meta.key: pod for pod in ground.placeable(snapshot)})
    for creation in creations:
        name = creation.node_claim.meta.name
        for rule, message in _creation(creation, work):
            yield Violation(
                command=creation, rule=rule, node=name, message=f"NodeClaim {name}: {message}"
            )


def _creation(creation: CreateNodeClaim, work: _Audit) -> Iterator[tuple[str, str]]:
    claim = creation.node_claim
    if claim.meta.name in work.snapshot.by_name:
        yield "Name", "there is a NodeClaim or Node of that name"
    if labels.TERMINATION_FINALIZER not in claim.meta.finalizers:
        yield "Finalizer", "without its finalizer its instance could be forgotten"
    pool = work.snapshot.node_pool(claim.nodepool)
    if pool is None or pool.meta.deleted is not None or pool.invalid:
        yield "NodePool", f"NodePool {claim.nodepool!r} is not there, invalid or being deleted"
        return
    if claim.taints != pool.template.taints:
        yield "Taints", "its taints are not its NodePool's"
    known = {t.name: t for t in work.catalogue.instance_types.get(claim.node_class, ())}
    names = claim.requirements.get(labels.INSTANCE_TYPE).sorted_values()
    types = [known[name] for name in names if name in known]
    if not types or len(types) < len(names):
        yield (
            "InstanceTypes",
            f"it names {len(names)} instance types, of which the catalogue has {len(types)}",
        )
        return
    pods = [work.pods[key] for key in creation.pods if key in work.pods]
    becomes = claim.requirements & Requirements.from_labels(claim.meta.labels)
    for pod in _different(pods):
        yield from suitability.problems(pod, claim.taints, becomes)
    terms = becomes.without(labels.INSTANCE_TYPE)
    yield from _declared(becomes, pool, types)
    yield from _types(claim, terms, types, resources.add(*(p.requests for p in pods)), work)
    yield from _limits(claim, types, pool.limits, work)


def _declared(
    becomes: Requirements, pool: NodePool, types: Sequence[InstanceType]
) -> Iterator[tuple[str, str]]:
    """What is sure about its labels must be what its NodePool says, or what its node gets by itself."""
    template = pool.template
    declared = template.requirements & Requirements.from_labels(template.labels)
    if not suitability.is_sure(declared, becomes):
        yield "Requirements", f"it may become what NodePool {pool.meta.name} does not allow"
    given = {
        labels.node_class_label(template.node_class.group, template.node_class.kind),
        *labels.WELL_KNOWN,
        *(key for t in types for key in t.requirements.by_key),
        *(key for t in types for o in t.offerings for key in o.requirements.by_key),
    }
    for asked in becomes:
        if not (asked.absent or asked.key in declared or asked.key in given):
            yield (
                "Requirements",
                f"NodePool {pool.meta.name} does not declare label {asked.key}, and no instance type has it",
            )


def _different(pods: Iterable[Pod]) -> Iterable[Pod]:
    """One of all pods that ask the same of labels and taints."""
    return {
        (tuple(p.node_selector.items()), p.required_node_affinity, p.tolerations): p for p in pods
    }.values()


def _types(
    claim: NodeClaim,
    terms: Requirements,
    types: Sequence[InstanceType],
    asked: Mapping[str, int],
    work: _Audit,
) -> Iterator[tuple[str, str]]:
    """Each instance type must hold the pods beside its DaemonSets, and be for sale."""
    offers = work.offers.setdefault((terms, claim.taints), {})
    needed = [(resource, amount) for resource, amount in asked.items() if amount > 0]
    for instance_type in types:
        offer = offers.get(instance_type.name)
        if offer is None:
            offer = _offer(instance_type, terms, claim.taints, work)
            offers[instance_type.name] = offer
        for resource, amount in needed:
            if amount > offer.room.get(resource, 0):
                has = f"{instance_type.name} has {offer.room.get(resource, 0)} of {resource} for its pods"
                yield "Resources", f"{has}, which ask for {amount}"
        if offer.lacking:
            yield "DaemonSets", f"{instance_type.name} cannot hold its DaemonSets: {offer.lacking}"
        if not offer.is_for_sale:
            yield "Offering", f"{instance_type.name} cannot be had under its requirements"
    if not any(resources.fits(claim.requests, t.allocatable) for t in types):
        yield (
            "Requests",
            "none of its instance types has what it asks for, so it cannot be launched",
        )
    for requirement in claim.requirements:
        if requirement.min_values is not None:
            distinct = dict.fromkeys(
                v for t in types for v in (t.requirements.get(requirement.key) & requirement).values
            )
            if len(distinct) < requirement.min_values:
                yield (
                    "MinValues",
                    f"{requirement.key} has {len(distinct)} values, {requirement.min_values} are asked for",
                )


def _offer(
    instance_type: InstanceType, terms: Requirements, marks: tuple[Taint, ...], work: _Audit
) -> _Offer:
    daemons = _daemons(marks, terms & instance_type.requirements, work)
    room = resources.subtract(instance_type.allocatable, daemons)
    return _Offer(
        room=room,
        lacking=", ".join(f"{-left} of {r}" for r, left in sorted(room.items()) if left < 0),
        is_for_sale=any(
            o.available
            and (instance_type.name, o.zone, o.capacity_type) not in work.snapshot.sold_out
            and not o.requirements.intersects(terms)
            for o in instance_type.offerings
        ),
    )


def _daemons(marks: Iterable[Taint], becomes: Requirements, work: _Audit) -> Mapping[str, int]:
    """What DaemonSets are sure to take on a node like this."""
    templates = [d.template for d in work.snapshot.daemon_sets]
    return resources.add(
        *(t.requests for t in templates if not any(suitability.problems(t, marks, becomes)))
    )


def _limits(
    claim: NodeClaim, types: Sequence[InstanceType], limits: Mapping[str, int] | None, work: _Audit
) -> Iterator[tuple[str, str]]:
    """The largest type of every claim on its way and the real nodes together stay within the limits."""
    if limits is None:
        return
    if claim.nodepool not in work.charged:
        there = [
            s
            for s in work.snapshot.state_nodes
            if s.nodepool == claim.nodepool and not s.is_deleting
        ]
        work.charged[claim.nodepool] = resources.add(*(_charge(s, work.catalogue) for s in there))
    largest = resources.highest(*(t.capacity for t in types))
    after = resources.add(work.charged[claim.nodepool], largest, {resources.NODES: 1})
    work.charged[claim.nodepool] = after
    for resource in resources.exceeded(after, limits):
        yield (
            "Limits",
            f"NodePool {claim.nodepool} would have {after[resource]} of {resource}, {limits[resource]} allowed",
        )


def _charge(state_node: StateNode, catalogue: Catalogue) -> Mapping[str, int]:
    claim = state_node.claim
    if claim is None or state_node.provider_id:
        return state_node.capacity
    allowed = claim.requirements.get(labels.INSTANCE_TYPE)
    types = [t for t in catalogue.instance_types.get(claim.node_class, ()) if allowed.has(t.name)]
    return {**resources.highest(*(t.capacity for t in types)), resources.NODES: 1}
