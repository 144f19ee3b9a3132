"""Whether a machine is still what its node class says: one of Karpenter's reasons, or none.

The static part of a class is compared by a hash that both carry; what selectors find (images, subnets, groups,
reservations) with the machine itself. While the class's status is being found out, nothing drifts.

Source: Karpenter's drift of the AWS provider, in its order; the first that holds wins.
"""

from collections.abc import Mapping, Sequence
from typing import Any, Final, cast

from daiku import reasons
from daiku.cloud.provider import Instance
from daiku.model import labels
from daiku.model.nodeclaim import NodeClaim
from daiku.model.nodeclass import NodeClass
from daiku.model.requirements import Requirement
from daiku.reason import NO_REASON, Reason

KIND: Final = "EC2NodeClass"
"""Node classes of other kinds never drift."""
HASH: Final = "karpenter.k8s.aws/ec2nodeclass-hash"
HASH_VERSION: Final = "karpenter.k8s.aws/ec2nodeclass-hash-version"
PLACEMENT_GROUP: Final = "karpenter.k8s.aws/placement-group-id"
RESOLVED_GROUP: Final = "daiku.dev/placement-group"
"""Annotation of a class: id and strategy of the group that its selector names now."""
RESERVATION: Final = "karpenter.k8s.aws/capacity-reservation-id"

STATIC: Final = reasons.NODE_CLASS_DRIFT
IMAGE: Final = reasons.AMI_DRIFT
GROUPS: Final = reasons.SECURITY_GROUP_DRIFT
SUBNET: Final = reasons.SUBNET_DRIFT
GROUP: Final = reasons.PLACEMENT_GROUP_DRIFT
RESERVED: Final = reasons.CAPACITY_RESERVATION_DRIFT

Json = Mapping[str, Any]


def drift_reason(claim: NodeClaim, node_class: NodeClass, instance: Instance | None) -> Reason:
    """Why the claim's machine is not what its class says now; empty when it is, or nobody can tell.

    Args:
        claim: A launched NodeClaim of a NodePool.
        node_class: Its NodePool's class now.
        instance: Its machine as the cloud last listed it; None: only what the claim itself says is compared.
    """
    if node_class.ref.kind != KIND or node_class.meta.deleted is not None or not claim.nodepool:
        return NO_REASON
    if _hash_differs(claim.meta.annotations, node_class.meta.annotations):
        return STATIC
    status = node_class.status
    if _other_image(claim, _list(status, "amis")):
        return IMAGE
    if instance is None or instance.terminating:
        return NO_REASON
    groups = {group["id"] for group in _list(status, "securityGroups")}
    if groups and instance.security_groups and set(instance.security_groups) != groups:
        return GROUPS
    subnets = [subnet["id"] for subnet in _list(status, "subnets")]
    if subnets and instance.subnet and instance.subnet not in subnets:
        return SUBNET
    # A machine whose reservation is over is only called otherwise.
    if instance.reserved and _lost_reservation(claim, status):
        return RESERVED
    group = node_class.meta.annotations.get(RESOLVED_GROUP, "").partition("/")[0]
    return GROUP if claim.meta.labels.get(PLACEMENT_GROUP, "") != group else NO_REASON


def _hash_differs(claims: Mapping[str, str], classes: Mapping[str, str]) -> bool:
    ours, theirs = claims.get(HASH), classes.get(HASH)
    same_version = claims.get(HASH_VERSION) == classes.get(HASH_VERSION) is not None
    return same_version and ours is not None and theirs is not None and ours != theirs


def _other_image(claim: NodeClaim, images: Sequence[Json]) -> bool:
    if not claim.image_id or labels.INSTANCE_TYPE not in claim.meta.labels:
        return False
    chosen = next((image for image in images if _boots(image, claim.meta.labels)), None)
    return chosen is not None and chosen["id"] != claim.image_id


def _boots(image: Json, known: Mapping[str, str]) -> bool:
    """Whether a machine with these labels would be made of the image."""
    for raw in _list(image, "requirements"):
        values = cast("Sequence[str]", raw.get("values") or ())
        requirement = Requirement.parse(raw["key"], raw["operator"], values)
        value = known.get(raw["key"])
        if not (requirement.absent if value is None else requirement.has(value)):
            return False
    return True


def _lost_reservation(claim: NodeClaim, status: Json) -> bool:
    if claim.meta.labels.get(labels.CAPACITY_TYPE) != labels.RESERVED:
        return False
    known = [each["id"] for each in _list(status, "capacityReservations")]
    return claim.meta.labels.get(RESERVATION) not in known


def _list(whole: Json, name: str) -> Sequence[Json]:
    return cast("Sequence[Json]", whole.get(name) or ())
