"""The table of operations that are not left to moto.

What is not in it goes to moto as it came. The names are those of AWS's API references.
"""

from collections.abc import Callable, Mapping

from daiku_local.aws import iam, interruptions, pricing, sqs, ssm, sts, zonal_shift
from daiku_local.aws.cloud import Asked, Cloud, Handler
from daiku_local.aws.ec2 import (
    fleets,
    gateways,
    guards,
    instance_types,
    instances,
    lifecycle,
    placement_groups,
    reservations,
    spot_prices,
    templates,
)
from daiku_local.aws.eks import (
    access,
    addons,
    clusters,
    node_groups,
    pod_identity,
    tags,
    updates,
    versions,
)

Key = tuple[str, str]
Check = Callable[[Cloud, Asked], None]

_BY_SERVICE: dict[str, Mapping[str, Handler]] = {
    "arc-zonal-shift": zonal_shift.HANDLERS,
    "ec2": {
        **fleets.HANDLERS,
        **gateways.HANDLERS,
        **instance_types.HANDLERS,
        **instances.HANDLERS,
        **interruptions.HANDLERS,
        **lifecycle.HANDLERS,
        **placement_groups.HANDLERS,
        **reservations.HANDLERS,
        **spot_prices.HANDLERS,
    },
    "eks": {
        **access.HANDLERS,
        **addons.HANDLERS,
        **clusters.HANDLERS,
        **node_groups.HANDLERS,
        **pod_identity.HANDLERS,
        **tags.HANDLERS,
        **updates.HANDLERS,
        **versions.HANDLERS,
    },
    "iam": iam.HANDLERS,
    "pricing": pricing.HANDLERS,
    "ssm": ssm.HANDLERS,
    "sts": sts.HANDLERS,
}

OWN: dict[Key, Handler] = {
    (service, operation): handler
    for service, handlers in _BY_SERVICE.items()
    for operation, handler in handlers.items()
}
"""Operations answered here, by service and name."""

BEFORE: dict[Key, Check] = {
    ("ec2", name): check
    for name, check in (guards.BEFORE | lifecycle.BEFORE | templates.BEFORE).items()
}
"""Checks before moto answers: they raise AwsError where AWS would refuse and moto would not."""

AFTER: dict[Key, Check] = {
    ("ec2", name): repair for name, repair in (guards.AFTER | templates.AFTER).items()
}
"""What is left to do after moto has answered."""

WAITS: dict[Key, Callable[[Cloud, Asked], bytes]] = {
    ("sqs", name): wait for name, wait in sqs.WAITS.items()
}
"""What waits for something before moto is asked, and how: gives the body that moto gets to see."""

LOCK_FREE: frozenset[Key] = frozenset(
    {
        ("ec2", "DescribeInstanceTypes"),
        ("ec2", "DescribeInstanceTypeOfferings"),
        ("ec2", "DescribeSpotPriceHistory"),
        ("pricing", "GetProducts"),
    }
)
"""Operations that read facts only, so that a slow one never holds up the others."""

ONLY_OURS = frozenset({"arc-zonal-shift", "eks", "pricing"})
"""Services of which moto is not asked: what is not in the table is not played."""

REGIONAL = frozenset({"ec2", "eks", "ssm"})
"""Services of which only the world's region is played here."""
