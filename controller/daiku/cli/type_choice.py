"""Which instance types are shown: options of the command line, and a NodePool, as requirements on labels.

Labels say what AWS names a machine by (m5.large has 8 GiB), while what pods can have of it is less.
"""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Final

from daiku.api import decode_karpenter, manifests
from daiku.model import labels, units
from daiku.model.instance_type import InstanceType
from daiku.model.requirements import Requirement, Requirements

_GROUP: Final = "karpenter.k8s.aws"
FAMILY: Final = f"{_GROUP}/instance-family"
CATEGORY: Final = f"{_GROUP}/instance-category"
CPU: Final = f"{_GROUP}/instance-cpu"
"""Whole cores."""
MEMORY: Final = f"{_GROUP}/instance-memory"
"""MiB."""


def wanted(
    families: Sequence[str],
    categories: Sequence[str],
    architectures: Sequence[str],
    cpu: str,
    memory: str,
) -> Requirements:
    """What the options ask of an instance type's labels; of the values of one label any will do.

    Args:
        families: Such as m5; none: any. So are the next two.
        categories: Such as m.
        architectures: Such as arm64.
        cpu: Cores as LEAST..MOST, of which one may be left out, or one number; empty: any.
        memory: Bytes likewise, such as 8Gi..64Gi.

    Raises:
        ValueError: A range cannot be read, or nothing is in it.
    """
    values = ((FAMILY, families), (CATEGORY, categories), (labels.ARCH, architectures))
    named = (Requirement.parse(key, "In", tuple(given)) for key, given in values if given)
    return Requirements.of(
        *named,
        *_range("--cpu", cpu, CPU, unit=1),
        *_range("--memory", memory, MEMORY, unit=2**20),
    )


def of_node_pool(path: Path) -> Requirements:
    """What the NodePool of a file asks of its nodes.

    Raises:
        OSError: The file cannot be read.
        ValueError: It does not hold one NodePool that can be used.
    """
    problems: list[str] = []
    found = [
        decode_karpenter.node_pool(document.content)
        for document in manifests.read(str(path), path.read_bytes(), problems)
        if document.kind == "NodePool"
    ]
    problems += [f"NodePool {pool.meta.name}: {pool.invalid}" for pool in found if pool.invalid]
    if problems:
        raise ValueError("; ".join(problems))
    if len(found) != 1:
        raise ValueError(
            f"{path} holds {units.counted(len(found), 'NodePool')}: give a file with one"
        )
    return found[0].template.requirements


def chosen(types: Sequence[InstanceType], asked: Requirements) -> list[InstanceType]:
    """Those that can have what is asked, each with the offerings that can."""
    found: list[InstanceType] = []
    for each in types:
        offerings = tuple(o for o in each.offerings if not o.requirements.intersects(asked))
        is_offered = bool(offerings) or not each.offerings
        if is_offered and not each.requirements.intersects(asked):
            found.append(replace(each, offerings=offerings))
    return found


def _range(option: str, text: str, key: str, *, unit: int) -> list[Requirement]:
    if not text:
        return []
    low, separator, high = text.partition("..")
    low, high = low.strip(), high.strip() if separator else low.strip()
    if not (low or high):
        raise ValueError(f"{option} {text}: give LEAST..MOST, such as 4..16, or one number")
    try:
        least = -(-units.parse_bytes_or_count(low) // unit) if low else None
        most = units.parse_bytes_or_count(high) // unit if high else None
    except ValueError as error:
        raise ValueError(f"{option} {text}: {error}") from error
    if least is not None and most is not None and least > most:
        raise ValueError(f"{option} {text}: nothing is at least {low} and at most {high}")
    bounds = (("Gte", least), ("Lte", most))
    return [Requirement.parse(key, name, (str(n),)) for name, n in bounds if n is not None]
