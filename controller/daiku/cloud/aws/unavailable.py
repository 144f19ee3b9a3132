"""What an answer about some pools says of others: which offerings are not asked for again for a while.

A sold-out pool is one offering. A quota is of an account: whatever counts against it and is no smaller than what was
refused is refused too. Without the service-linked role there is no spot instance at all.

When everything that was asked for is sold out, and that was a great many types, nobody asks for the hundreds of others
sixty at a time: where the small machines of a family are sold out, its larger ones are too.

Source: EC2 instance quotas (groups of families, counted in vCPUs); EC2's advice on insufficient capacity, which is to
ask for a smaller type.
"""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Final

from daiku.cloud.aws import errors
from daiku.cloud.aws.errors import Scope
from daiku.cloud.aws.fleet import Override, Pool, Problem
from daiku.cloud.aws.instance_types import Facts

MANY: Final = 40
"""Types that are sold out at once before other types of their families are taken to be."""
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


def pools(
    problems: Sequence[Problem], types: Mapping[str, Facts], *, nothing_made: bool = False
) -> tuple[Pool, ...]:
    """Every pool that the answers say is not to be had; `nothing_made`: they are all the answers of a call."""
    found: dict[Pool, None] = {}
    sold_out: dict[Pool, None] = {}
    for problem in problems:
        scope = errors.meaning(problem.code, problem.message).scope
        for override in problem.overrides:
            found |= dict.fromkeys(_of(scope, override, types))
            if scope is Scope.POOL:
                sold_out[override.pool] = None
    if nothing_made and len({name for name, _, _ in sold_out}) >= MANY:
        found |= dict.fromkeys(_larger(sold_out, types))
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


def _larger(sold_out: Iterable[Pool], types: Mapping[str, Facts]) -> Iterator[Pool]:
    """Pools of the same families, zones and ways of buying whose machines are no smaller."""
    least: dict[tuple[str, str, str], int] = {}
    for name, zone, way in sold_out:
        if name in types:
            key = name.partition(".")[0], zone, way
            least[key] = min(types[name].vcpus, least.get(key, types[name].vcpus))
    by_family: dict[str, list[Facts]] = {}
    for facts in types.values():
        by_family.setdefault(facts.name.partition(".")[0], []).append(facts)
    for (family, zone, way), vcpus in least.items():
        for facts in by_family[family]:
            if facts.vcpus >= vcpus and zone in facts.zones:
                yield facts.name, zone, way


def _everywhere(facts: Facts, capacity_type: str) -> Iterator[Pool]:
    return ((facts.name, zone, capacity_type) for zone in facts.zones)
