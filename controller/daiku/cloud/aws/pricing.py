"""What instances cost per hour: on-demand from the Pricing API, spot from EC2's history, an estimate before either.

The estimate is linear in vCPUs, memory and accelerators. It only has to rank types sensibly until real prices come, and
is used alone where the Pricing API cannot be reached (isolated networks, GovCloud).
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Final

from daiku.cloud import errors
from daiku.cloud.aws.answers import part
from daiku.cloud.aws.instance_types import Facts
from daiku.cloud.aws.session import Session
from daiku.telemetry import log

USD_PER_VCPU: Final = 0.035
USD_PER_GIB: Final = 0.00375
USD_PER_ACCELERATOR: Final = 0.9
ARM_SHARE: Final = 0.8
"""Estimate: share of the x86 price that the same size costs with Graviton."""

PRODUCTS: Final = ("Linux/UNIX", "Linux/UNIX (Amazon VPC)")

_log = log.get("pricing")


@dataclass(frozen=True, slots=True, kw_only=True)
class Prices:
    """Prices in $/h. Immutable, so that equality of identity means that nothing changed."""

    on_demand: Mapping[str, float] = field(default_factory=dict[str, float])
    """By instance type."""
    spot: Mapping[tuple[str, str], float] | None = None
    """By instance type and zone; None: never fetched, so the on-demand price stands in."""

    def on_demand_price(self, facts: Facts) -> float:
        """On-demand price of a type; an estimate when none is known."""
        known = self.on_demand.get(facts.name)
        return estimate(facts) if known is None else known

    def spot_price(self, facts: Facts, zone: str) -> float | None:
        """Spot price of a type in a zone; None: not for sale there."""
        if self.spot is None:
            return self.on_demand_price(facts)
        return self.spot.get((facts.name, zone))


def estimate(facts: Facts) -> float:
    """A price that ranks about right."""
    share = ARM_SHARE if facts.architecture == "arm64" else 1.0
    base = USD_PER_VCPU * facts.vcpus + USD_PER_GIB * facts.memory_mib / 1024
    accelerators = sum(
        amount
        for resource, amount in facts.extended.items()
        if resource.endswith(("/gpu", "/gaudi", "/neuron"))
    )
    return round(base * share + USD_PER_ACCELERATOR * accelerators, 6)


def refresh(session: Session, known: Prices, now: datetime, *, isolated: bool) -> Prices:
    """Prices as they are now; whatever cannot be fetched stays as it was, and is said so."""
    on_demand, spot = known.on_demand, known.spot
    if not (isolated or session.region.startswith("us-gov-")):
        try:
            on_demand = {**on_demand, **_on_demand(session)}
        except errors.CloudError as error:
            _log.warning("on-demand prices not refreshed", error=str(error), known=len(on_demand))
    try:
        fetched = _spot(session, now)
        spot = {**(spot or {}), **fetched} if fetched else spot
    except errors.CloudError as error:
        _log.warning("spot prices not refreshed", error=str(error), known=len(spot or ()))
    if on_demand == known.on_demand and spot == known.spot:
        return known
    return Prices(on_demand=on_demand, spot=spot)


def _on_demand(session: Session) -> dict[str, float]:
    shared = _products(session, tenancy="Shared", productFamily="Compute Instance")
    metal = _products(session, tenancy="Dedicated", productFamily="Compute Instance (bare metal)")
    return {**metal, **shared}


def _products(session: Session, **chosen: str) -> dict[str, float]:
    wanted = {
        "regionCode": session.region,
        "serviceCode": "AmazonEC2",
        "preInstalledSw": "NA",
        "operatingSystem": "Linux",
        "capacitystatus": "Used",
        "marketoption": "OnDemand",
        **chosen,
    }
    filters = [{"Type": "TERM_MATCH", "Field": f, "Value": v} for f, v in wanted.items()]
    currency = "CNY" if session.region.startswith("cn-") else "USD"
    found: dict[str, float] = {}
    for page in session.pages(
        "pricing",
        "get_products",
        region=_api_region(session.region),
        ServiceCode="AmazonEC2",
        Filters=filters,
    ):
        for text in page["PriceList"]:
            product: dict[str, Any] = json.loads(text) if isinstance(text, str) else text
            price = _price(product, currency)
            if price > 0:
                found[product["product"]["attributes"]["instanceType"]] = price
    return found


def _price(product: Mapping[str, Any], currency: str) -> float:
    for term in part(product, "terms").get("OnDemand", {}).values():
        for dimension in term.get("priceDimensions", {}).values():
            if text := dimension.get("pricePerUnit", {}).get(currency):
                return float(text)
    return 0.0


def _spot(session: Session, now: datetime) -> dict[tuple[str, str], float]:
    newest: dict[tuple[str, str], tuple[datetime, float]] = {}
    for page in session.pages(
        "ec2", "describe_spot_price_history", ProductDescriptions=list(PRODUCTS), StartTime=now
    ):
        for each in page["SpotPriceHistory"]:
            key = (each["InstanceType"], each["AvailabilityZone"])
            known = newest.get(key)
            if known is None or each["Timestamp"] > known[0]:
                newest[key] = (each["Timestamp"], float(each["SpotPrice"]))
    return {key: price for key, (_, price) in newest.items()}


def _api_region(region: str) -> str:
    """The region whose Pricing API is nearest; only a few have one."""
    near = {"ap": "ap-south-1", "cn": "cn-northwest-1", "eu": "eu-central-1"}
    return near.get(region.partition("-")[0], "us-east-1")
