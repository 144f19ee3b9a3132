"""The Pricing API: GetProducts for EC2's on-demand instances on Linux.

The price list is the estimate of `prices`; the form is AWS's: each product is a JSON text with its
attributes and its terms. Other services and operating systems have no products here.
"""

import functools
import hashlib
import json
from typing import Any

from daiku_local.aws.cloud import Asked, Cloud
from daiku_local.aws.ec2 import facts
from daiku_local.aws.errors import AwsError

SERVICE = "AmazonEC2"
PAGE = 100
PUBLISHED = "2026-11-01T00:00:00Z"


def get_products(cloud: Cloud, asked: Asked) -> dict[str, Any]:
    """GetProducts."""
    if asked.get("ServiceCode") != SERVICE:
        raise AwsError("NotFoundException", f"no products of {asked.get('ServiceCode')!r} here")
    products = _products(cloud.world.region)
    for entry in asked.get("Filters", []):
        if entry["Type"] != "TERM_MATCH":
            raise AwsError(
                "InvalidParameterException", f"filter type {entry['Type']!r} is not played"
            )
        field, value = entry["Field"], entry["Value"]
        products = [one for one in products if _attribute(one, field) == value.lower()]
    size = min(int(asked.get("MaxResults") or PAGE), PAGE)
    first = int(asked.get("NextToken") or 0)
    page = [json.dumps(product) for product in products[first : first + size]]
    result: dict[str, Any] = {"FormatVersion": "aws_v1", "PriceList": page}
    if first + size < len(products):
        result["NextToken"] = str(first + size)
    return result


def _attribute(product: dict[str, Any], field: str) -> str:
    if field == "productFamily":
        return str(product["product"]["productFamily"]).lower()
    attributes: dict[str, str] = product["product"]["attributes"]
    return attributes.get("servicecode" if field == "serviceCode" else field, "").lower()


@functools.cache
def _products(region: str) -> list[dict[str, Any]]:
    return [_product(region, name) for name in sorted(facts.zones_of(region))]


def _product(region: str, name: str) -> dict[str, Any]:
    known = facts.description(name) or {}
    metal = ".metal" in name
    sku = hashlib.sha256(f"{region}{name}".encode()).hexdigest()[:16].upper()
    attributes = {
        "servicecode": SERVICE,
        "servicename": "Amazon Elastic Compute Cloud",
        "regionCode": region,
        "locationType": "AWS Region",
        "instanceType": name,
        "vcpu": str(known["VCpuInfo"]["DefaultVCpus"]),
        "memory": f"{known['MemoryInfo']['SizeInMiB'] / 1024:g} GiB",
        "operatingSystem": "Linux",
        "preInstalledSw": "NA",
        "licenseModel": "No License required",
        "capacitystatus": "Used",
        "marketoption": "OnDemand",
        "tenancy": "Dedicated" if metal else "Shared",
        "operation": "RunInstances",
        "usagetype": f"BoxUsage:{name}",
    }
    family = "Compute Instance (bare metal)" if metal else "Compute Instance"
    term, rate = f"{sku}.JRTCKXETXF", f"{sku}.JRTCKXETXF.6YS6EN2CT7"
    price = f"{facts.on_demand_usd(name):.10f}"
    dimension: dict[str, Any] = {
        "unit": "Hrs",
        "description": f"${price} per On Demand Linux {name} Instance Hour (estimate)",
        "rateCode": rate,
        "beginRange": "0",
        "endRange": "Inf",
        "appliesTo": [],
        "pricePerUnit": {"USD": price},
    }
    offer: dict[str, Any] = {
        "sku": sku,
        "offerTermCode": "JRTCKXETXF",
        "effectiveDate": PUBLISHED,
        "termAttributes": {},
        "priceDimensions": {rate: dimension},
    }
    return {
        "product": {"sku": sku, "productFamily": family, "attributes": attributes},
        "serviceCode": SERVICE,
        "terms": {"OnDemand": {term: offer}},
        "version": "20261101000000",
        "publicationDate": PUBLISHED,
    }


HANDLERS = {"GetProducts": get_products}
