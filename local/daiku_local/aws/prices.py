"""What instances cost by the hour: an estimate, not AWS's price list.

On-demand prices are linear in vCPUs within a family, with the well-known numbers of us-east-1 where
one is known by heart, and derived from generation, processor and suffix where none is. Families with
accelerators add a price a device. Spot prices are a fraction of it, between 0.28 and 0.45,
that depends on type and zone and moves by at most 0.02 within a day. Same question, same answer.
"""

import hashlib
import math
import re
from dataclasses import dataclass

USD_PER_VCPU_HOUR = {
    "m5": 0.048, "m6i": 0.048, "m7i": 0.0504, "m8i": 0.0529,
    "m5a": 0.043, "m6a": 0.0432, "m7a": 0.05796, "m8a": 0.0608,
    "m6g": 0.0385, "m7g": 0.0408, "m8g": 0.04488, "m9g": 0.0471,
    "c5": 0.0425, "c6i": 0.0425, "c7i": 0.04463, "c8i": 0.0469,
    "c5a": 0.0385, "c6a": 0.03825, "c7a": 0.05132, "c8a": 0.0539,
    "c6g": 0.034, "c7g": 0.03625, "c8g": 0.03989, "c9g": 0.0419,
    "r5": 0.063, "r6i": 0.063, "r7i": 0.06615, "r8i": 0.0695,
    "r5a": 0.0565, "r6a": 0.0567, "r7a": 0.07608, "r8a": 0.0799,
    "r6g": 0.0504, "r7g": 0.05355, "r8g": 0.05891, "r9g": 0.0619,
    "a1": 0.0255, "m4": 0.05, "c4": 0.0498, "r4": 0.0665, "z1d": 0.093, "i3": 0.078, "i4i": 0.0858,
    "x2gd": 0.0835, "d3": 0.0624, "h1": 0.0585,
}  # fmt: skip
"""List price a vCPU, by family."""

USD_PER_DEVICE_AND_VCPU = {
    "g4dn": (0.3, 0.0565),
    "g5": (0.8, 0.0515),
    "g5g": (0.284, 0.034),
    "g6": (0.632, 0.0432),
    "g6e": (1.48, 0.0953),
    "inf1": (0.094, 0.0335),
    "inf2": (0.5854, 0.0432),
    "trn1": (1.03, 0.0392),
    "p3dn": (3.3, 0.05),
    "p4d": (2.15, 0.05),
    "p4de": (2.83, 0.05),
    "p5": (5.68, 0.05),
    "p5e": (6.2, 0.05),
    "p5en": (6.7, 0.05),
    "p6-b200": (13.0, 0.05),
}
"""List price an accelerator and a vCPU, by family."""

USD_OF_BURSTABLE_MEDIUM = {"t2": 0.0464, "t3": 0.0416, "t3a": 0.0376, "t4g": 0.0336, "t8i": 0.0437}
SIZE_IN_MEDIUMS = {
    "nano": 0.125, "micro": 0.25, "small": 0.5, "medium": 1, "large": 2, "xlarge": 4,
    "2xlarge": 8, "4xlarge": 16, "8xlarge": 32,
}  # fmt: skip

BASES = {"m": "m5", "c": "c5", "r": "r5", "i": "i3", "x": "x2gd", "d": "d3", "z": "z1d"}
SUFFIX_FACTORS = {"d": 1.2, "n": 1.3, "b": 1.18, "z": 1.72, "e": 1.15}
FAMILY = re.compile(r"^(?P<letter>[a-z]+?)(?P<generation>\d+)(?P<suffix>[a-z]*)(?P<rest>-.*)?$")
USD_PER_VCPU_OTHERWISE = 0.023
USD_PER_GIB_OTHERWISE = 0.0056

SPOT_FRACTION_LEAST = 0.30
SPOT_FRACTION_MOST = 0.43
SPOT_SWING = 0.02
DAY_SECONDS = 86_400.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Shape:
    """What of an instance type its price is estimated from."""

    name: str
    """Name, such as "m5.large"."""
    vcpus: int
    """Default number of vCPUs."""
    memory_mib: int
    """Memory in MiB."""
    accelerators: int = 0
    """GPUs, or other accelerators."""


def on_demand(shape: Shape) -> float:
    """List price in USD per hour, to four digits."""
    family, _, size = shape.name.partition(".")
    if family in USD_OF_BURSTABLE_MEDIUM and size in SIZE_IN_MEDIUMS:
        return round(USD_OF_BURSTABLE_MEDIUM[family] * SIZE_IN_MEDIUMS[size], 4)
    if shape.accelerators:
        device, vcpu = USD_PER_DEVICE_AND_VCPU.get(family, (1.0, 0.05))
        return round(device * shape.accelerators + vcpu * shape.vcpus, 4)
    rate = _rate(family)
    if rate is None:
        memory_gib = shape.memory_mib / 1024
        return round(USD_PER_VCPU_OTHERWISE * shape.vcpus + USD_PER_GIB_OTHERWISE * memory_gib, 4)
    return round(rate * shape.vcpus, 4)


def _rate(family: str) -> float | None:
    """Price a vCPU of a family: known, or derived from its nearest known relative."""
    if family in USD_PER_VCPU_HOUR:
        return USD_PER_VCPU_HOUR[family]
    parts = FAMILY.match(family)
    if parts is None or parts["letter"] not in BASES:
        return None
    suffix = parts["suffix"]
    processor = next((letter for letter in suffix if letter in "iag"), "")
    relative = f"{parts['letter']}{parts['generation']}{processor}"
    rate = USD_PER_VCPU_HOUR.get(relative, USD_PER_VCPU_HOUR[BASES[parts["letter"]]])
    for letter in suffix.replace(processor, "", 1):
        rate *= SUFFIX_FACTORS.get(letter, 1.0)
    return rate * 0.95 if parts["rest"] == "-flex" else rate


def spot_fraction(
    instance_type: str,
    zone: str,
    seconds: float,
    *,
    swing: float = SPOT_SWING,
    swing_seconds: float = DAY_SECONDS,
) -> float:
    """Share of the list price that a spot instance costs, in [0.28, 0.45] with the usual swing, never below 0.01.

    Args:
        instance_type: Name of the type.
        zone: Availability zone.
        seconds: When, since 1970.
        swing: By how much it goes up and down.
        swing_seconds: How long that takes; 0: it does not move.
    """
    digest = hashlib.sha256(f"{instance_type}@{zone}".encode()).digest()
    level = int.from_bytes(digest[:4]) / 2**32
    phase = int.from_bytes(digest[4:8]) / 2**32
    middle = SPOT_FRACTION_LEAST + level * (SPOT_FRACTION_MOST - SPOT_FRACTION_LEAST)
    turns = seconds / swing_seconds if swing_seconds else 0.0
    return max(0.01, middle + swing * math.sin(2 * math.pi * (turns + phase)))
