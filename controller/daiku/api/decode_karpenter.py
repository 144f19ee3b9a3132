"""NodePools, NodeClaims and node classes, from bytes to values of `daiku.model`.

A NodePool that cannot be understood is still a NodePool: everything that is wrong with it is said in `invalid`,
and the rest of the cluster goes on. Defaults are filled in here too, for objects that never went through an API
server (`daiku plan` reads files).
"""

from collections.abc import Callable, Sequence
from datetime import timedelta
from typing import Any, Final, TypeVar, cast

import msgspec

from daiku.api import constraints, decode, validation, wire, wire_karpenter
from daiku.model import condition, resources, units
from daiku.model.budget import Budget
from daiku.model.instance_type import NodeClassRef
from daiku.model.nodeclaim import NodeClaim
from daiku.model.nodeclass import NodeClass
from daiku.model.nodepool import NodePool, NodeTemplate
from daiku.model.requirements import Requirement, Requirements

T = TypeVar("T")

NEVER: Final = "Never"
EXPIRE_AFTER: Final = timedelta(hours=720)
"""Default of expireAfter."""


def node_pool(content: bytes) -> NodePool:
    """Read a NodePool; what is wrong with it is in `invalid`."""
    try:
        found = _NODE_POOLS.decode(content)
    except msgspec.DecodeError as error:
        broken = wire_karpenter.NodePool(metadata=decode.metadata(content))
        return _node_pool(broken, [f"{error}"])
    return _node_pool(found, [])


def node_claim(content: bytes) -> NodeClaim:
    """Read a NodeClaim."""
    found = _NODE_CLAIMS.decode(content)
    spec, status = found.spec, found.status
    return NodeClaim(
        meta=decode.meta(found.metadata),
        requirements=constraints.requirements(spec.requirements),
        requests=resources.parse(spec.resources.requests),
        node_class=_ref(spec.node_class_ref),
        taints=decode.taints(spec.taints),
        startup_taints=decode.taints(spec.startup_taints),
        expire_after=duration(spec.expire_after, EXPIRE_AFTER),
        termination_grace_period=duration(spec.termination_grace_period, None),
        provider_id=status.provider_id or "",
        node_name=status.node_name or "",
        image_id=status.image_id or "",
        capacity=resources.parse(status.capacity),
        allocatable=resources.parse(status.allocatable),
        conditions=decode.conditions(status.conditions),
        last_pod_event=status.last_pod_event_time,
    )


def node_class_decoder(group: str, kind: str) -> Callable[[bytes], NodeClass]:
    """A decoder of node classes of this group and kind."""

    def node_class(content: bytes) -> NodeClass:
        found = _NODE_CLASSES.decode(content)
        status: dict[str, Any] = found.status or {}
        known = decode.conditions(
            msgspec.convert(status.get("conditions") or [], list[wire.Condition])
        )
        why_not = _why_not_ready(known, found.metadata.generation or 0)
        return NodeClass(
            meta=decode.meta(found.metadata),
            ref=NodeClassRef(group=group, kind=kind, name=found.metadata.name),
            ready=not why_not,
            why_not_ready=why_not,
            conditions=known,
            spec=found.spec or {},
            status=status,
        )

    return node_class


def duration(text: str | None, default: timedelta | None) -> timedelta | None:
    """A duration of Karpenter's API; Never is None.

    Raises:
        ValueError: It is neither a duration nor Never.
    """
    if text is None:
        return default
    return None if text == NEVER else units.parse_duration(text)


def _why_not_ready(known: tuple[condition.Condition, ...], generation: int) -> str:
    ready = condition.find(known, "Ready")
    if ready is None:
        return "its condition Ready has not been written yet"
    if ready.status != "True":
        return ready.message or f"its condition Ready is {ready.status}"
    # 0: whoever wrote the condition does not say which generation it saw.
    if ready.observed_generation not in {0, generation}:
        return f"its condition Ready is of generation {ready.observed_generation}, not {generation}"
    return ""


def _node_pool(found: wire_karpenter.NodePool, problems: list[str]) -> NodePool:
    spec, status = found.spec, found.status
    disruption = spec.disruption

    def tried(field: str, default: T, make: Callable[[], T]) -> T:
        try:
            return make()
        except ValueError as error:
            problems.append(f"{field}: {error}")
            return default

    template = _template(spec.template, problems)
    return NodePool(
        meta=decode.meta(found.metadata),
        template=template,
        weight=spec.weight or 0,
        limits=None
        if spec.limits is None
        else tried("spec.limits", {}, lambda: resources.parse(spec.limits)),
        consolidation_policy=disruption.consolidation_policy or "WhenEmptyOrUnderutilized",
        consolidate_after=tried(
            "spec.disruption.consolidateAfter",
            None,
            lambda: duration(disruption.consolidate_after, timedelta(0)),
        ),
        budgets=tried("spec.disruption.budgets", (), lambda: _budgets(disruption.budgets)),
        replicas=spec.replicas,
        conditions=decode.conditions(status.conditions),
        status_nodes=status.nodes,
        status_class_generation=status.node_class_observed_generation,
        status_resources=None
        if status.resources is None
        else tried("status.resources", {}, lambda: resources.parse(status.resources)),
        invalid="; ".join(dict.fromkeys(problems)),
    )


def _template(found: wire_karpenter.NodeTemplate, problems: list[str]) -> NodeTemplate:
    spec = found.spec
    known: list[Requirement] = []
    for each in spec.requirements or ():
        try:
            known.append(
                Requirement.parse(each.key, each.operator, each.values or (), each.min_values)
            )
        except ValueError as error:
            problems.append(f"spec.template.spec.requirements: {error}")
        problems.extend(validation.of_requirement(each))
    taints, startup_taints = decode.taints(spec.taints), decode.taints(spec.startup_taints)
    problems.extend(validation.of_labels(found.metadata.labels or {}))
    problems.extend(validation.of_taints(taints, startup_taints))
    periods: dict[str, timedelta | None] = {}
    for name, text, default in (
        ("expireAfter", spec.expire_after, EXPIRE_AFTER),
        ("terminationGracePeriod", spec.termination_grace_period, None),
    ):
        try:
            periods[name] = duration(text, default)
        except ValueError as error:
            problems.append(f"spec.template.spec.{name}: {error}")
    return NodeTemplate(
        labels=found.metadata.labels or decode.NOTHING,
        annotations=found.metadata.annotations or decode.NOTHING,
        taints=taints,
        startup_taints=startup_taints,
        requirements=Requirements.of(*known),
        node_class=_ref(spec.node_class_ref),
        expire_after=periods.get("expireAfter"),
        termination_grace_period=periods.get("terminationGracePeriod"),
    )


def _budgets(found: Sequence[wire_karpenter.Budget] | None) -> tuple[Budget, ...]:
    if found is None:
        return (Budget(),)
    return tuple(
        Budget(
            nodes=b.nodes,
            reasons=None if b.reasons is None else tuple(b.reasons),
            schedule=b.schedule,
            duration=None if b.duration is None else units.parse_duration(b.duration),
        )
        for b in found
    )


def _ref(found: wire_karpenter.NodeClassReference) -> NodeClassRef:
    return NodeClassRef(group=found.group, kind=found.kind, name=found.name)


_NODE_POOLS = msgspec.json.Decoder(wire_karpenter.NodePool)
_NODE_CLAIMS = msgspec.json.Decoder(wire_karpenter.NodeClaim)
_NODE_CLASSES = msgspec.json.Decoder(cast("Any", wire_karpenter.NodeClass))
