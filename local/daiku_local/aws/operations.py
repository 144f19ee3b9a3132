"""The table of operations that are not left to moto.

What is not in it goes to moto as it came. The names are those of AWS's API references.
"""

from collections.abc import Callable

from daiku_local.aws.cloud import Asked, Cloud, Handler
from daiku_local.aws.ec2 import guards
from daiku_local.aws.eks import access, clusters, updates, versions

Key = tuple[str, str]

_BY_SERVICE: dict[str, dict[str, Handler]] = {
    "eks": {
        **access.HANDLERS,
        **clusters.HANDLERS,
        **updates.HANDLERS,
        **versions.HANDLERS,
    },
}

OWN: dict[Key, Handler] = {
    (service, operation): handler
    for service, handlers in _BY_SERVICE.items()
    for operation, handler in handlers.items()
}
"""Operations answered here, by service and name."""

GUARDS: dict[Key, Callable[[Cloud, Asked], None]] = {
    ("ec2", operation): guard for operation, guard in guards.GUARDS.items()
}
"""Checks before moto answers: they raise AwsError where AWS would refuse and moto would not."""

LOCK_FREE: frozenset[Key] = frozenset()
"""Operations that read facts only, so that a slow one never holds up the others."""

REGIONAL = frozenset({"ec2", "eks", "ssm"})
"""Services of which only the world's region is played here."""
