"""Will the addresses last? What NodePools may grow to, against what subnets hold.

With the VPC CNI every pod has an address of the VPC, and a node keeps a whole interface's worth of
them ready. So a NodePool that grows to its limit may find no address long before it finds no money:
pods then hang in ContainerCreating on nodes that are paid for. No Pulumi in here.
"""

import math
import re
from collections.abc import Mapping
from typing import Any, cast

ADDRESSES_PER_CPU = 15
"""Addresses that a node takes per vCPU: 30 of an m5.large with 2, 60 of an xlarge with 4, and so on."""
_CPU = re.compile(r"(\d+(?:\.\d+)?)(m?)")


def of_pool(spec: Mapping[str, Any]) -> int | None:
    """Addresses that nodes and pods of a NodePool may take at its limits; None without limits.

    Args:
        spec: The NodePool's spec, in the words of the API.
    """
    limits = cast("Mapping[str, Any]", spec.get("limits") or {})
    bounds: list[int] = []
    if (cpus := _cpus(limits.get("cpu"))) is not None:
        bounds.append(math.ceil(cpus * ADDRESSES_PER_CPU))
    replicas = spec.get("replicas", limits.get("nodes"))
    if replicas is not None and str(replicas).isdigit():
        # An instance's interfaces hold 15 per vCPU; 110 pods is what EKS allows small nodes.
        bounds.append(int(replicas) * 111)
    return min(bounds, default=None)


def shortage(pools: Mapping[str, Mapping[str, Any]], available: int) -> str | None:
    """Say so where the NodePools may take more addresses than there are.

    Args:
        pools: Specs by the names of their NodePools.
        available: Addresses of the subnets that their nodes and pods are in.
    """
    demands = {name: demand for name, spec in pools.items() if (demand := of_pool(spec))}
    total = sum(demands.values())
    if total <= available:
        return None
    parts = ", ".join(f"{name} {demand:,}" for name, demand in demands.items())
    return (
        f"the NodePools may grow to about {total:,} addresses ({parts}), and the subnets of nodes and "
        f"pods hold {available:,}: lower limits.cpu, or give pods a range of their own with podCidr"
    )


def _cpus(quantity: Any) -> float | None:
    """Cores of a quantity such as 100, "100" or "1500m"; None if it is none."""
    match = _CPU.fullmatch(str(quantity))
    if match is None:
        return None
    return float(match[1]) / (1000 if match[2] else 1)
