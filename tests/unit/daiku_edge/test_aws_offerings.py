"""Instance types as a node class would run them: where, how, at which price, and what is shared."""

from dataclasses import replace

from tests.unit.daiku_edge import aws_facts

from daiku.cloud.aws import capacity, list_prices
from daiku.cloud.aws.instance_types import Facts
from daiku.cloud.aws.measured import Measured
from daiku.cloud.aws.offerings import Offerings
from daiku.cloud.aws.pricing import Prices
from daiku.model import labels
from daiku.model.instance_type import InstanceType
from daiku.model.nodeclass import NodeClass

PRICES = Prices(on_demand={"m5.large": 0.096}, spot={("m5.large", "us-west-2a"): 0.031})


def _make(
    *types: Facts, prices: Prices = PRICES, node_class: NodeClass | None = None
) -> tuple[InstanceType, ...]:
    found = node_class or aws_facts.node_class()
    sizing = capacity.sizing_of(found, memory_overhead=0.075, reserved_interfaces=0)
    return Offerings("us-west-2", Measured()).make(
        {t.name: t for t in types}, prices, found, sizing
    )


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


def test_a_type_without_a_price_costs_what_the_list_says() -> None:
    small, large = aws_facts.facts(), aws_facts.facts("m5.4xlarge", 16, 65536)

    assert list_prices.of(small) == 0.096
    assert list_prices.of(large) == 0.768


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


def test_a_family_that_is_not_in_the_list_costs_more_with_size_and_accelerators() -> None:
    small, large = aws_facts.facts("q1.large"), aws_facts.facts("q1.4xlarge", 16, 65536)
    gpu = aws_facts.facts("q1.large", extended={"nvidia.com/gpu": 1})

    assert 0.07 < list_prices.of(small) < 0.13
    assert list_prices.of(large) > 7 * list_prices.of(small)
    assert list_prices.of(gpu) > list_prices.of(small) + 0.5


def test_memory_that_nodes_have_shown_is_preferred_to_the_estimate_for_their_image_only() -> None:
    measured = Measured()
    found, facts = aws_facts.node_class(), aws_facts.facts()
    sizing = capacity.sizing_of(found, memory_overhead=0.075, reserved_interfaces=0)
    offerings = Offerings("us-west-2", measured)

    def memory() -> int:
        (made,) = offerings.make({facts.name: facts}, PRICES, found, sizing)
        return made.capacity["memory"]

    estimate = memory()
    measured.note("m5.large", "ami-other", 1)
    assert memory() == estimate
    measured.note("m5.large", "ami-x86", 8_000_000_000)
    assert memory() == 8_000_000_000
    measured.note("m5.large", "ami-x86", 8_100_000_000)
    assert memory() == 8_000_000_000, "the least counts"
    assert memory() - 7_000_000_000 < estimate


def test_what_was_learned_changes_the_version_and_nothing_else_does() -> None:
    measured = Measured()
    measured.note("m5.large", "ami-1", 100)
    before = measured.version

    measured.note("m5.large", "ami-1", 200)
    assert measured.version == before
    measured.note("m5.large", "ami-1", 99)
    assert measured.version != before
