"""What instance types give to pods, and their labels, as Karpenter documents them for AL2023 with its defaults.

Source: the reference page "Instance Types" of Karpenter's documentation, column by column; the facts that they follow
from are EC2's own answers, as moto ships them. `vpc.amazonaws.com/pod-eni` has a table of its own in
test_instance_capacity.
"""

import pytest
from tests.conformance import ec2_facts
from tests.unit.daiku_edge import aws_facts

from daiku.cloud.aws import branch_interfaces, capacity, instance_types
from daiku.cloud.aws.instance_types import Facts

GIB, MIB = 2**30, 2**20
GPU, EFA = "nvidia.com/gpu", "vpc.amazonaws.com/efa"
PREFIX = instance_types.PREFIX

ALLOCATABLE: dict[str, tuple[int, int, int, dict[str, int]]] = {
    "r6g.medium": (940, 7075, 8, {}),
    "r6g.large": (1930, 14422, 29, {}),
    "r6g.xlarge": (3920, 29258, 58, {}),
    "r6g.2xlarge": (7910, 59568, 58, {}),
    "r6g.4xlarge": (15890, 118253, 234, {}),
    "r6g.8xlarge": (31850, 239495, 234, {}),
    "r6g.12xlarge": (47810, 360736, 234, {}),
    "r6g.16xlarge": (63770, 476445, 737, {}),
    "r6g.metal": (63770, 476445, 737, {}),
    "g5g.4xlarge": (15890, 27322, 234, {GPU: 1}),
    "g5g.16xlarge": (63770, 112720, 737, {GPU: 2}),
    "g6.xlarge": (3920, 14162, 58, {GPU: 1}),
    "g6.2xlarge": (7910, 29317, 58, {GPU: 1}),
    "g6.4xlarge": (15890, 57691, 234, {GPU: 1}),
    "g6.8xlarge": (31850, 118312, 234, {GPU: 1, EFA: 1}),
    "g6.12xlarge": (47810, 178933, 234, {GPU: 4, EFA: 1}),
    "g6.16xlarge": (63770, 234021, 737, {GPU: 1, EFA: 1}),
    "g6.24xlarge": (95690, 355262, 737, {GPU: 4, EFA: 1}),
    "g6.48xlarge": (191450, 718987, 737, {GPU: 8, EFA: 1}),
    "r6a.metal": (191450, 1446437, 737, {EFA: 1}),
}
"""Millicores, MiB, pods, and everything besides."""

LABELS: dict[str, dict[str, str]] = {
    "r6g.medium": {
        "category": "r", "cpu": "1", "cpu-manufacturer": "aws", "cpu-sustained-clock-speed-mhz": "2500",
        "ebs-bandwidth": "4750", "encryption-in-transit-supported": "false", "family": "r6g", "generation": "6",
        "hypervisor": "nitro", "memory": "8192", "network-bandwidth": "500", "size": "medium",
    },
    "r6gd.4xlarge": {
        "category": "r", "cpu": "16", "cpu-manufacturer": "aws", "cpu-sustained-clock-speed-mhz": "2500",
        "ebs-bandwidth": "4750", "encryption-in-transit-supported": "false", "family": "r6gd", "generation": "6",
        "hypervisor": "nitro", "local-nvme": "950", "memory": "131072", "network-bandwidth": "5000", "size": "4xlarge",
    },
    "r6g.metal": {
        "category": "r", "cpu": "64", "cpu-manufacturer": "aws", "cpu-sustained-clock-speed-mhz": "2500",
        "ebs-bandwidth": "19000", "encryption-in-transit-supported": "false", "family": "r6g", "generation": "6",
        "hypervisor": "", "memory": "524288", "network-bandwidth": "25000", "size": "metal",
    },
    "g5g.16xlarge": {
        "category": "g", "cpu": "64", "cpu-manufacturer": "aws", "cpu-sustained-clock-speed-mhz": "2500",
        "ebs-bandwidth": "19000", "encryption-in-transit-supported": "false", "family": "g5g", "generation": "5",
        "gpu-count": "2", "gpu-manufacturer": "nvidia", "gpu-memory": "16384", "gpu-name": "t4g",
        "hypervisor": "nitro", "memory": "131072", "network-bandwidth": "25000", "size": "16xlarge",
    },
    "g6.12xlarge": {
        "category": "g", "cpu": "48", "cpu-manufacturer": "amd", "cpu-sustained-clock-speed-mhz": "3400",
        "ebs-bandwidth": "20000", "encryption-in-transit-supported": "true", "family": "g6", "generation": "6",
        "gpu-count": "4", "gpu-manufacturer": "nvidia", "gpu-memory": "22888", "gpu-name": "l4",
        "hypervisor": "nitro", "local-nvme": "3760", "memory": "196608", "network-bandwidth": "40000",
        "size": "12xlarge",
    },
}  # fmt: skip
"""Labels of karpenter.k8s.aws without "instance-"."""
SINCE: dict[str, str] = {"capability-flex": "false"}
"""Labels that are newer than the page."""

ACCELERATORS: dict[str, dict[str, str]] = {
    "inf1.xlarge": {"name": "inferentia", "manufacturer": "aws", "count": "1"},
    "inf2.24xlarge": {"name": "inferentia2", "manufacturer": "aws", "count": "6"},
    "trn1.2xlarge": {"name": "trainium", "manufacturer": "aws", "count": "1"},
}


def _labels(facts: Facts, kind: str) -> dict[str, str]:
    start = f"{PREFIX}{kind}-"
    return {k.removeprefix(start): v for k, v in facts.labels.items() if k.startswith(start)}


@pytest.mark.parametrize("name", ALLOCATABLE)
def test_allocatable_is_what_is_documented(name: str) -> None:
    facts = ec2_facts.of(name)
    sizing = capacity.sizing_of(
        aws_facts.node_class(), memory_overhead=0.075, reserved_interfaces=0
    )

    has = capacity.capacity(facts, sizing)
    kept = capacity.overhead(facts, sizing, has)

    room = {resource: amount - kept.get(resource, 0) for resource, amount in has.items()}
    room.pop(branch_interfaces.RESOURCE, None)
    cpu, memory, pods, more = ALLOCATABLE[name]
    assert room.pop("memory") // MIB == memory
    assert room == {"cpu": cpu, "pods": pods, "ephemeral-storage": 17 * GIB, **more}


@pytest.mark.parametrize("name", LABELS)
def test_labels_are_what_is_documented(name: str) -> None:
    assert _labels(ec2_facts.of(name), "instance") == {**LABELS[name], **SINCE}


@pytest.mark.parametrize("name", ACCELERATORS)
def test_accelerators_of_aws_are_named_and_counted(name: str) -> None:
    facts = ec2_facts.of(name)

    assert _labels(facts, "instance-accelerator") == ACCELERATORS[name]
    assert facts.extended["aws.amazon.com/neuron"] == int(ACCELERATORS[name]["count"])


def test_neuron_cores_are_counted_on_all_devices() -> None:
    assert ec2_facts.of("inf2.24xlarge").extended["aws.amazon.com/neuroncore"] == 12
    assert ec2_facts.of("inf1.xlarge").extended["aws.amazon.com/neuroncore"] == 4


def test_a_fraction_of_a_gpu_is_no_gpu() -> None:
    assert GPU not in ec2_facts.of("g6f.large").extended


def test_a_flex_type_says_so() -> None:
    assert _labels(ec2_facts.of("m7i-flex.large"), "instance")["capability-flex"] == "true"
