"""What instances cost when nobody can be asked: a small table of list prices by family, the last resort.

Within a family the price is linear in vCPUs, or in memory where machines are sold by that. Families that are not in the
table cost what vCPUs, memory and accelerators are worth on average. It only has to rank types about right; whoever must
plan with it for long should allow families that are in it.

Source: AWS's public on-demand list prices of us-east-1, Linux, by heart and rounded; other regions cost more in about
the same proportion.
"""

from collections.abc import Mapping
from typing import Final

from daiku.cloud.aws.instance_types import Facts

USD_PER_VCPU: Final[Mapping[str, float]] = {
    "m4": 0.05, "m5": 0.048, "m5a": 0.043, "m5d": 0.0565, "m5n": 0.0595,
    "m6i": 0.048, "m6a": 0.0432, "m6g": 0.0385, "m6gd": 0.0452,
    "m7i": 0.0504, "m7i-flex": 0.04788, "m7a": 0.05796, "m7g": 0.0408, "m8g": 0.04488,
    "c4": 0.0498, "c5": 0.0425, "c5a": 0.0385, "c5d": 0.048, "c5n": 0.054,
    "c6i": 0.0425, "c6a": 0.03825, "c6g": 0.034, "c6gd": 0.0384, "c6gn": 0.0432,
    "c7i": 0.044625, "c7i-flex": 0.0424, "c7a": 0.05132, "c7g": 0.03625, "c8g": 0.03988,
    "r4": 0.0665, "r5": 0.063, "r5a": 0.0565, "r5d": 0.072, "r5n": 0.0745,
    "r6i": 0.063, "r6a": 0.0567, "r6g": 0.0504, "r6gd": 0.0576,
    "r7i": 0.06615, "r7a": 0.07608, "r7g": 0.05355, "r8g": 0.05891,
    "a1": 0.0255, "i3": 0.078, "i3en": 0.113, "i4i": 0.0858, "z1d": 0.093, "x2gd": 0.0835,
}  # fmt: skip
"""By family, those that are sold by vCPU."""
USD_PER_GIB: Final[Mapping[str, float]] = {"t2": 0.0116, "t3": 0.0104, "t3a": 0.0094, "t4g": 0.0084}
"""By family, those that are sold by memory."""

OTHER_PER_VCPU: Final = 0.035
OTHER_PER_GIB: Final = 0.00375
OTHER_PER_ACCELERATOR: Final = 0.9
OTHER_ARM_SHARE: Final = 0.8
"""Share of the x86 price that the same size costs with Graviton."""


def of(facts: Facts) -> float:
    """USD per hour, on demand."""
    family, _, _ = facts.name.partition(".")
    if family in USD_PER_VCPU:
        return round(USD_PER_VCPU[family] * facts.vcpus, 6)
    gib = facts.memory_mib / 1024
    if family in USD_PER_GIB:
        return round(USD_PER_GIB[family] * gib, 6)
    share = OTHER_ARM_SHARE if facts.architecture == "arm64" else 1.0
    base = OTHER_PER_VCPU * facts.vcpus + OTHER_PER_GIB * gib
    return round(base * share + OTHER_PER_ACCELERATOR * facts.accelerators, 6)
