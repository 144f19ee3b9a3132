"""Which offerings a launch is given, filter by filter.

Source: Karpenter AWS v1.14.1, pkg/providers/instance/filter/filter_test.go (exotic and spot filters) and
pkg/providers/instance/suite_test.go (capacity type, truncation to 60 types); core's Truncate for minValues.
"""

from collections.abc import Sequence

import pytest
from tests import build

from daiku.lifecycle import choice
from daiku.model import labels
from daiku.model.instance_type import InstanceType, LaunchOption, Offering
from daiku.model.requirements import Requirements

FAMILY = "karpenter.k8s.aws/instance-family"


def kind(name: str, *offers: Offering, **extra: str) -> InstanceType:
    family, _, _ = name.partition(".")
    return build.instance_type(name, offerings=offers, extra=extra, extra_labels={FAMILY: family})


def offer(price: float, way: str = "on-demand", zone: str = "zone-a") -> Offering:
    return build.offering(price, zone, way)


def choose(
    types: Sequence[InstanceType],
    asked: Requirements | None = None,
    *,
    most: int = 60,
    strict: bool = True,
) -> list[tuple[str, str]]:
    """(type, capacity type) of what is launched, in its order."""
    found = [
        (
            t,
            LaunchOption(
                instance_type=t.name,
                zone=o.zone,
                capacity_type=o.capacity_type,
                price_usd_per_hour=o.price_usd_per_hour,
            ),
        )
        for t in types
        for o in t.offerings
    ]
    chosen = choice.choose(found, asked or build.needs(), most, strict=strict)
    return [(o.instance_type, o.capacity_type) for o in chosen]


PLAIN = kind("m5.large", offer(0.1))
METAL = kind("m5.metal", offer(0.05))
METAL_SIZED = kind("c7i.metal-24xl", offer(0.05))
GPU = kind("g5.xlarge", offer(0.05), **{"nvidia.com/gpu": "1"})
NEURON = kind("inf2.xlarge", offer(0.05), **{"aws.amazon.com/neuron": "1"})
GAUDI = kind("dl1.24xlarge", offer(0.05), **{"habana.ai/gaudi": "8"})
RADEON = kind("g4ad.xlarge", offer(0.05), **{"amd.com/gpu": "1"})


@pytest.mark.parametrize("exotic", [METAL, METAL_SIZED, GPU, NEURON, GAUDI, RADEON])
def test_an_exotic_type_is_left_out_however_cheap(exotic: InstanceType) -> None:
    assert choose([exotic, PLAIN]) == [("m5.large", "on-demand")]


@pytest.mark.parametrize("exotic", [METAL, METAL_SIZED, GPU, NEURON, GAUDI, RADEON])
def test_an_exotic_type_is_taken_when_nothing_else_would_do(exotic: InstanceType) -> None:
    assert choose([exotic]) == [(exotic.name, "on-demand")]


def test_exotic_types_stay_when_variety_is_asked_for() -> None:
    asked = build.needs(build.require(FAMILY, "Exists", min_values=2))

    assert {name for name, _ in choose([GPU, PLAIN], asked)} == {"g5.xlarge", "m5.large"}


SPOT_MIX = [
    kind("m5.large", offer(0.10), offer(0.04, "spot")),
    kind("m5.xlarge", offer(0.20), offer(0.08, "spot"), offer(0.11, "spot", "zone-b")),
    kind("m5.2xlarge", offer(0.40), offer(0.16, "spot")),
]


def test_spot_that_costs_more_than_the_cheapest_on_demand_is_left_out() -> None:
    assert choose(SPOT_MIX) == [("m5.large", "spot"), ("m5.xlarge", "spot")]


def test_spot_of_the_same_price_as_on_demand_stays() -> None:
    types = [kind("m5.large", offer(0.10), offer(0.10, "spot"))]

    assert choose(types) == [("m5.large", "spot")]


def test_when_all_spot_is_dearer_on_demand_is_taken() -> None:
    types = [kind("m5.large", offer(0.10), offer(0.12, "spot"))]

    assert choose(types) == [("m5.large", "on-demand")]


def test_dear_spot_stays_when_variety_is_asked_for() -> None:
    asked = build.needs(build.require(labels.INSTANCE_TYPE, "Exists", min_values=3))

    assert {name for name, _ in choose(SPOT_MIX, asked)} == {"m5.large", "m5.xlarge", "m5.2xlarge"}


def test_dear_spot_stays_when_on_demand_is_no_choice() -> None:
    types = [kind("m5.large", offer(0.12, "spot")), kind("m5.xlarge", offer(0.24, "spot"))]

    assert [name for name, _ in choose(types)] == ["m5.large", "m5.xlarge"]


@pytest.mark.parametrize(
    ("ways", "expected"),
    [
        (("on-demand",), "on-demand"),
        (("on-demand", "spot"), "spot"),
        (("on-demand", "spot", "reserved"), "reserved"),
    ],
)
def test_the_capacity_type_is(ways: Sequence[str], expected: str) -> None:
    offers = [offer(0.1 if way == "on-demand" else 0.05, way) for way in ways]

    assert choose([kind("m5.large", *offers)]) == [("m5.large", expected)]


MANY = [kind(f"m{n}.large", offer(0.1 + n / 1000)) for n in range(70)]


def test_the_cheapest_60_types_are_kept() -> None:
    assert [name for name, _ in choose(MANY)] == [f"m{n}.large" for n in range(60)]


def test_variety_that_is_asked_for_outlives_the_cut() -> None:
    odd = [kind("c9.large", offer(0.9)), kind("r9.large", offer(0.8))]
    cheap = [kind(f"m1.{n}xlarge", offer(0.1 + n / 1000)) for n in range(70)]
    asked = build.needs(build.require(FAMILY, "Exists", min_values=3))

    names = [name for name, _ in choose([*cheap, *odd], asked, most=10)]

    assert len(names) == 10
    assert names[-2:] == ["r9.large", "c9.large"]
    assert names[:8] == [f"m1.{n}xlarge" for n in range(8)]


@pytest.mark.parametrize(("strict", "count"), [(True, 0), (False, 1)])
def test_variety_that_cannot_be_had(strict: bool, count: int) -> None:
    """Source: MIN_VALUES_POLICY Strict and BestEffort."""
    asked = build.needs(build.require(FAMILY, "Exists", min_values=2))

    assert len(choose([PLAIN], asked, strict=strict)) == count


def test_variety_counts_only_values_that_are_asked_for() -> None:
    types = [
        kind("m5.large", offer(0.1)),
        kind("c5.large", offer(0.2)),
        kind("r5.large", offer(0.3)),
    ]
    asked = build.needs(build.require(FAMILY, "In", "m5", "r5", min_values=2))

    assert [name for name, _ in choose(types, asked, most=2)] == ["m5.large", "r5.large"]
