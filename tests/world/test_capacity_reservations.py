"""Capacity that is paid for already, and placement groups, against the stand-in AWS: found, offered, used, used up."""

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
from daiku.model.nodeclaim import NodeClaim
from daiku.model.nodeclass import NodeClass

pytestmark = pytest.mark.world

ZONE = "us-west-2a"
ID = "karpenter.k8s.aws/capacity-reservation-id"


@pytest.fixture(scope="module")
def aws(tmp_path_factory: pytest.TempPathFactory) -> Generator[Aws]:
    with node_classes.running(tmp_path_factory.mktemp("aws") / "world") as running:
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


def _claim(name: str) -> NodeClaim:
    return build.node_claim(name, launched=False)


def _launch(aws: Aws, found: NodeClass, name: str, way: str = labels.RESERVED) -> Any:
    option = LaunchOption(
        instance_type="m5.large", zone=ZONE, capacity_type=way, price_usd_per_hour=0.0
    )
    return aws.provider.launch(_claim(name), found, [option])


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
