"""EC2's instance types as this release knows them, for plans that are made without AWS.

What the types are was recorded from EC2, what they cost is `list_prices`. Nobody can say which zones offer which type:
all are taken for offered everywhere. A spot price changes all the time; the on-demand price stands in for it.
"""

import functools
import gzip
import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

from daiku.cloud.aws import capacity, instance_types
from daiku.cloud.aws.instance_types import Facts
from daiku.cloud.aws.measured import Measured
from daiku.cloud.aws.offerings import Offerings
from daiku.cloud.aws.pricing import Prices
from daiku.model.instance_type import InstanceType
from daiku.model.nodeclass import NodeClass

FILE: Final = Path(__file__).with_name("known_types.json.gz")
"""Answers of DescribeInstanceTypes, less what nobody reads."""
MEMORY_OVERHEAD: Final = 0.075
"""Share of the memory that the hypervisor keeps: the default of VM_MEMORY_OVERHEAD_PERCENT."""


@functools.cache
def facts() -> Mapping[str, Facts]:
    """Every type, by name; offered nowhere yet."""
    answers: list[dict[str, Any]] = json.loads(gzip.decompress(FILE.read_bytes()))
    found = (instance_types.read(each) for each in answers)
    return {each.name: each for each in found if each is not None}


def of_class(found: NodeClass, zones: Sequence[str]) -> tuple[InstanceType, ...]:
    """Every type as a node of `found` would be, in these zones.

    Args:
        found: An EC2NodeClass; what AWS would have answered about it, such as its subnets, is made up.
        zones: Such as us-east-1a.
    """
    status: dict[str, Any] = {
        "subnets": [{"id": f"any in {zone}", "zone": zone} for zone in zones],
        "amis": [{"id": "any", "requirements": []}],
    }
    resolved = replace(found, status={**found.status, **status}, ready=True)
    offered = {name: replace(each, zones=tuple(zones)) for name, each in facts().items()}
    sizing = capacity.sizing_of(resolved, memory_overhead=MEMORY_OVERHEAD, reserved_interfaces=0)
    region = zones[0].rstrip("abcdefghijklmnopqrstuvwxyz") if zones else ""
    return Offerings(region, Measured()).make(offered, Prices(), resolved, sizing)
