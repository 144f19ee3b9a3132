"""Instance types of the kwok cloud: a built-in set, or a file in the format of Karpenter's kwok provider.

The file is a JSON list of {name, architecture, operatingSystems, resources, offerings}, an offering being
{Price, Available, Requirements}. Field names are matched whatever their case, as Go does.
"""

import json
import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, Final, cast

from daiku.model import labels, resources
from daiku.model.instance_type import InstanceType, Offering
from daiku.model.requirements import Requirement, Requirements

CPUS: Final = (1, 2, 4, 8, 16, 32, 48, 64, 96, 128, 192, 256)
FAMILIES: Final = {"c": 2, "s": 4, "m": 8}
"""Family -> GiB of memory per cpu."""
ZONES: Final = ("test-zone-a", "test-zone-b", "test-zone-c", "test-zone-d")
SPOT_SHARE: Final = 0.7
"""Price of spot as a share of on-demand."""
OVERHEAD: Final = {"cpu": 100, "memory": 10 * 2**20}
"""What kubelet keeps: 100m and 10Mi."""
PODS_DEFAULT: Final = 110

LABEL_DOMAIN: Final = "karpenter.kwok.sh"
_SIZE: Final = re.compile(r"\.(\d*x?large|nano|micro|small|medium|metal(?:-\d+xl)?)$")


class CatalogueError(Exception):
    """A file of instance types cannot be used."""


def built_in() -> tuple[InstanceType, ...]:
    """The 144 instance types that exist when no file is given."""
    entries = [
        _generated(family, cpu, system, architecture)
        for cpu in CPUS
        for family in FAMILIES
        for system in ("linux", "windows")
        for architecture in ("amd64", "arm64")
    ]
    return tuple(sorted((_parse(entry) for entry in entries), key=lambda t: t.name))


def read(path: Path) -> tuple[InstanceType, ...]:
    """The instance types of a file, sorted by name.

    Raises:
        CatalogueError: It is not there, is no JSON, or not in the format.
    """
    try:
        content: Any = json.loads(path.read_bytes())
    except OSError as error:
        raise CatalogueError(
            f"instance types {path}: {error.strerror}. Give the path of a JSON file"
        ) from error
    except ValueError as error:
        raise CatalogueError(f"instance types {path} are no JSON: {error}") from error
    entries = cast("list[Any]", content) if isinstance(content, list) else []
    if not entries:
        raise CatalogueError(f"instance types {path}: expected a list with at least one entry")
    found: dict[str, InstanceType] = {}
    for number, entry in enumerate(entries):
        try:
            made = _parse(_lowered(entry))
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            name = cast("Mapping[str, Any]", entry).get("name") if isinstance(entry, dict) else "?"
            problem = f"lacks {error}" if isinstance(error, KeyError) else str(error)
            raise CatalogueError(
                f"instance types {path}: entry {number} ({name}) {problem}. It needs name, architecture, "
                "operatingSystems, resources and offerings of {Price, Available, Requirements}"
            ) from error
        if made.name in found:
            raise CatalogueError(f"instance types {path}: {made.name} is there twice")
        found[made.name] = made
    return tuple(found[name] for name in sorted(found))


def _generated(family: str, cpu: int, system: str, architecture: str) -> Mapping[str, Any]:
    memory = cpu * FAMILIES[family] * 2**30
    price = 0.025 * cpu + 0.001 * memory / 1e9
    return {
        "name": f"{family}-{cpu}x-{architecture}-{system}",
        "architecture": architecture,
        "operatingsystems": [system],
        "resources": {
            "cpu": str(cpu),
            "memory": str(memory),
            "pods": str(min(cpu * 16, 1024)),
            "ephemeral-storage": "20Gi",
        },
        "offerings": [
            {
                "price": price * share,
                "available": True,
                "requirements": [
                    {"key": labels.CAPACITY_TYPE, "operator": "In", "values": [capacity_type]},
                    {"key": labels.ZONE, "operator": "In", "values": [zone]},
                ],
            }
            for zone in ZONES
            for capacity_type, share in ((labels.SPOT, SPOT_SHARE), (labels.ON_DEMAND, 1.0))
        ],
    }


def _parse(entry: Mapping[str, Any]) -> InstanceType:
    name: str = entry["name"]
    capacity = {
        resources.PODS: PODS_DEFAULT,
        resources.EPHEMERAL_STORAGE: 20 * 2**30,
        **resources.parse(entry["resources"]),
    }
    offerings = tuple(_offering(each) for each in entry["offerings"])
    cpu = capacity.get("cpu", 0) // 1000
    size = _SIZE.search(name)
    fixed = {
        labels.INSTANCE_TYPE: [name],
        labels.ARCH: [entry["architecture"]],
        labels.OS: _names(entry["operatingsystems"]),
        labels.ZONE: sorted({o.zone for o in offerings}),
        labels.CAPACITY_TYPE: sorted({o.capacity_type for o in offerings}),
        f"{LABEL_DOMAIN}/instance-family": [re.split(r"[-.]", name, maxsplit=1)[0]],
        f"{LABEL_DOMAIN}/instance-size": [size[1] if size else str(cpu)],
        f"{LABEL_DOMAIN}/instance-cpu": [str(cpu)],
        f"{LABEL_DOMAIN}/instance-memory": [str(capacity.get("memory", 0) // 2**20)],
    }
    return InstanceType(
        name=name,
        requirements=Requirements.of(*(Requirement.parse(k, "In", v) for k, v in fixed.items())),
        offerings=offerings,
        capacity=capacity,
        overhead=OVERHEAD,
        allocatable={r: max(0, a - OVERHEAD.get(r, 0)) for r, a in capacity.items()},
    )


def _offering(entry: Mapping[str, Any]) -> Offering:
    requirements = Requirements.of(
        *(
            Requirement.parse(r["key"], r["operator"], r.get("values") or ())
            for r in entry["requirements"]
        )
    )
    single = requirements.single_values()
    for key in (labels.ZONE, labels.CAPACITY_TYPE):
        if key not in single:
            raise ValueError(f"has an offering without exactly one value of {key}")
    price = float(entry["price"])
    if not 0 <= price < float("inf"):
        raise ValueError(f"has an offering at {price} $/h; a price is at least 0")
    return Offering(
        requirements=requirements,
        zone=single[labels.ZONE],
        capacity_type=single[labels.CAPACITY_TYPE],
        price_usd_per_hour=price,
        available=bool(entry.get("available", True)),
    )


def _names(value: str | Iterable[Any]) -> list[str]:
    """Operating systems: a list of names, or of {"name": ...}."""
    entries: Iterable[Any] = [value] if isinstance(value, str) else value
    return [each["name"] if isinstance(each, dict) else str(each) for each in entries]


def _lowered(value: Any) -> Any:
    """`value` with the field names of the format in lower case; resources and labels stay as they are."""
    if isinstance(value, dict):
        fields = cast("Mapping[str, Any]", value)
        return {
            k.lower(): v if k.lower() == "resources" else _lowered(v) for k, v in fields.items()
        }
    if isinstance(value, list):
        return [_lowered(each) for each in cast("list[Any]", value)]
    return value
