"""`daiku instance-types`: what the controller believes of every instance type, so that a person can check it.

It asks AWS like the controller does and changes nothing. Without a node class it shows AL2023 in every zone of the
region.
"""

import json
import os
import sys
from collections.abc import Sequence
from dataclasses import replace
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any, Final

import typer

from daiku.api import decode, decode_karpenter, manifests
from daiku.cli import failure, lines, type_choice
from daiku.cloud import errors
from daiku.cloud.aws import instance_types, status
from daiku.cloud.aws.provider import AwsOptions, AwsProvider
from daiku.cloud.aws.session import NoRegionError, Session
from daiku.model import labels, units
from daiku.model.instance_type import InstanceType, NodeClassRef
from daiku.model.meta import Meta
from daiku.model.nodeclass import NodeClass
from daiku.runtime import clock, options

GROUP: Final = "karpenter.k8s.aws"
KIND: Final = "EC2NodeClass"


class Architecture(StrEnum):
    """Processors that nodes have."""

    AMD64 = "amd64"
    ARM64 = "arm64"


class Format(StrEnum):
    """How it is printed."""

    TABLE = "table"
    JSON = "json"


def show(
    *,
    node_class: Annotated[
        Path | None, typer.Option(help="File with one EC2NodeClass; without it: AL2023, all zones.")
    ] = None,
    families: Annotated[
        list[str] | None, typer.Option("--family", help="Such as m5. Repeatable, as the next two.")
    ] = None,
    categories: Annotated[list[str] | None, typer.Option("--category", help="Such as m.")] = None,
    architectures: Annotated[
        list[Architecture] | None, typer.Option("--arch", help="Of its processors.")
    ] = None,
    cpu: Annotated[str, typer.Option(metavar="RANGE", help="Cores: 4, 4..16, 4.. or ..16.")] = "",
    memory: Annotated[
        str, typer.Option(metavar="RANGE", help="Likewise, such as 8Gi..64Gi, as AWS states it.")
    ] = "",
    node_pool: Annotated[
        Path | None,
        typer.Option("--nodepool", help="File with one NodePool: what its requirements let in."),
    ] = None,
    format_: Annotated[Format, typer.Option("--format", help="How to print it.")] = Format.TABLE,
) -> None:
    """Show every instance type as the controller sees it: capacity, allocatable, labels, offerings with prices.

    Options choose among them; one that is given several times means any of its values.
    """
    try:
        asked = type_choice.wanted(
            families or (), categories or (), architectures or (), cpu, memory
        )
        if node_pool is not None:
            asked &= type_choice.of_node_pool(node_pool)
        named = {**os.environ, "CLUSTER_NAME": os.environ.get("CLUSTER_NAME") or "none"}
        chosen = options.read([], named)
        found = _read(node_class) if node_class is not None else None
        known = fetch(chosen, found, os.environ.get("AWS_REGION", ""))
    except (
        options.OptionsError,
        manifests.ManifestError,
        decode.Unreadable,
        NoRegionError,
        errors.CloudError,
        OSError,
        ValueError,
    ) as error:
        failure.fail([str(error)], 1)
    types = type_choice.chosen(known, asked)
    if not types:
        lines.note(f"none of {units.counted(len(known), 'instance type')} meets {asked}")
    if format_ is Format.JSON:
        json.dump([encode(each) for each in types], sys.stdout, indent=1)
        sys.stdout.write("\n")
    else:
        _table(types)


def fetch(chosen: options.Options, found: NodeClass | None, region: str) -> Sequence[InstanceType]:
    """Every instance type as a machine of `found` would be, sorted by name.

    Args:
        chosen: Options of `daiku run`.
        found: A node class; None: every zone of the region, with AL2023.
        region: Such as us-west-2; empty: boto3 knows.

    Raises:
        NoRegionError: Nothing says which region is meant.
        CloudError: AWS refused.
    """
    session = Session(region)
    aws = AwsOptions(
        cluster_name=chosen.settings.cluster_name,
        isolated_vpc=chosen.isolated_vpc,
        memory_overhead=chosen.vm_memory_overhead_percent,
        reserved_interfaces=chosen.reserved_enis,
    )
    provider = AwsProvider(session, aws, clock.now)
    if found is None:
        resolved = _anywhere(session)
    else:
        status_now = {**found.status, **status.look(provider, found, clock.now())}
        resolved = replace(found, status=status_now, ready=True)
    return provider.catalogue([resolved], 1).instance_types[resolved.ref]


def encode(found: InstanceType) -> dict[str, Any]:
    """An instance type as JSON: plain integers (millicores, bytes, counts), prices in dollars an hour."""
    return {
        "name": found.name,
        "capacity": dict(sorted(found.capacity.items())),
        "allocatable": dict(sorted(found.allocatable.items())),
        "labels": dict(sorted(found.requirements.single_values().items())),
        "offerings": [
            {
                "zone": offering.zone,
                "capacityType": offering.capacity_type,
                "priceUsdPerHour": offering.price_usd_per_hour,
                "available": offering.available,
            }
            for offering in found.offerings
        ],
    }


def _read(path: Path) -> NodeClass:
    problems: list[str] = []
    documents = [
        d for d in manifests.read(str(path), path.read_bytes(), problems) if d.kind == KIND
    ]
    if problems:
        raise ValueError("; ".join(problems))
    if len(documents) != 1:
        raise ValueError(
            f"{path} holds {len(documents)} objects of kind {KIND}: give a file with one"
        )
    return decode_karpenter.node_class_decoder(GROUP, KIND)(documents[0].content)


def _anywhere(session: Session) -> NodeClass:
    """A node class that selects every zone of the region, and an image for every type."""
    types = instance_types.fetch(session)
    zones = sorted({zone for facts in types.values() for zone in facts.zones})
    return NodeClass(
        meta=Meta(name="default", uid="default", resource_version="1", created=None, generation=1),
        ref=NodeClassRef(group=GROUP, kind=KIND, name="default"),
        ready=True,
        spec={"amiSelectorTerms": [{"alias": "al2023@latest"}]},
        status={
            "subnets": [{"id": f"any in {zone}", "zone": zone} for zone in zones],
            "amis": [{"id": "any", "requirements": []}],
        },
    )


def _table(types: Sequence[InstanceType]) -> None:
    line = "{:<20} {:>9} {:>12} {:>6} {:>12} {:>12}  {}"
    typer.echo(line.format("TYPE", "CPU", "MEMORY", "PODS", "ON-DEMAND", "SPOT", "ZONES"))
    for found in types:
        has = found.allocatable
        offered = [o for o in found.offerings if o.available]
        typer.echo(
            line.format(
                found.name,
                f"{has.get('cpu', 0)}m",
                f"{has.get('memory', 0) // 2**20}Mi",
                has.get("pods", 0),
                _price(
                    [o.price_usd_per_hour for o in offered if o.capacity_type == labels.ON_DEMAND]
                ),
                _price([o.price_usd_per_hour for o in offered if o.capacity_type == labels.SPOT]),
                " ".join(sorted({o.zone for o in offered})),
            ).rstrip()
        )


def _price(prices: Sequence[float]) -> str:
    return f"${min(prices):.4f}" if prices else "-"
