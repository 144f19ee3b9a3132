"""A zone that the cluster is shifted away from is left alone while the shift lasts.

Source: ARC's GetManagedResource; Karpenter's reading of it.
"""

import datetime as dt
from typing import Any

from tests.unit.daiku_edge import aws_facts

from daiku.cloud.aws import capacity, zonal_shift
from daiku.cloud.aws.measured import Measured
from daiku.cloud.aws.offerings import Moment, Offerings
from daiku.cloud.aws.pricing import Prices

NOW = dt.datetime(2026, 11, 20, tzinfo=dt.UTC)
HOUR = dt.timedelta(hours=1)
SHIFTS = (
    ("usw2-az1", "APPLIED", NOW + HOUR),
    ("usw2-az2", "NOT_APPLIED", NOW + HOUR),
    ("usw2-az3", "APPLIED", NOW),
)


class Arc:
    """Zonal shift as far as it is asked."""

    def call(self, service: str, operation: str, **asked: str) -> dict[str, Any]:
        assert (service, operation) == ("arc-zonal-shift", "get_managed_resource")
        assert asked == {"resourceIdentifier": "arn:cluster"}
        rows = [
            {"awayFrom": zone, "appliedStatus": applied, "expiryTime": ends}
            for zone, applied, ends in SHIFTS
        ]
        return {"zonalShifts": rows}


def test_a_shift_counts_while_it_is_applied_and_not_over() -> None:
    arc: Any = Arc()

    assert zonal_shift.away_from(arc, "arn:cluster", NOW) == {"usw2-az1"}


def test_nothing_is_for_sale_in_a_zone_that_the_cluster_is_shifted_away_from() -> None:
    found = aws_facts.node_class()
    sizing = capacity.sizing_of(found, memory_overhead=0.075, reserved_interfaces=0)
    prices = Prices(on_demand={"m5.large": 0.096})

    (made,) = Offerings("us-west-2", Measured()).make(
        {"m5.large": aws_facts.facts()},
        prices,
        found,
        sizing,
        Moment(shifted=frozenset({"usw2-az2"})),
    )

    available = {o.zone: o.available for o in made.offerings if o.capacity_type == "on-demand"}
    assert available == {"us-west-2a": False, "us-west-2b": True}
