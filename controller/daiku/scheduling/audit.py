"""A second opinion on every plan: are the nodes it makes and the places it gives legal?

Everything is worked out again from the model, pod by pod, without arrays and without the solver's code. It is slower
and simpler on purpose, and stricter where that is simpler: a NodeClaim must suit its pods whichever of its instance
types is launched.

Source: kube-scheduler's filters; karpenter.sh/v1.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from daiku.commands import Command, CreateNodeClaim
from daiku.model import labels, resources, taints
from daiku.model.instance_type import Catalogue, InstanceType
from daiku.model.nodeclaim import NodeClaim
from daiku.model.pod import Pod
from daiku.model.requirements import NO_REQUIREMENTS, Requirements
from daiku.model.taints import Taint
from daiku.state.snapshot import Snapshot
from daiku.state.statenode import StateNode


@dataclass(frozen=True, slots=True, kw_only=True)
class Violation:
    """A rule that a plan breaks."""

    command: Command | None
    """The command that must not be carried out; None when a placement is at fault."""
    rule: str
    message: str


@dataclass(slots=True)
class _Audit:
    snapshot: Snapshot
    catalogue: Catalogue
    pods: Mapping[str, Pod]
    charged: dict[str, dict[str, int]] = field(default_factory=dict[str, dict[str, int]])
    """NodePool name -> what its nodes and the claims looked at so far take from its limits."""
    daemons: dict[tuple[str, Requirements, tuple[Taint, ...]], Mapping[str, int]] = field(
        default_factory=dict[tuple[str, Requirements, tuple[Taint, ...]], Mapping[str, int]]
    )
    """By instance type, requirements and taints."""
    offered: dict[tuple[str, Requirements], bool] = field(
        default_factory=dict[tuple[str, Requirements], bool]
    )


def audit(
    commands: Sequence[Command],
    placements: Mapping[str, str],
    snapshot: Snapshot,
    catalogue: Catalogue,
) -> tuple[Violation, ...]:
    """Every rule that new NodeClaims or placements break; empty when the plan is legal.

    Args:
        commands: What is to be done; only NodeClaims to be created are looked at.
        placements: Pending pod namespace/name -> node or NodeClaim.
        snapshot: What the plan was made from.
        catalogue: What can be bought.
    """
    work = _Audit(snapshot, catalogue, {pod.meta.key: pod for pod in snapshot.waiting})
    creations = [c for c in commands if isinstance(c, CreateNodeClaim)]
    found = [
        Violation(
            command=creation,
            rule=rule,
            message=f"NodeClaim {creation.node_claim.meta.name}: {message}",
        )
        for creation in creations
        for rule, message in _creation(creation, work)
    ]
    found += _placements(placements, frozenset(c.node_claim.meta.name for c in creations), work)
    return tuple(found)


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
    for pod in pods:
        yield from _pod(
            pod, claim.taints, claim.requirements & Requirements.from_labels(claim.meta.labels)
        )
    yield from _types(claim, types, resources.add(*(p.requests for p in pods)), work)
    yield from _limits(claim, types, pool.limits, work)


def _pod(pod: Pod, marks: Iterable[Taint], becomes: Requirements) -> Iterator[tuple[str, str]]:
    taint = taints.untolerated(marks, pod.tolerations)
    if taint is not None:
        yield "Taints", f"pod {pod.meta.key} does not tolerate {taint.key}:{taint.effect}"
    selector = Requirements.from_labels(pod.node_selector)
    terms = pod.required_node_affinity or (NO_REQUIREMENTS,)
    if not any(_is_sure(selector, becomes) and _is_sure(term, becomes) for term in terms):
        yield "Labels", f"pod {pod.meta.key} asks for labels that are not sure to be there"


def _is_sure(asked: Requirements, becomes: Requirements) -> bool:
    """Whether every thing that meets `becomes` meets `asked`."""
    for requirement in asked:
        there = becomes.by_key.get(requirement.key)
        if there is None:
            if not requirement.absent:
                return False
        elif (there & requirement).to_wire() != there.to_wire() and not (
            not there.complement and all(requirement.has(value) for value in there.values)
        ):
            return False
    return True


def _types(
    claim: NodeClaim, types: Sequence[InstanceType], asked: Mapping[str, int], work: _Audit
) -> Iterator[tuple[str, str]]:
    """Each instance type must hold the pods beside its DaemonSets, and be for sale."""
    # What is the same for many claims is worked out once: they differ mostly in their lists of types.
    terms = claim.requirements.without(labels.INSTANCE_TYPE) & Requirements.from_labels(
        claim.meta.labels
    )
    for instance_type in types:
        daemons = work.daemons.get((instance_type.name, terms, claim.taints))
        if daemons is None:
            daemons = _daemons(claim.taints, terms & instance_type.requirements, work)
            work.daemons[instance_type.name, terms, claim.taints] = daemons
        needed = resources.add(asked, daemons)
        if not resources.fits(needed, instance_type.allocatable):
            yield "Resources", f"{instance_type.name} does not hold its pods"
        key = (instance_type.name, terms)
        if key not in work.offered:
            work.offered[key] = any(
                o.available
                and (instance_type.name, o.zone, o.capacity_type) not in work.snapshot.sold_out
                and not o.requirements.intersects(terms)
                for o in instance_type.offerings
            )
        if not work.offered[key]:
            yield "Offering", f"{instance_type.name} cannot be had under its requirements"
    for requirement in claim.requirements:
        distinct = dict.fromkeys(
            v for t in types for v in (t.requirements.get(requirement.key) & requirement).values
        )
        if len(distinct) < (requirement.min_values or 0):
            yield "MinValues", f"{requirement.key} has {len(distinct)} values"


def _daemons(marks: Iterable[Taint], becomes: Requirements, work: _Audit) -> Mapping[str, int]:
    """What DaemonSets are sure to take on a node like this."""
    templates = [d.template for d in work.snapshot.daemon_sets]
    return resources.add(*(t.requests for t in templates if not any(_pod(t, marks, becomes))))


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


def _placements(
    placements: Mapping[str, str], created: frozenset[str], work: _Audit
) -> Iterator[Violation]:
    """Pods on nodes that are there fit them, all together."""
    asked: dict[str, dict[str, int]] = {}
    for key, target in sorted(placements.items()):
        pod, state_node = work.pods.get(key), work.snapshot.by_name.get(target)
        if target in created or pod is None:
            continue
        if state_node is None:
            yield Violation(
                command=None, rule="Node", message=f"pod {key}: there is no node {target}"
            )
            continue
        if state_node.provider_id:
            asked[target] = resources.add(asked.get(target, state_node.used()), pod.requests)
            if not resources.fits(asked[target], state_node.allocatable):
                yield Violation(
                    command=None, rule="Resources", message=f"pod {key} has no room on {target}"
                )
        if state_node.claim is None or state_node.is_registered:
            becomes = Requirements.from_labels(state_node.labels)
            for rule, message in _pod(pod, state_node.taints, becomes):
                yield Violation(command=None, rule=rule, message=f"node {target}: {message}")
