"""What machines of EC2 give to pods: each resource, each AMI family, each setting of the node class that changes it.

Source: Karpenter AWS v1.14.1, pkg/providers/instancetype/suite_test.go and types.go (capacity, kube reserved, system
reserved, eviction thresholds, pods, ephemeral storage, accelerators); the table of limits of Amazon's VPC resource
controller v1.8.2 (branch interfaces). The types are those of Karpenter's own suite, as far as moto describes them.
"""

from typing import Any

import pytest
from tests.conformance import ec2_facts
from tests.unit.daiku_edge import aws_facts

from daiku.cloud.aws import capacity

MIB = 2**20
GIB = 2**30


def _sizing(**spec: Any) -> capacity.Sizing:
    return capacity.sizing_of(
        aws_facts.node_class(**spec), memory_overhead=0.075, reserved_interfaces=0
    )


GPU, NEURON, CORE = "nvidia.com/gpu", "aws.amazon.com/neuron", "aws.amazon.com/neuroncore"
EFA, BRANCH = "vpc.amazonaws.com/efa", "vpc.amazonaws.com/pod-eni"
ADDRESS = "vpc.amazonaws.com/PrivateIPv4Address"

TYPES: dict[str, tuple[int, int, int, int, int, int, dict[str, int]]] = {
    "c6g.large": (2000, 3729, 29, 70, 0, 9, {BRANCH: 9}),
    "g4dn.8xlarge": (32000, 121241, 58, 150, 900, 14, {GPU: 1, EFA: 1, BRANCH: 58}),
    "g5.12xlarge": (48000, 181862, 737, 190, 3800, 49, {GPU: 4, EFA: 1, BRANCH: 107}),
    "inf2.xlarge": (4000, 15155, 58, 80, 0, 14, {NEURON: 1, CORE: 2, BRANCH: 18}),
    "inf2.24xlarge": (96000, 363724, 737, 310, 0, 49, {NEURON: 6, CORE: 12, BRANCH: 107}),
    "m5.large": (2000, 7577, 29, 70, 0, 9, {BRANCH: 9}),
    "m5.metal": (96000, 363724, 737, 310, 0, 49, {BRANCH: 120}),
    "m5.xlarge": (4000, 15155, 58, 80, 0, 14, {BRANCH: 18}),
    "m6idn.32xlarge": (128000, 484966, 394, 390, 7600, 49, {EFA: 2, BRANCH: 106}),
    "m7i-flex.large": (2000, 7577, 29, 70, 0, 9, {BRANCH: 3}),
    "p5.48xlarge": (192000, 1939865, 100, 550, 30400, 49, {GPU: 8, EFA: 32, BRANCH: 120}),
    "t3.large": (2000, 7577, 35, 70, 0, 11, {}),
    "t4g.small": (2000, 1835, 11, 70, 0, 3, {}),
    "t4g.medium": (2000, 3729, 17, 70, 0, 5, {}),
    "t4g.xlarge": (4000, 15096, 58, 80, 0, 14, {}),
    "trn1.2xlarge": (8000, 30310, 58, 90, 474, 14, {NEURON: 1, CORE: 2, BRANCH: 17}),
}
"""Millicores, MiB, pods by interfaces, millicores reserved, local disks in GB, secondary addresses, more."""

FAMILIES: dict[str, tuple[bool, bool, int]] = {
    "AL2": (True, True, 20),
    "AL2023": (True, True, 20),
    "Custom": (True, True, 20),
    "Bottlerocket": (True, False, 20),
    "Windows2019": (False, False, 50),
    "Windows2022": (False, False, 50),
    "Windows2025": (False, False, 50),
}
"""Pods are limited by interfaces; memory is reserved for as many as those allow; GiB of the disk for pods."""


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("name", TYPES)
def test_capacity_and_overhead_of_a_type_in_a_family(name: str, family: str) -> None:
    by_interfaces, reserved_for_all, disk = FAMILIES[family]
    cpu, memory, pods, reserved, _, addresses, more = TYPES[name]
    facts, sizing = ec2_facts.of(name), _sizing(amiFamily=family, kubelet={"maxPods": None})
    taken = pods if by_interfaces else 110

    has = capacity.capacity(facts, sizing)

    windows = {ADDRESS: addresses} if family.startswith("Windows") else {}
    assert has == {
        "cpu": cpu,
        "memory": memory * MIB,
        "pods": taken,
        "ephemeral-storage": disk * GIB,
        **more,
        **windows,
    }
    assert capacity.overhead(facts, sizing, has) == {
        "cpu": reserved,
        "memory": (11 * (pods if reserved_for_all else taken) + 255 + 100) * MIB,
        "ephemeral-storage": GIB + disk * GIB // 10,
    }


@pytest.mark.parametrize("name", TYPES)
def test_local_disks_joined_are_the_room_of_pods(name: str) -> None:
    disks = TYPES[name][4]

    has = capacity.capacity(ec2_facts.of(name), _sizing(instanceStorePolicy="RAID0"))

    assert has["ephemeral-storage"] == (disks * 10**9 if disks else 20 * GIB)


@pytest.mark.parametrize(
    ("name", "branches"),
    [
        ("a1.medium", 10), ("a1.xlarge", 18), ("c5n.18xlarge", 107), ("g4dn.xlarge", 39), ("g5.xlarge", 4),
        ("g5.8xlarge", 84), ("g5.48xlarge", 115), ("g6.8xlarge", 84), ("hpc7g.4xlarge", 118), ("i3.16xlarge", 0),
        ("i4i.xlarge", 6), ("i4i.32xlarge", 120), ("i7ie.3xlarge", 27), ("m4.large", 0), ("m5.2xlarge", 38),
        ("m5.4xlarge", 54), ("m5.12xlarge", 54), ("m5.24xlarge", 107), ("m6g.medium", 4), ("m6g.8xlarge", 54),
        ("m6g.12xlarge", 54), ("m6i.8xlarge", 84), ("m6i.12xlarge", 114), ("m6i.32xlarge", 107),
        ("m7i-flex.4xlarge", 34), ("m8i.96xlarge", 98), ("m8g.48xlarge", 107),
        ("p4d.24xlarge", 62), ("t2.large", 0), ("t8i.small", 0), ("trn1.32xlarge", 82), ("trn2.48xlarge", 0),
        ("u-6tb1.112xlarge", 0), ("u7i-12tb.224xlarge", 107), ("vt1.3xlarge", 38), ("x1e.xlarge", 0),
        ("x2iedn.xlarge", 11), ("z1d.2xlarge", 58),
    ],
)  # fmt: skip
def test_branch_interfaces_are_those_of_the_published_table(name: str, branches: int) -> None:
    assert ec2_facts.of(name).extended.get(BRANCH, 0) == branches


@pytest.mark.parametrize(
    ("gpus", "extended"),
    [
        ([("NVIDIA", 1)], {"nvidia.com/gpu": 1}),
        ([("AMD", 4)], {"amd.com/gpu": 4}),
        ([("Habana", 8)], {"habana.ai/gaudi": 8}),
        ([("NVIDIA", 1), ("NVIDIA", 2), ("AMD", 1)], {"nvidia.com/gpu": 3, "amd.com/gpu": 1}),
        ([("nvidia", 1)], {}),
        ([("Somebody", 1)], {}),
    ],
)
def test_gpus_are_counted_by_who_made_them(
    gpus: list[tuple[str, int]], extended: dict[str, int]
) -> None:
    listed = [{"Manufacturer": maker, "Count": count} for maker, count in gpus]

    found = ec2_facts.described("t3.large", GpuInfo={"Gpus": listed})

    assert found.extended == extended


def test_hugepages_are_no_capacity_of_a_type() -> None:
    """Source: Karpenter computes none; only a NodeOverlay may add them."""
    has = capacity.capacity(ec2_facts.of("m5.large"), _sizing())

    assert not any(resource.startswith("hugepages-") for resource in has)
