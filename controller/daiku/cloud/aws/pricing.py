"""What instances cost per hour: on-demand from the Pricing API, spot from EC2's history.

Before either has answered, and where the Pricing API cannot be reached (isolated networks, GovCloud), the table of
`list_prices` stands in.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any, Final

from daiku.cloud import errors
from daiku.cloud.aws import concurrently, list_prices
from daiku.cloud.aws.answers import part
from daiku.cloud.aws.instance_types import Facts
from daiku.cloud.aws.session import Session
from daiku.telemetry import log

ON_DEMAND_EVERY: Final = timedelta(hours=12)
SPOT_EVERY: Final = timedelta(minutes=5)
"""Karpenter: 12 hours, in which a spot price can double."""
RETRY_FIRST: Final = timedelta(seconds=30)
"""Pause after the first failure; each in a row doubles it, up to the usual time."""
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
        return list_prices.of(facts) if known is None else known

    def spot_price(self, facts: Facts, zone: str) -> float | None:
        """Spot price of a type in a zone; None: not for sale there."""
        if self.spot is None:
            return self.on_demand_price(facts)
        return self.spot.get((facts.name, zone))


@dataclass(slots=True)
class Schedule:
    """When something is fetched again: on time, and after a failure soon, then later and later."""

    every: timedelta
    _due: datetime | None = None
    _failures: int = 0

    def is_due(self, now: datetime) -> bool:
        """Whether to fetch now."""
        return self._due is None or now >= self._due

    def done(self, now: datetime) -> None:
        """It was fetched."""
        self._due, self._failures = now + self.every, 0

    def failed(self, now: datetime) -> timedelta:
        """It could not be fetched; when it is tried again."""
        pause = min(RETRY_FIRST * 2 ** min(self._failures, 16), self.every)
        self._due, self._failures = now + pause, self._failures + 1
        return pause


@dataclass(slots=True)
class PriceBook:
    """Prices, kept fresh. One thread refreshes it."""

    session: Session
    isolated: bool
    """The Pricing API cannot be reached from here."""
    prices: Prices = field(default_factory=Prices)
    _on_demand: Schedule = field(default_factory=lambda: Schedule(ON_DEMAND_EVERY))
    _spot: Schedule = field(default_factory=lambda: Schedule(SPOT_EVERY))

    def refresh(self, now: datetime) -> Prices:
        """Prices as they are now, the very same value when none changed; what cannot be fetched stays as it was."""
        known = self.prices
        on_demand, spot = concurrently.both(
            lambda: self._on_demand_now(known.on_demand, now),
            lambda: self._spot_now(known.spot, now),
        )
        if on_demand != known.on_demand or spot != known.spot:
            self.prices = Prices(on_demand=on_demand, spot=spot)
        return self.prices

    def _on_demand_now(self, known: Mapping[str, float], now: datetime) -> Mapping[str, float]:
        is_asked = not (self.isolated or self.session.region.startswith("us-gov-"))
        if not is_asked or not self._on_demand.is_due(now):
            return known
        try:
            found = {**known, **_on_demand(self.session)}
        except errors.CloudError as error:
            _say("on-demand", error, len(known), self._on_demand.failed(now))
            return known
        self._on_demand.done(now)
        return found

    def _spot_now(
        self, known: Mapping[tuple[str, str], float] | None, now: datetime
    ) -> Mapping[tuple[str, str], float] | None:
        if not self._spot.is_due(now):
            return known
        try:
            found = {**(known or {}), **_spot(self.session, now)}
        except errors.CloudError as error:
            _say("spot", error, len(known or ()), self._spot.failed(now))
            return known
        self._spot.done(now)
        return found


def _say(what: str, error: errors.CloudError, known: int, pause: timedelta) -> None:
    _log.warning(
        "prices not refreshed",
        prices=what,
        known=known,
        error=str(error),
        again_in_seconds=pause.total_seconds(),
    )


def _on_demand(session: Session) -> dict[str, float]:
    shared = _products(session, tenancy="Shared", productFamily="Compute Instance")
    metal = _products(session, tenancy="Dedicated", productFamily="Compute Instance (bare metal)")
    if not (shared and metal):
        raise errors.Unreachable(
            f"the Pricing API lists {len(shared)} prices of {session.region} and {len(metal)} of bare metal; "
            "what was known before stays"
        )
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
    if not newest:
        raise errors.Unreachable(f"EC2 of {session.region} lists no spot price")
    return {key: price for key, (_, price) in newest.items()}


def _api_region(region: str) -> str:
    """The region whose Pricing API is nearest; only a few have one."""
    near = {"ap": "ap-south-1", "cn": "cn-northwest-1", "eu": "eu-central-1"}
    return near.get(region.partition("-")[0], "us-east-1")
