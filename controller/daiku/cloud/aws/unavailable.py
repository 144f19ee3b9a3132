"""What an answer about some pools says of others: which offerings are not asked for again for a while.

A sold-out pool is one offering. A quota is of an account: whatever counts against it and is no smaller than what was
refused is refused too. Without the service-linked role there is no spot instance at all.

Source: EC2 instance quotas (groups of families, counted in vCPUs).
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from daiku.cloud.aws import errors
from daiku.cloud.aws.errors import Scope
from daiku.cloud.aws.fleet import Override, Pool, Problem
from daiku.cloud.aws.instance_types import Facts

_LETTERS: Final = re.compile(r"[a-z]+")
_OWN_QUOTA: Final = {
    "g": "G and VT",
    "gr": "G and VT",
    "vt": "G and VT",
    "p": "P",
    "dl": "DL",
    "f": "F",
    "hpc": "HPC",
    "inf": "Inf",
    "mac": "Mac",
    "trn": "Trn",
    "u": "High Memory",
    "x": "X",
}
"""First letters of a family -> the quota it counts against; all others count as Standard."""


def quota(instance_type: str) -> str:
    """The quota that instances of a type count against."""
    found = _LETTERS.match(instance_type)
    return _OWN_QUOTA.get(found[0] if found else "", "Standard")


def pools(problems: Sequence[Problem], types: Mapping[str, Facts]) -> tuple[Pool, ...]:
    """Every pool that the answers say is not to be had."""
    found: dict[Pool, None] = {}
    for problem in problems:
        scope = errors.meaning(problem.code, problem.message).scope
        for override in problem.overrides:
            found |= dict.fromkeys(_of(scope, override, types))
    return tuple(found)


def full_subnets(problems: Sequence[Problem]) -> frozenset[str]:
    """Ids of the subnets that have no address left."""
    return frozenset(
        override.subnet
        for problem in problems
        if errors.meaning(problem.code, problem.message).scope is Scope.SUBNET
        for override in problem.overrides
    )


def _of(scope: Scope, override: Override, types: Mapping[str, Facts]) -> Iterator[Pool]:
    option = override.option
    match scope:
        case Scope.POOL:
            yield override.pool
        case Scope.QUOTA:
            refused = types.get(option.instance_type)
            least = refused.vcpus if refused is not None else 0
            for facts in types.values():
                if facts.vcpus >= least and quota(facts.name) == quota(option.instance_type):
                    yield from _everywhere(facts, option.capacity_type)
        case Scope.CAPACITY_TYPE:
            for facts in types.values():
                yield from _everywhere(facts, option.capacity_type)
        case Scope.SUBNET | Scope.NONE:
            # A zone may have another subnet; `addresses` knows.
            return


def _everywhere(facts: Facts, capacity_type: str) -> Iterator[Pool]:
    return ((facts.name, zone, capacity_type) for zone in facts.zones)
