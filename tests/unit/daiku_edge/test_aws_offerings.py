"""Instance types as a node class would run them: where, how, at which price, and what is shared."""

from dataclasses import replace

from tests.unit.daiku_edge import aws_facts

from daiku.cloud.aws import capacity
from daiku.cloud.aws.instance_types import Facts
from daiku.cloud.aws.offerings import Offerings
from daiku.cloud.aws.pricing import Prices, estimate
from daiku.model import labels
from daiku.model.instance_type import InstanceType
from daiku.model.nodeclass import NodeClass

PRICES = Prices(on_demand={"m5.large": 0.096}, spot={("m5.large", "us-west-2a"): 0.031})


def _make(
    *types: Facts, prices: Prices = PRICES, node_class: NodeClass | None = None
) -> tuple[InstanceType, ...]:
    found = node_class or aws_facts.node_class()
    sizing = capacity.sizing_of(found, memory_overhead=0.075, reserved_interfaces=0)
    return Offerings("us-west-2").make({t.name: t for t in types}, prices, found, sizing)


def test_only_zones_with_a_subnet_are_on_offer() -> None:
    (made,) = _make(aws_facts.facts())

    assert made.requirements.get(labels.ZONE).sorted_values() == ("us-west-2a", "us-west-2b")


def test_a_zone_without_a_spot_price_sells_no_spot() -> None:
    (made,) = _make(aws_facts.facts())

    sold = [(o.zone, o.capacity_type, o.price_usd_per_hour) for o in made.offerings]
    assert sold == [
        ("us-west-2a", "on-demand", 0.096),
        ("us-west-2a", "spot", 0.031),
        ("us-west-2b", "on-demand", 0.096),
    ]


def test_before_any_spot_price_is_known_the_on_demand_price_stands_in() -> None:
    (made,) = _make(aws_facts.facts(), prices=replace(PRICES, spot=None))

    assert {o.price_usd_per_hour for o in made.offerings} == {0.096}


def test_a_type_without_a_price_is_estimated_so_that_larger_costs_more() -> None:
    small, large = aws_facts.facts(), aws_facts.facts("m5.4xlarge", 16, 65536)

    assert 0.07 < estimate(small) < 0.13
    assert estimate(large) > 7 * estimate(small)


def test_a_type_that_no_image_boots_is_not_for_sale() -> None:
    found = aws_facts.node_class()
    only_arm = replace(found, status={**aws_facts.STATUS, "amis": aws_facts.STATUS["amis"][:1]})

    x86, arm = _make(
        aws_facts.facts(), aws_facts.facts("m6g.large", architecture="arm64"), node_class=only_arm
    )

    assert not any(o.available for o in x86.offerings)
    assert all(o.available for o in arm.offerings)


def test_labels_that_a_type_does_not_have_do_not_exist() -> None:
    (made,) = _make(aws_facts.facts())

    gpu = made.requirements.get("karpenter.k8s.aws/instance-gpu-name")
    assert gpu.absent
    assert not gpu.has("t4")


def test_ways_to_buy_share_their_requirements_between_types() -> None:
    first, second = _make(aws_facts.facts(), aws_facts.facts("m5.xlarge", 4, 16384, 4, 15))

    assert first.offerings[0].requirements is second.offerings[0].requirements
