"""What instances cost when nobody can be asked: a small table of list prices by family, the last resort.

Within a family the price is linear in vCPUs, or in memory where machines are sold by that. Families that are not in the
table cost what vCPUs, memory and accelerators are worth on average. It only has to rank types about right; whoever must
plan with it for long should allow families that are in it.

Source: AWS's public on-demand list prices of us-east-1, Linux, of `AS_OF`, rounded to one price for each vCPU of a
family; other regions cost more in about the same proportion.
"""

from collections.abc import Mapping
from typing import Final

from daiku.cloud.aws.instance_types import Facts

AS_OF: Final = "2026-02-09"
REGION: Final = "us-east-1"

USD_PER_VCPU: Final[Mapping[str, float]] = {
    "m4": 0.05, "m5": 0.048, "m5a": 0.043, "m5ad": 0.0515, "m5d": 0.0565, "m5dn": 0.068, "m5n": 0.0595, "m5zn": 0.0826,
    "m6i": 0.048, "m6a": 0.0432, "m6g": 0.0385, "m6gd": 0.0452, "m6id": 0.059325, "m6idn": 0.07956, "m6in": 0.069615,
    "m7i": 0.0504, "m7i-flex": 0.04788, "m7a": 0.05796, "m7g": 0.0408, "m7gd": 0.05339,
    "m8a": 0.06086, "m8g": 0.04488, "m8gb": 0.07275, "m8gd": 0.05766, "m8gn": 0.07275,
    "m8i": 0.05292, "m8i-flex": 0.050275, "m8id": 0.06526,
    "c4": 0.0498, "c5": 0.0425, "c5a": 0.0385, "c5ad": 0.043, "c5d": 0.048, "c5n": 0.054,
    "c6i": 0.0425, "c6a": 0.03825, "c6g": 0.034, "c6gd": 0.0384, "c6gn": 0.0432, "c6id": 0.0504, "c6in": 0.0567,
    "c7i": 0.044625, "c7i-flex": 0.0424, "c7a": 0.05132, "c7g": 0.03625, "c7gd": 0.04536, "c7gn": 0.0624,
    "c8a": 0.053885, "c8g": 0.03988, "c8gb": 0.05925, "c8gd": 0.04899, "c8gn": 0.05925,
    "c8i": 0.046855, "c8i-flex": 0.04451, "c8id": 0.05544,
    "r4": 0.0665, "r5": 0.063, "r5a": 0.0565, "r5ad": 0.0655, "r5b": 0.0745, "r5d": 0.072, "r5dn": 0.0835,
    "r5n": 0.0745,
    "r6i": 0.063, "r6a": 0.0567, "r6g": 0.0504, "r6gd": 0.0576, "r6id": 0.0756, "r6idn": 0.097695, "r6in": 0.087165,
    "r7i": 0.06615, "r7iz": 0.093, "r7a": 0.07608, "r7g": 0.05355, "r7gd": 0.06804,
    "r8a": 0.07988, "r8g": 0.05891, "r8gb": 0.09109, "r8gd": 0.07348, "r8gn": 0.09109,
    "r8i": 0.06946, "r8i-flex": 0.065985, "r8id": 0.08316,
    "a1": 0.0255, "d3": 0.1249, "d3en": 0.1314, "i3": 0.078, "i3en": 0.113, "i4g": 0.07722, "i4i": 0.0858,
    "i7i": 0.09438, "i7ie": 0.12995, "i8g": 0.0858, "i8ge": 0.11865, "im4gn": 0.090948, "is4gen": 0.144075,
    "z1d": 0.093, "x2gd": 0.0835,
}  # fmt: skip
"""By family, those that are sold by vCPU."""
USD_PER_GIB: Final[Mapping[str, float]] = {"t2": 0.0116, "t3": 0.0104, "t3a": 0.0094, "t4g": 0.0084}
"""By family, those that are sold by memory."""

USD: Final[Mapping[str, float]] = {
    "g4dn.xlarge": 0.526, "g4dn.2xlarge": 0.752, "g4dn.4xlarge": 1.204, "g4dn.8xlarge": 2.176, "g4dn.12xlarge": 3.912,
    "g4dn.16xlarge": 4.352, "g4dn.metal": 7.824,
    "g5.xlarge": 1.006, "g5.2xlarge": 1.212, "g5.4xlarge": 1.624, "g5.8xlarge": 2.448, "g5.12xlarge": 5.672,
    "g5.16xlarge": 4.096, "g5.24xlarge": 8.144, "g5.48xlarge": 16.288,
    "g5g.xlarge": 0.42, "g5g.2xlarge": 0.556, "g5g.4xlarge": 0.828, "g5g.8xlarge": 1.372, "g5g.16xlarge": 2.744,
    "g6.xlarge": 0.8048, "g6.2xlarge": 0.9776, "g6.4xlarge": 1.3232, "g6.8xlarge": 2.0144, "g6.12xlarge": 4.6016,
    "g6.16xlarge": 3.3968, "g6.24xlarge": 6.6752, "g6.48xlarge": 13.3504,
    "g6e.xlarge": 1.861, "g6e.2xlarge": 2.24208, "g6e.4xlarge": 3.00424, "g6e.8xlarge": 4.52856,
    "g6e.12xlarge": 10.49264, "g6e.16xlarge": 7.57719, "g6e.24xlarge": 15.06559, "g6e.48xlarge": 30.13118,
    "p3dn.24xlarge": 31.212, "p4d.24xlarge": 21.957642, "p4de.24xlarge": 27.44705, "p5.4xlarge": 6.88,
    "p5.48xlarge": 55.04, "p5en.48xlarge": 63.296,
    "inf1.xlarge": 0.228, "inf1.2xlarge": 0.362, "inf1.6xlarge": 1.18, "inf1.24xlarge": 4.721,
    "inf2.xlarge": 0.7582, "inf2.8xlarge": 1.96786, "inf2.24xlarge": 6.49063, "inf2.48xlarge": 12.98127,
    "trn1.2xlarge": 1.34375, "trn1.32xlarge": 21.5, "trn1n.32xlarge": 24.78,
}  # fmt: skip
"""By type, those with accelerators, whose price follows no rule."""

OTHER_PER_VCPU: Final = 0.035
OTHER_PER_GIB: Final = 0.00375
OTHER_PER_ACCELERATOR: Final = 0.9
OTHER_ARM_SHARE: Final = 0.8
"""Share of the x86 price that the same size costs with Graviton."""


def knows(name: str) -> bool:
    """Whether the price of a type is in the table, and not an estimate."""
    family = name.partition(".")[0]
    return name in USD or family in USD_PER_VCPU or family in USD_PER_GIB


def of(facts: Facts) -> float:
    """USD per hour, on demand."""
    if facts.name in USD:
        return USD[facts.name]
    family, _, _ = facts.name.partition(".")
    if family in USD_PER_VCPU:
        return round(USD_PER_VCPU[family] * facts.vcpus, 6)
    gib = facts.memory_mib / 1024
    if family in USD_PER_GIB:
        return round(USD_PER_GIB[family] * gib, 6)
    share = OTHER_ARM_SHARE if facts.architecture == "arm64" else 1.0
    base = OTHER_PER_VCPU * facts.vcpus + OTHER_PER_GIB * gib
    return round(base * share + OTHER_PER_ACCELERATOR * facts.accelerators, 6)
