"""Capacity that is paid for already, and placement groups, against the stand-in AWS: found, offered, used, used up."""

import datetime as dt
from collections.abc import Generator
from dataclasses import replace
from typing import Any

import pytest
from tests import build
from tests.world import aws_account, node_classes
from tests.world.node_classes import NOW, Aws

from daiku.cloud import errors
from daiku.cloud.aws import status
from daiku.model import labels
from daiku.model.instance_type import InstanceType, LaunchOption
from daiku.model.nodeclass import NodeClass

pytestmark = pytest.mark.world

ZONE = "us-west-2a"
ID = "karpenter.k8s.aws/capacity-reservation-id"


@pytest.fixture(scope="module")
def aws(tmp_path_factory: pytest.TempPathFactory) -> Generator[Aws]:
    with node_classes.running(tmp_path_factory.mktemp("aws") / "world") as running:
        # A launch needs to know the types of the region.
        running.provider.catalogue([], 1)
        yield running


def _reserve(aws: Aws, count: int = 1, **fields: Any) -> str:
    made = aws.account.client("ec2").create_capacity_reservation(
        InstanceType="m5.large",
        InstancePlatform="Linux/UNIX",
        AvailabilityZone=ZONE,
        InstanceCount=count,
        **fields,
    )
    return made["CapacityReservation"]["CapacityReservationId"]


def _tagged(name: str) -> dict[str, Any]:
    tags = [{"Key": "for", "Value": name}]
    return {"TagSpecifications": [{"ResourceType": "capacity-reservation", "Tags": tags}]}


def _listed(aws: Aws, *terms: dict[str, Any]) -> list[dict[str, Any]]:
    found = aws.node_class(capacityReservationSelectorTerms=list(terms))
    return list(status.resolve(aws.provider, found, NOW).fields["capacityReservations"])


def _m5(aws: Aws, found: NodeClass) -> InstanceType:
    catalogue = aws.provider.catalogue([found], 1)
    return next(t for t in catalogue.instance_types[found.ref] if t.name == "m5.large")


def _launch(aws: Aws, found: NodeClass, name: str, way: str = labels.RESERVED) -> Any:
    option = LaunchOption(
        instance_type="m5.large", zone=ZONE, capacity_type=way, price_usd_per_hour=0.0
    )
    return aws.provider.launch(node_classes.claim(name), found, [option])


def test_reservations_are_found_by_id_tags_owner_and_criteria(aws: Aws) -> None:
    first = _reserve(aws, **_tagged("finding"), InstanceMatchCriteria="targeted")
    second = _reserve(aws, **_tagged("finding"))
    account = aws.account.world.account

    def ids(*terms: dict[str, Any]) -> list[str]:
        return [each["id"] for each in _listed(aws, *terms)]

    assert ids({"id": first}) == [first]
    assert ids({"id": first}, {"id": "cr-0000"}) == [first]
    assert ids({"id": "cr-0000"}) == []
    assert ids({"tags": {"for": "finding"}}) == sorted([first, second])
    assert ids({"tags": {"for": "finding"}, "instanceMatchCriteria": "open"}) == [second]
    assert ids({"tags": {"for": "finding"}, "ownerID": account}) == sorted([first, second])
    assert ids({"tags": {"for": "finding"}, "ownerID": "000000000000"}) == []


def test_the_status_says_what_a_reservation_is(aws: Aws) -> None:
    made = _reserve(aws, InstanceMatchCriteria="targeted")

    (listed,) = _listed(aws, {"id": made})

    assert listed == {
        "id": made,
        "availabilityZone": ZONE,
        "instanceType": "m5.large",
        "instanceMatchCriteria": "targeted",
        "ownerID": aws.account.world.account,
        "reservationType": "default",
        "interruptible": False,
        "state": "active",
    }


def test_a_cancelled_reservation_is_not_listed(aws: Aws) -> None:
    made = _reserve(aws)

    aws.account.client("ec2").cancel_capacity_reservation(CapacityReservationId=made)

    assert _listed(aws, {"id": made}) == []


def test_a_reservation_is_offered_launched_in_and_used_up(aws: Aws) -> None:
    made = _reserve(aws, count=1, InstanceMatchCriteria="targeted")
    found = aws.ready(capacityReservationSelectorTerms=[{"id": made}])

    def offered() -> Any:
        (one,) = [o for o in _m5(aws, found).offerings if o.capacity_type == labels.RESERVED]
        return one

    before = offered()
    launched = _launch(aws, found, "in-it")
    after = offered()
    with pytest.raises(errors.InsufficientCapacity) as refused:
        _launch(aws, found, "too-late")

    assert before.available
    assert before.zone == ZONE
    assert 0 < before.price_usd_per_hour < 0.000001
    instance = aws_account.instance(aws.account, launched.provider_id.rpartition("/")[2])
    assert instance["CapacityReservationId"] == made
    assert launched.capacity_type == labels.RESERVED
    assert launched.labels[ID] == made
    assert launched.labels["karpenter.k8s.aws/capacity-reservation-type"] == "default"
    assert not after.available
    assert refused.value.sold_out == (("m5.large", ZONE, "reserved"),)
    assert refused.value.code == "ReservationCapacityExceeded"


def test_a_pod_that_asks_for_the_reservation_gets_nothing_else(aws: Aws) -> None:
    made = _reserve(aws)
    found = aws.ready(capacityReservationSelectorTerms=[{"id": made}])

    m5 = _m5(aws, found)

    assert m5.requirements.get(ID).sorted_values() == (made,)
    for offering in m5.offerings:
        reserved = offering.capacity_type == labels.RESERVED
        assert offering.requirements.get(ID).has(made) is reserved
    assert m5.requirements.get(labels.CAPACITY_TYPE).sorted_values() == (
        "on-demand",
        "reserved",
        "spot",
    )


def test_a_machine_outside_reservations_leaves_open_ones_alone(aws: Aws) -> None:
    made = _reserve(aws)
    found = aws.ready(capacityReservationSelectorTerms=[{"id": made}])

    launched = _launch(aws, found, "outside", labels.ON_DEMAND)

    instance = aws_account.instance(aws.account, launched.provider_id.rpartition("/")[2])
    specification = instance["CapacityReservationSpecification"]
    assert specification["CapacityReservationPreference"] == "none"
    assert "CapacityReservationId" not in instance


def test_without_the_gate_reservations_are_not_looked_for(aws: Aws) -> None:
    made = _reserve(aws)
    options = replace(aws.provider.options, reserved_capacity=False)
    before = aws.account.ask("GET", "/_usage").get("ec2:DescribeCapacityReservations", 0)
    found = aws.node_class(capacityReservationSelectorTerms=[{"id": made}])

    resolved = status.resolve(replace(aws.provider, options=options), found, NOW)

    after = aws.account.ask("GET", "/_usage").get("ec2:DescribeCapacityReservations", 0)
    assert (resolved.conditions[-1].status, after) == ("True", before)
    assert "CapacityReservationsReady" not in {c.type for c in resolved.conditions}


def _block(aws: Aws, *, ends_in_minutes: float, kind: str = "p5.48xlarge") -> dict[str, Any]:
    """A capacity block of a day that began so long ago that it ends then."""
    ec2 = aws.account.client("ec2")
    ends = dt.datetime.now(dt.UTC) + dt.timedelta(minutes=ends_in_minutes)  # noqa: TID251 - the stand-in's clock
    offered = ec2.describe_capacity_block_offerings(
        InstanceType=kind,
        InstanceCount=1,
        StartDateRange=ends - dt.timedelta(hours=24),
        CapacityDurationHours=24,
    )["CapacityBlockOfferings"]
    return ec2.purchase_capacity_block(
        CapacityBlockOfferingId=offered[0]["CapacityBlockOfferingId"],
        InstancePlatform="Linux/UNIX",
    )["CapacityReservation"]


def test_a_capacity_block_is_launched_in_as_the_market_of_its_own_that_it_is(aws: Aws) -> None:
    made = _block(aws, ends_in_minutes=600)
    zone = made["AvailabilityZone"]
    found = aws.ready(capacityReservationSelectorTerms=[{"id": made["CapacityReservationId"]}])
    option = LaunchOption(
        instance_type="p5.48xlarge", zone=zone, capacity_type="reserved", price_usd_per_hour=0.0
    )

    launched = aws.provider.launch(node_classes.claim("in-block"), found, [option])

    assert launched.labels["karpenter.k8s.aws/capacity-reservation-type"] == "capacity-block"
    instance = aws_account.instance(aws.account, launched.provider_id.rpartition("/")[2])
    assert instance["CapacityReservationId"] == made["CapacityReservationId"]
    (listed,) = [i for i in aws.provider.list_instances() if i.node_claim == "in-block"]
    assert listed.reserved


def test_a_capacity_block_near_its_end_takes_no_new_machine(aws: Aws) -> None:
    made = _block(aws, ends_in_minutes=35)
    now = dt.datetime.now(dt.UTC)  # noqa: TID251 - the stand-in's clock
    found = aws.node_class(capacityReservationSelectorTerms=[{"id": made["CapacityReservationId"]}])

    (early,) = status.resolve(aws.provider, found, now - dt.timedelta(minutes=10)).fields[
        "capacityReservations"
    ]
    (late,) = status.resolve(aws.provider, found, now).fields["capacityReservations"]
    over = status.resolve(aws.provider, found, now + dt.timedelta(hours=1))

    assert (early["state"], late["state"]) == ("active", "expiring")
    assert early["endTime"] == f"{made['EndDate']:%Y-%m-%dT%H:%M:%SZ}"
    assert over.fields["capacityReservations"] == []


def test_a_machine_whose_reservation_is_cancelled_is_listed_as_an_ordinary_one(aws: Aws) -> None:
    made = _reserve(aws, InstanceMatchCriteria="targeted")
    found = aws.ready(capacityReservationSelectorTerms=[{"id": made}])
    _launch(aws, found, "left-behind")

    def reserved() -> bool:
        (one,) = [i for i in aws.provider.list_instances() if i.node_claim == "left-behind"]
        return one.reserved

    assert reserved()
    aws.account.client("ec2").cancel_capacity_reservation(CapacityReservationId=made)
    assert not reserved()


def test_of_reservations_of_two_kinds_one_call_asks_for_one(aws: Aws) -> None:
    plain = _reserve(aws, InstanceMatchCriteria="targeted")
    block = _block(aws, ends_in_minutes=600)
    ids = [{"id": plain}, {"id": block["CapacityReservationId"]}]
    found = aws.ready(capacityReservationSelectorTerms=ids)
    zones = {"m5.large": ZONE, "p5.48xlarge": block["AvailabilityZone"]}

    def launch(name: str, **prices: float) -> str:
        options = [
            LaunchOption(
                instance_type=kind, zone=zone, capacity_type="reserved", price_usd_per_hour=price
            )
            for (kind, zone), price in zip(zones.items(), prices.values(), strict=True)
        ]
        return aws.provider.launch(node_classes.claim(name), found, options).instance_type

    assert launch("cheap-plain", plain=0.00000001, block=0.00001) == "m5.large"
    assert launch("cheap-block", plain=0.00001, block=0.00000001) == "p5.48xlarge"


def test_a_machine_of_a_partitioned_group_is_where_its_claim_says(aws: Aws) -> None:
    aws.account.client("ec2").create_placement_group(
        GroupName="apart", Strategy="partition", PartitionCount=3
    )
    found = aws.ready(placementGroupSelector={"name": "apart"})
    label = "karpenter.k8s.aws/placement-group-partition"
    option = LaunchOption(
        instance_type="m5.large", zone=ZONE, capacity_type="on-demand", price_usd_per_hour=0.1
    )

    types = {t.name: t for t in aws.provider.catalogue([found], 1).instance_types[found.ref]}
    asked = replace(
        node_classes.claim("second"), requirements=build.needs(build.require(label, "In", "2"))
    )
    second = aws.provider.launch(asked, found, [option])
    anywhere = [
        aws.provider.launch(node_classes.claim(f"any-{n}"), found, [option]) for n in range(6)
    ]

    assert types["m5.large"].requirements.get(label).sorted_values() == ("1", "2", "3")
    assert second.labels[label] == "2"
    for launched in (second, *anywhere):
        instance = aws_account.instance(aws.account, launched.provider_id.rpartition("/")[2])
        assert str(instance["Placement"]["PartitionNumber"]) == launched.labels[label]
    assert len({launched.labels[label] for launched in anywhere}) > 1


def test_a_placement_group_is_found_and_its_machines_are_in_it(aws: Aws) -> None:
    made = aws.account.client("ec2").create_placement_group(GroupName="near", Strategy="cluster")
    group = made["PlacementGroup"]["GroupId"]
    found = aws.ready(placementGroupSelector={"name": "near"})

    types = {t.name: t for t in aws.provider.catalogue([found], 1).instance_types[found.ref]}
    launched = _launch(aws, found, "near-1", labels.ON_DEMAND)

    label = "karpenter.k8s.aws/placement-group-id"
    assert types["m5.large"].requirements.get(label).sorted_values() == (group,)
    assert not any(o.available for o in types["t3.large"].offerings)
    assert launched.labels[label] == group
    instance = aws_account.instance(aws.account, launched.provider_id.rpartition("/")[2])
    assert instance["Placement"]["GroupId"] == group


def test_a_placement_group_that_is_not_there_is_a_condition(aws: Aws) -> None:
    conditions = aws.resolve(aws.node_class(placementGroupSelector={"id": "pg-0"}))

    assert conditions["PlacementGroupReady"].reason == "PlacementGroupNotFound"
    assert "'pg-0'" in conditions["Ready"].message
