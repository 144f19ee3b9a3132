"""What a stack costs before its first pod: `pulumi preview --json --show-sames | python -m daiku_infra.fixed_cost`.

Control plane, NAT gateways, endpoints, public addresses, keys and system nodes are billed by the hour
whether anybody uses them or not, and no plan of nodes shows them. Traffic, logs and disks are not counted.

Prices are list prices of us-east-1 and us-west-2 of November 2026 (aws.amazon.com: EKS, VPC, KMS pricing);
other regions differ by some percent. Prices of system nodes come from `daiku instance-types --format json`.
No Pulumi in here.
"""

# A preview is JSON.
# pyright: reportUnknownVariableType=false, reportUnknownArgumentType=false, reportUnknownMemberType=false

import argparse
import json
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

HOURS = 730
"""Hours of a month, as AWS counts them."""
CONTROL_PLANE, CONTROL_PLANE_EXTENDED = 0.10, 0.60
NAT_GATEWAY, ENDPOINT_ADDRESS, PUBLIC_ADDRESS = 0.045, 0.01, 0.005
"""Dollars per hour. A regional NAT gateway is billed for each zone it is in."""
KEY_PER_MONTH = 1.0
_GONE = frozenset({"delete", "delete-replaced", "discard", "read-discard"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Item:
    """One line of the bill."""

    what: str
    """What is billed."""
    count: int
    """How many of it."""
    hourly: float | None
    """Dollars per hour of one; None where the price is not known."""

    @property
    def monthly(self) -> float | None:
        """Dollars per month of all."""
        return None if self.hourly is None else self.hourly * self.count * HOURS


def items(preview: Mapping[str, Any], prices: Mapping[str, float], zones: int) -> list[Item]:
    """List what is billed by the hour.

    Args:
        preview: What `pulumi preview --json --show-sames` printed; without sames only what changes is in it.
        prices: Dollars per hour of instance types, on demand.
        zones: Zones that a regional NAT gateway is in.
    """
    found: dict[tuple[str, float | None], int] = {}
    for kind, inputs in _resources(preview):
        for what, count, hourly in _billed(kind, inputs, prices, zones):
            found[what, hourly] = found.get((what, hourly), 0) + count
    return [Item(what=what, count=count, hourly=hourly) for (what, hourly), count in found.items()]


def markdown(lines: Sequence[Item]) -> str:
    """Write a bill as a table, for a comment on a pull request."""
    rows = ["| fixed cost | count | $/month |", "|---|---:|---:|"]
    for line in lines:
        price = "not known" if line.monthly is None else f"{line.monthly:,.2f}"
        rows.append(f"| {line.what} | {line.count} | {price} |")
    total = sum(line.monthly or 0.0 for line in lines)
    rows.append(f"| **together** | | **{total:,.2f}** |")
    return "\n".join(rows)


def _resources(preview: Mapping[str, Any]) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Types and inputs of what will be there."""
    seen: set[str] = set()
    for step in preview.get("steps", ()):
        state = step.get("newState")
        if step["op"] not in _GONE and state and state["urn"] not in seen:
            seen.add(state["urn"])
            yield state["type"], state.get("inputs") or {}


def _billed(
    kind: str, inputs: Mapping[str, Any], prices: Mapping[str, float], zones: int
) -> Iterator[tuple[str, int, float | None]]:
    """What one resource is billed for: what, how many, dollars per hour."""
    match kind:
        case "aws:eks/cluster:Cluster":
            extended = (inputs.get("upgradePolicy") or {}).get("supportType") == "EXTENDED"
            yield "EKS control plane", 1, CONTROL_PLANE
            if extended:
                yield "extended support, once standard support ends", 0, CONTROL_PLANE_EXTENDED
        case "aws:ec2/natGateway:NatGateway":
            regional = inputs.get("availabilityMode") == "regional"
            yield "NAT gateway", zones if regional else 1, NAT_GATEWAY
        case "aws:ec2/eip:Eip":
            yield "public IPv4 address", 1, PUBLIC_ADDRESS
        case "aws:ec2/vpcEndpoint:VpcEndpoint" if inputs.get("vpcEndpointType") == "Interface":
            subnets = inputs.get("subnetIds")
            count = len(subnets) if isinstance(subnets, list) else zones
            yield "interface endpoint, for each zone", count, ENDPOINT_ADDRESS
        case "aws:kms/key:Key":
            yield "KMS key", 1, KEY_PER_MONTH / HOURS
        case "aws:eks/nodeGroup:NodeGroup":
            size = int((inputs.get("scalingConfig") or {}).get("desiredSize") or 0)
            wanted = (inputs.get("instanceTypes") or ["unknown"])[0]
            yield f"system node {wanted}", size, prices.get(wanted)
        case _:
            return


def on_demand_prices(listing: Sequence[Mapping[str, Any]]) -> dict[str, float]:
    """Dollars per hour by type, of what `daiku instance-types --format json` printed."""
    found: dict[str, float] = {}
    for row in listing:
        offers = [
            float(offer["priceUsdPerHour"])
            for offer in row.get("offerings", ())
            if offer.get("capacityType") == "on-demand"
        ]
        if offers:
            found[row["name"]] = min(offers)
    return found


def main() -> None:
    """Read a preview, print its bill."""
    parser = argparse.ArgumentParser(prog="python -m daiku_infra.fixed_cost", description=__doc__)
    parser.add_argument(
        "preview", nargs="?", help="what `pulumi preview --json --show-sames` printed; - for stdin"
    )
    parser.add_argument(
        "--instance-types", help="what `daiku instance-types --format json` printed"
    )
    parser.add_argument("--zones", type=int, default=3, help="zones of a regional NAT gateway")
    given = parser.parse_args()
    name = given.preview or "-"
    text = sys.stdin.read() if name == "-" else Path(name).read_text()
    try:
        preview = json.loads(text)
    except ValueError as error:
        parser.error(f"{name} holds no JSON ({error}): give what `pulumi preview --json` printed")
    listing = json.loads(Path(given.instance_types).read_text()) if given.instance_types else []
    print(markdown(items(preview, on_demand_prices(listing), given.zones)))  # noqa: T201 - its output


if __name__ == "__main__":
    main()
