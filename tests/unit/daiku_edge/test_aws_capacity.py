"""What machines of EC2 give to pods. The figures of real types are those that Karpenter documents for AL2023."""

from typing import Any

import pytest
from tests.unit.daiku_edge import aws_facts

from daiku.cloud.aws import capacity
from daiku.cloud.aws.instance_types import Facts

MIB = 2**20
GIB = 2**30


def _allocatable(facts: Facts, **spec: Any) -> dict[str, int]:
    sizing = capacity.sizing_of(
        aws_facts.node_class(**spec), memory_overhead=0.075, reserved_interfaces=0
    )
    has = capacity.capacity(facts, sizing)
    kept = capacity.overhead(facts, sizing, has)
    return {r: amount - kept.get(r, 0) for r, amount in has.items()}


@pytest.mark.parametrize(
    ("facts", "cpu_millis", "memory_mib", "pods"),
    [
        pytest.param(aws_facts.facts(), 1930, 6903, 29, id="m5.large"),
        pytest.param(aws_facts.facts("c5.large", 2, 4096, 3, 10), 1930, 3114, 29, id="c5.large"),
        pytest.param(
            aws_facts.facts("m5.xlarge", 4, 16384, 4, 15), 3920, 14162, 58, id="m5.xlarge"
        ),
        pytest.param(
            aws_facts.facts("m6g.large", 2, 8192, 3, 10, "arm64"), 1930, 6844, 29, id="m6g.large"
        ),
    ],
)
def test_allocatable_is_what_is_documented(
    facts: Facts, cpu_millis: int, memory_mib: int, pods: int
) -> None:
    room = _allocatable(facts)

    assert (room["cpu"], room["memory"] // MIB, room["pods"]) == (cpu_millis, memory_mib, pods)


@pytest.mark.parametrize(
    ("spec", "resource", "expected"),
    [
        pytest.param({"kubelet": {"maxPods": 50}}, "pods", 50, id="maxPods is taken as it is"),
        pytest.param({"kubelet": {"podsPerCore": 5}}, "pods", 10, id="podsPerCore limits"),
        pytest.param(
            {"kubelet": {"maxPods": 8, "podsPerCore": 5}}, "pods", 8, id="the lesser of both counts"
        ),
        pytest.param(
            {"kubelet": {"kubeReserved": {"cpu": "200m"}}}, "cpu", 1800, id="kube reserved replaces"
        ),
        pytest.param(
            {"kubelet": {"systemReserved": {"cpu": "100m"}}}, "cpu", 1830, id="system reserved adds"
        ),
        pytest.param(
            {"blockDeviceMappings": [{"deviceName": "/dev/xvda", "ebs": {"volumeSize": "100Gi"}}]},
            "ephemeral-storage",
            100 * GIB - GIB - 10 * GIB,
            id="the root volume's size",
        ),
        pytest.param(
            {"kubelet": {"evictionHard": {"nodefs.available": "100%"}}},
            "ephemeral-storage",
            19 * GIB,
            id="a threshold of 100% is off",
        ),
    ],
)
def test_the_node_class_decides_what_is_left(
    spec: dict[str, Any], resource: str, expected: int
) -> None:
    assert _allocatable(aws_facts.facts(), **spec)[resource] == expected


def test_local_disks_are_used_only_when_asked_for() -> None:
    facts = aws_facts.facts("m5d.large", local_disk_gb=75)

    assert _allocatable(facts)["ephemeral-storage"] < 20 * GIB
    raid = _allocatable(facts, instanceStorePolicy="RAID0")
    assert raid["ephemeral-storage"] == 75 * 10**9 - GIB - 75 * 10**8
