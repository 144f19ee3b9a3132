"""How many branch interfaces a machine has: pods with security groups of their own need one each.

EC2 has no call that tells. What is published per type follows a rule: interfaces and branches together are a budget,
which doubles with the vCPUs up to a limit that newer machines reach earlier. Families that keep to other budgets are
listed. A family that is newer than the list is taken to keep to the rule.

Source: the table of limits of Amazon's VPC resource controller, which Karpenter compiles in.
"""

import re
from collections.abc import Mapping
from typing import Final

RESOURCE: Final = "vpc.amazonaws.com/pod-eni"
BRANCHES_MAX: Final = 120
"""Of any machine."""
FREE: Final = 1000
"""A budget that only BRANCHES_MAX limits."""
STEPS: Final = ((1, 6), (3, 12), (4, 22), (8, 42), (24, 62))
"""(vCPUs at most, interfaces and branches together)."""
LARGE: Final = ((36, 62, 92), (48, 62, 122))
"""The same for larger machines: (vCPUs at most, budget, budget of newer machines)."""
LARGEST: Final = 122
NONE: Final = re.compile(
    r"(c1|c3|c4|d2|f1|h1|hpc6\w*|hpc7a|hpc8\w*|i2|i3|m[1-4]|p3|r3|r4|t\d\w*|trn2\w*|u-6tb1|u-9tb1|u-1\dtb1|x1|x1e)$"
)
"""Families whose machines have no branches."""
NEWER: Final = frozenset({"g5", "inf2"})
"""Newer machines by another name than their generation."""
OWN: Final[Mapping[str, Mapping[int, int]]] = {
    "a1": {1: 12},
    "d3": {4: 46, 8: 96, 16: 122, 32: 122},
    "d3en": {4: 28, 8: 62, 16: 122, 24: 122, 32: 122, 48: 122},
    "f2": {24: 92, 48: 122},
    "g4ad": {4: 14, 8: 14, 16: 14, 32: 14, 64: 14},
    "g4dn": {4: 42},
    "g5": {4: 8, 8: 21, 16: 42},
    "g7e": {8: FREE, 16: FREE, 32: FREE, 48: FREE, 96: FREE, 192: FREE},
    "hpc7g": {16: 122, 32: 122},
    "i3en": {2: 8, 4: 16, 8: 32, 12: 42},
    "i4i": {4: 10, 8: 30, 16: 60, 32: 120, 48: 120, 64: FREE, 96: 120, 128: FREE},
    "i7i": {48: 92},
    "i7ie": {2: 22, 4: 31, 8: 31, 12: 31, 48: 62},
    "i8ge": {2: 22, 4: 31, 8: 31, 12: 31},
    "inf1": {4: 42},
    "m5zn": {2: 16, 4: 33, 8: 66, 12: 100, 24: 122, 48: 122},
    "m8azn": {12: 42},
    "p5": {192: FREE},
    "p5e": {192: FREE},
    "p5en": {192: FREE},
    "p6-b200": {192: FREE},
    "p6-b300": {192: FREE},
    "trn1": {8: 21},
    "trn1n": {128: FREE},
    "u-3tb1": {224: 14},
    "vt1": {12: 42},
    "x2gd": {1: 12},
    "x2iedn": {4: 15, 8: 31, 32: 122},
    "x2iezn": {8: 66, 16: 122, 24: 122, 32: 122, 48: 122},
    "x8aedz": {12: 42},
    "z1d": {2: 16, 4: 32, 8: 62, 48: 122},
}
"""Family -> vCPUs -> budget, where it is not the rule's."""
METAL: Final = frozenset({"m5.metal", "r5.metal"})
"""Machines without a hypervisor that takes some: as many branches as there can be."""
_FAMILY: Final = re.compile(r"[a-z]+(\d+)([a-z]*)")


def count(name: str, vcpus: int, interfaces: int) -> int:
    """Branch interfaces of a machine of type `name`; `interfaces`: those of all its network cards."""
    family = name.partition(".")[0]
    if NONE.match(family):
        return 0
    budget = FREE if name in METAL else OWN.get(family, {}).get(vcpus) or _budget(family, vcpus)
    return min(BRANCHES_MAX, max(0, budget - interfaces))


def _budget(family: str, vcpus: int) -> int:
    """Interfaces and branches together, by the rule."""
    if family.endswith("-flex") and vcpus <= LARGE[0][0]:
        vcpus //= 2
    for most, budget in STEPS:
        if vcpus <= most:
            return budget
    found = _FAMILY.match(family)
    newer = family in NEWER or (
        found is not None and int(found[1]) >= 6 and "g" not in found[2]  # Graviton
    )
    for most, old, new in LARGE:
        if vcpus <= most:
            return new if newer else old
    return LARGEST
