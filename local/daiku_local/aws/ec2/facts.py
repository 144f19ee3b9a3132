# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false
"""The facts of instance types, as moto ships them: 1,395 types, and where each is offered.

They never change while a world runs, so everything derived from them is kept.
"""

import functools
from typing import Any

from moto.ec2.models.instance_types import INSTANCE_TYPE_OFFERINGS, INSTANCE_TYPES

from daiku_local.aws import prices

ON_DEMAND = "on-demand"
SPOT = "spot"


def description(instance_type: str) -> dict[str, Any] | None:
    """A type as DescribeInstanceTypes shows it, None if there is none of that name."""
    return INSTANCE_TYPES.get(instance_type)


def names() -> list[str]:
    """Every type, in the order in which they are listed."""
    return list(INSTANCE_TYPES)


@functools.cache
def offerings(location_type: str, region: str) -> tuple[tuple[str, str], ...]:
    """Pairs of type and location, for "region", "availability-zone" or "availability-zone-id"."""
    rows: list[dict[str, str]] = INSTANCE_TYPE_OFFERINGS[location_type].get(region, [])
    return tuple(sorted((row["InstanceType"], row["Location"]) for row in rows))


@functools.cache
def zones_of(region: str) -> dict[str, frozenset[str]]:
    """For each type the zones that offer it."""
    zones: dict[str, set[str]] = {}
    for instance_type, zone in offerings("availability-zone", region):
        zones.setdefault(instance_type, set()).add(zone)
    return {name: frozenset(found) for name, found in zones.items()}


@functools.cache
def architectures(instance_type: str) -> tuple[str, ...]:
    """Architectures that a type runs, such as ("x86_64",); empty for an unknown type."""
    known = description(instance_type)
    return tuple(known["ProcessorInfo"]["SupportedArchitectures"]) if known else ()


@functools.cache
def on_demand_usd(instance_type: str) -> float:
    """List price per hour.

    Raises:
        KeyError: There is no type of that name.
    """
    known = INSTANCE_TYPES[instance_type]
    # An Inferentia is listed both as an inference accelerator and as a Neuron device.
    devices: list[dict[str, int]] = next(
        (
            known[info][kind]
            for info, kind in (
                ("GpuInfo", "Gpus"),
                ("NeuronInfo", "NeuronDevices"),
                ("InferenceAcceleratorInfo", "Accelerators"),
            )
            if known.get(info, {}).get(kind)
        ),
        [],
    )
    return prices.on_demand(
        prices.Shape(
            name=instance_type,
            vcpus=known["VCpuInfo"]["DefaultVCpus"],
            memory_mib=known["MemoryInfo"]["SizeInMiB"],
            accelerators=sum(device.get("Count", 1) for device in devices),
        )
    )
