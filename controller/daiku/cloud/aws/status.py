"""The status of an EC2NodeClass: what its selectors find now, and whether machines can be made of it.

Asks AWS, decides the conditions, gives the new status as a value. Writing it is for whoever knows Kubernetes.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any, Final

from daiku import reasons
from daiku.cloud import errors as cloud_errors
from daiku.cloud.aws import (
    aliases,
    errors,
    images,
    instance_profiles,
    node_class,
    placement_groups,
    reservations,
    selectors,
    trial,
    validation,
)
from daiku.cloud.aws.answers import part
from daiku.cloud.aws.capacity import PODS_DEFAULT
from daiku.cloud.aws.instance_types import PREFIX
from daiku.cloud.aws.provider import AwsProvider
from daiku.cloud.aws.user_data import Boot
from daiku.lifecycle.node_class_drift import HASH, HASH_VERSION, RESOLVED_GROUP
from daiku.model import labels
from daiku.model.condition import Condition, Status
from daiku.model.nodeclass import NodeClass
from daiku.model.requirements import Requirements
from daiku.reason import Reason

FINALIZER: Final = f"{PREFIX}termination"

Part = tuple[Mapping[str, Any], Condition]
"""Fields of the status, and the condition that speaks of them."""


@dataclass(frozen=True, slots=True)
class Resolved:
    """What the status of a node class should be."""

    fields: Mapping[str, Any]
    """subnets, securityGroups, amis, instanceProfile."""
    conditions: tuple[Condition, ...]
    annotations: Mapping[str, str | None]
    """The static hash and what the status has no place for, for the object's metadata; None: none such."""


def resolve(
    provider: AwsProvider, found: NodeClass, now: datetime, pools: Sequence[Requirements] = ()
) -> Resolved:
    """The status of `found` as AWS has it now. A part that AWS refuses to tell keeps what was known.

    Args:
        provider: The way to AWS.
        found: The node class as it is stored.
        now: What is deprecated is deprecated before that.
        pools: What the NodePools that name the class require.
    """
    group, group_condition = _group(provider, found)
    known_parts: list[Part] = [
        _tried("AMIsReady", found, ("amis",), lambda: _amis(provider, found, now)),
        _tried("SubnetsReady", found, ("subnets",), lambda: _subnets(provider, found)),
        _tried("SecurityGroupsReady", found, ("securityGroups",), lambda: _groups(provider, found)),
        _tried(
            "InstanceProfileReady", found, ("instanceProfile",), lambda: _profile(provider, found)
        ),
        ({}, group_condition),
    ]
    if provider.options.reserved_capacity:
        known_parts.append(
            _tried(
                "CapacityReservationsReady",
                found,
                ("capacityReservations",),
                lambda: _reservations(provider, found, now),
            )
        )
    known = [condition for _, condition in known_parts]
    fields = {name: value for each, _ in known_parts for name, value in each.items()}
    known.append(_validation(provider, replace(found, status=fields), known, pools))
    known.append(_ready(known))
    generation = found.meta.generation
    return Resolved(
        fields,
        tuple(_stamped(condition, generation) for condition in known),
        {
            HASH: node_class.static_hash(found, provider.cluster().certificate_authority),
            HASH_VERSION: node_class.HASH_VERSION,
            RESOLVED_GROUP: group,
        },
    )


def look(provider: AwsProvider, found: NodeClass, now: datetime) -> Mapping[str, Any]:
    """Subnets and images that `found` selects now; nothing is made for it.

    Raises:
        CloudError: AWS refused.
    """
    return {**_subnets(provider, found)[0], **_amis(provider, found, now)[0]}


def release(provider: AwsProvider, found: NodeClass) -> None:
    """Remove what was made for a node class that no NodeClaim refers to any more.

    Raises:
        CloudError: AWS refused.
    """
    provider.templates.remove_all(found.meta.name)
    provider.trials.forget(found.meta.uid)
    if not provider.options.isolated_vpc:
        instance_profiles.remove(provider.session, provider.options.cluster_name, found)


def not_released(error: cloud_errors.CloudError, generation: int) -> Condition:
    """What a class says that is being deleted while AWS refuses to remove what was made for it."""
    return _stamped(_no("Ready", reasons.NOT_RELEASED, f"waits to be deleted: {error}"), generation)


def _amis(provider: AwsProvider, found: NodeClass, now: datetime) -> Part:
    terms = node_class.terms(found, "ami")
    try:
        resolved = images.resolve(provider.parameters, terms, provider.cluster().version, now)
    except aliases.UnsupportedAlias as error:
        return {"amis": []}, _no("AMIsReady", reasons.UNSUPPORTED_ALIAS, str(error))
    if not resolved:
        return {"amis": []}, _no(
            "AMIsReady",
            reasons.AMI_NOT_FOUND,
            f"amiSelectorTerms {_terms(terms)} select no image: change the terms",
        )
    listed = [
        {
            "id": image.id,
            "name": image.name,
            **({"deprecated": True} if image.deprecated else {}),
            "requirements": [
                {"key": key, "operator": operator} | ({"values": list(values)} if values else {})
                for key, operator, values in image.requirements
            ],
        }
        for image in resolved
    ]
    return {"amis": listed}, _yes("AMIsReady")


def _reservations(provider: AwsProvider, found: NodeClass, now: datetime) -> Part:
    """Reservations are a bonus: none is no reason not to launch."""
    terms = node_class.terms(found, "capacityReservation")
    resolved = reservations.find(provider.session, terms, now) if terms else []
    provider.reserved.learn(resolved)
    listed = [each.to_wire() for each in resolved]
    return {"capacityReservations": listed}, _yes("CapacityReservationsReady")


def _subnets(provider: AwsProvider, found: NodeClass) -> Part:
    terms = node_class.terms(found, "subnet")
    resolved = selectors.subnets(provider.session, terms)
    if not resolved:
        return {"subnets": []}, _no(
            "SubnetsReady",
            reasons.SUBNETS_NOT_FOUND,
            f"subnetSelectorTerms {_terms(terms)} select no subnet of {provider.session.region}: tag the private "
            "subnets so, or change the terms",
        )
    provider.addresses.described({s.id: s.free_addresses for s in resolved})
    listed = [
        {"id": s.id, "zone": s.zone} | ({"zoneID": s.zone_id} if s.zone_id else {})
        for s in resolved
    ]
    return {"subnets": listed}, _yes("SubnetsReady")


def _groups(provider: AwsProvider, found: NodeClass) -> Part:
    terms = node_class.terms(found, "securityGroup")
    resolved = selectors.security_groups(provider.session, terms)
    if not resolved:
        return {"securityGroups": []}, _no(
            "SecurityGroupsReady",
            reasons.SECURITY_GROUPS_NOT_FOUND,
            f"securityGroupSelectorTerms {_terms(terms)} select no security group of {provider.session.region}: "
            "tag the nodes' group so, or change the terms",
        )
    listed = [{"id": g.id, "name": g.name} for g in resolved]
    return {"securityGroups": listed}, _yes("SecurityGroupsReady")


def _group(provider: AwsProvider, found: NodeClass) -> tuple[str | None, Condition]:
    """The placement group as it is kept in an annotation, and what to say of it."""
    selector = part(found.spec, "placementGroupSelector")
    kind = "PlacementGroupReady"
    if not selector:
        return None, _yes(kind)
    kept = found.meta.annotations.get(RESOLVED_GROUP)
    try:
        group = placement_groups.find(provider.session, selector)
    except cloud_errors.CloudError as error:
        known = next((c for c in found.conditions if c.type == kind and c.status == "True"), None)
        if known is not None and not isinstance(error, cloud_errors.Denied):
            return kept, known
        return kept, _no(kind, reasons.PLACEMENT_GROUP_RESOLUTION_FAILED, str(error))
    if group is None:
        wanted = selector.get("id") or selector.get("name")
        return None, _no(
            kind,
            reasons.PLACEMENT_GROUP_NOT_FOUND,
            f"placementGroupSelector names {wanted!r}, of which {provider.session.region} has none that is "
            "available: create it, or name another",
        )
    return group.text, _yes(kind)


def _profile(provider: AwsProvider, found: NodeClass) -> Part:
    try:
        name = instance_profiles.resolve(provider.session, provider.options.cluster_name, found)
    except errors.ResourceNotFound as error:
        return {}, _no(
            "InstanceProfileReady",
            reasons.ROLE_NOT_FOUND,
            f"spec.role {found.spec.get('role')!r}: {error}. Create the role, or name one that exists",
        )
    return {"instanceProfile": name}, _yes("InstanceProfileReady")


def _tried(kind: str, found: NodeClass, fields: Sequence[str], part: Callable[[], Part]) -> Part:
    try:
        return part()
    except cloud_errors.CloudError as error:
        kept = {name: found.status[name] for name in fields if name in found.status}
        known = next((c for c in found.conditions if c.type == kind and c.status == "True"), None)
        lasting = isinstance(error, cloud_errors.Denied | cloud_errors.LaunchRefused)
        if known is not None and kept and not lasting:
            # AWS did not answer this time; what it said before still holds.
            return kept, known
        return kept, _no(kind, _word(error), str(error))


def _validation(
    provider: AwsProvider,
    found: NodeClass,
    known: Sequence[Condition],
    pools: Sequence[Requirements],
) -> Condition:
    kind = "ValidationSucceeded"
    problems = validation.problems(found)
    if problems:
        return _no(kind, problems[0][0], "; ".join(text for _, text in problems))
    waiting = [c for c in known if c.status != "True"]
    if waiting:
        status: Status = "False" if any(c.status == "False" for c in waiting) else "Unknown"
        names = ", ".join(c.type for c in waiting)
        return _no(kind, reasons.DEPENDENCIES_NOT_READY, f"waits for {names}", status)
    if not provider.options.dry_run:
        return _yes(kind)
    try:
        refusal = provider.trials.verdict(_case(provider, found, pools))
    except cloud_errors.LaunchRefused as error:
        return _no(kind, _word(error), str(error))
    except cloud_errors.CloudError as error:
        before = next((c for c in found.conditions if c.type == kind and c.status == "True"), None)
        return before or _no(kind, _word(error), str(error), "Unknown")
    return _yes(kind) if refusal is None else _no(kind, *refusal)


def _case(provider: AwsProvider, found: NodeClass, pools: Sequence[Requirements]) -> trial.Case:
    sizing = provider.sizing(found)
    boot = Boot(
        cluster=provider.cluster(),
        family=sizing.family.name,
        user_data=str(found.spec.get("userData") or ""),
        labels={labels.NODEPOOL: found.meta.name, labels.CAPACITY_TYPE: labels.ON_DEMAND},
        taints=(),
        kubelet=sizing.config,
        pods_max=PODS_DEFAULT,
        raid0=sizing.raid0,
        image_version=node_class.bottlerocket_version(found),
    )
    return trial.Case(found=found, boot=boot, types=provider.types(), pools=pools)


def _ready(known: Sequence[Condition]) -> Condition:
    bad = [c for c in known if c.status != "True"]
    if not bad:
        return _yes("Ready")
    why = "; ".join(c.message for c in bad if c.reason != reasons.DEPENDENCIES_NOT_READY)
    return _no(
        "Ready",
        reasons.UNHEALTHY_DEPENDENTS,
        f"{', '.join(f'{c.type}={c.status}' for c in bad)}: {why}",
    )


def _yes(kind: str) -> Condition:
    return Condition(type=kind, status="True", reason=kind)


def _no(kind: str, reason: Reason, message: str, status: Status = "False") -> Condition:
    letters = "".join(c if c.isalnum() else "_" for c in reason)
    return Condition(type=kind, status=status, reason=letters, message=message)


def _word(error: cloud_errors.CloudError) -> Reason:
    """AWS's own code; ours for the kind of error when it gave none."""
    return Reason(error.code or type(error).__name__)


def _stamped(condition: Condition, generation: int) -> Condition:
    return Condition(
        type=condition.type,
        status=condition.status,
        reason=condition.reason,
        message=condition.message,
        observed_generation=generation,
    )


def _terms(terms: Sequence[Mapping[str, Any]]) -> str:
    return " or ".join(
        " and ".join(
            f"{k}={v}"
            for k, v in {
                **part(t, "tags"),
                **{k: v for k, v in t.items() if k != "tags"},
            }.items()
        )
        for t in terms
    )
