"""What a node class makes of a machine's capacity: kubelet's settings, disks, interfaces.

Source: Karpenter AWS v1.14.1, pkg/providers/instancetype/suite_test.go (overhead tables, maxPods, podsPerCore, reserved
ENIs, ephemeral storage, EFA). The figures of real types are those that Karpenter documents for AL2023.
"""

from typing import Any

import pytest
from tests.unit.daiku_edge import aws_facts

from daiku.cloud.aws import capacity
from daiku.cloud.aws.instance_types import Facts

MIB = 2**20
GIB = 2**30


def _sizing(**spec: Any) -> capacity.Sizing:
    return capacity.sizing_of(
        aws_facts.node_class(**spec), memory_overhead=0.075, reserved_interfaces=0
    )


def _allocatable(facts: Facts, **spec: Any) -> dict[str, int]:
    sizing = _sizing(**spec)
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
        pytest.param({"kubelet": {"podsPerCore": 0}}, "pods", 29, id="podsPerCore 0 is none"),
        pytest.param(
            {"kubelet": {"podsPerCore": 5}, "amiFamily": "Bottlerocket"},
            "pods",
            29,
            id="Bottlerocket knows no podsPerCore",
        ),
        pytest.param(
            {"kubelet": {"podsPerCore": 5}, "amiFamily": "Windows2022"},
            "pods",
            10,
            id="Windows knows podsPerCore",
        ),
        pytest.param(
            {"kubelet": {"kubeReserved": {"memory": "1Gi"}}},
            "memory",
            (7577 - 1024 - 100) * MIB,
            id="reserved memory replaces what is reserved for pods",
        ),
        pytest.param(
            {"kubelet": {"systemReserved": {"memory": "1Gi", "pid": "100"}}},
            "memory",
            (7577 - 11 * 29 - 255 - 1024 - 100) * MIB,
            id="system reserved memory adds, and pids are nothing that pods ask for",
        ),
        pytest.param(
            {"kubelet": {"evictionHard": {"memory.available": "500Mi"}}},
            "memory",
            (7577 - 11 * 29 - 255 - 500) * MIB,
            id="an eviction threshold of memory",
        ),
        pytest.param(
            {"kubelet": {"evictionHard": {"memory.available": "10%"}}},
            "memory",
            (7577 - 11 * 29 - 255) * MIB - 794_506_036,
            id="an eviction threshold as a share, rounded up",
        ),
        pytest.param(
            {"kubelet": {"evictionHard": {"memory.available": "100%"}}},
            "memory",
            (7577 - 11 * 29 - 255) * MIB,
            id="no eviction by memory",
        ),
        pytest.param(
            {"kubelet": {"evictionSoft": {"memory.available": "2Gi"}}},
            "memory",
            (7577 - 11 * 29 - 255 - 100) * MIB,
            id="soft thresholds do not count",
        ),
        pytest.param(
            {"kubelet": {"evictionHard": {"nodefs.available": "3Gi"}}},
            "ephemeral-storage",
            16 * GIB,
            id="an eviction threshold of the disk",
        ),
        pytest.param(
            {"kubelet": {"kubeReserved": {"ephemeral-storage": "2Gi"}}},
            "ephemeral-storage",
            16 * GIB,
            id="reserved disk",
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


LARGE = aws_facts.facts("m5.24xlarge", 96, 393_216, 15, 50)


@pytest.mark.parametrize(
    ("family", "pods", "kube_memory_mib", "disk_gib"),
    [
        pytest.param("AL2", 737, 11 * 737 + 255, 20, id="AL2"),
        pytest.param("AL2023", 737, 11 * 737 + 255, 20, id="AL2023"),
        pytest.param("Custom", 737, 11 * 737 + 255, 20, id="Custom"),
        pytest.param("Bottlerocket", 737, 11 * 737 + 255, 20, id="Bottlerocket"),
        pytest.param("Windows2022", 110, 11 * 110 + 255, 50, id="Windows"),
    ],
)
def test_families_differ_in_pods_memory_and_disk(
    family: str, pods: int, kube_memory_mib: int, disk_gib: int
) -> None:
    sizing = _sizing(amiFamily=family)
    has = capacity.capacity(LARGE, sizing)

    kept = capacity.overhead(LARGE, sizing, has)

    assert has["pods"] == pods
    assert kept["memory"] == (kube_memory_mib + 100) * MIB
    assert has["ephemeral-storage"] == disk_gib * GIB


@pytest.mark.parametrize(
    ("family", "most", "kube_memory_mib"),
    [
        pytest.param("AL2023", 10, 11 * 737 + 255, id="AL2023 reserves for all interfaces"),
        pytest.param("Bottlerocket", 10, 11 * 10 + 255, id="Bottlerocket reserves for its pods"),
    ],
)
def test_which_pods_memory_is_reserved_for(family: str, most: int, kube_memory_mib: int) -> None:
    sizing = _sizing(amiFamily=family, kubelet={"maxPods": most})
    has = capacity.capacity(LARGE, sizing)

    assert capacity.overhead(LARGE, sizing, has)["memory"] == (kube_memory_mib + 100) * MIB


@pytest.mark.parametrize(
    ("spec", "gib"),
    [
        pytest.param({"blockDeviceMappings": [("/dev/xvdb", 50)]}, 50, id="the pods' device"),
        pytest.param({"blockDeviceMappings": [("/dev/xvda", 50)]}, 20, id="another device"),
    ],
)
def test_bottlerockets_pods_live_on_the_second_volume(spec: dict[str, Any], gib: int) -> None:
    mappings = [
        {"deviceName": device, "ebs": {"volumeSize": f"{size}Gi"}}
        for device, size in spec["blockDeviceMappings"]
    ]
    sizing = _sizing(amiFamily="Bottlerocket", blockDeviceMappings=mappings)

    assert capacity.capacity(LARGE, sizing)["ephemeral-storage"] == gib * GIB


def test_the_flagged_volume_wins_and_custom_images_take_the_last() -> None:
    first: dict[str, Any] = {"deviceName": "/dev/sda1", "ebs": {"volumeSize": "30Gi"}}
    last: dict[str, Any] = {"deviceName": "/dev/sdb", "ebs": {"volumeSize": "40Gi"}}

    def disk(*mappings: dict[str, Any]) -> int:
        sizing = _sizing(amiFamily="Custom", blockDeviceMappings=list(mappings))
        return capacity.capacity(LARGE, sizing)["ephemeral-storage"] // GIB

    assert disk(first, last) == 40
    assert disk(first | {"rootVolume": True}, last) == 30
    assert disk({"deviceName": "/dev/sdb", "ebs": {"snapshotID": "snap-1"}}) == 20


def test_efas_are_those_of_the_type_or_those_that_the_class_lists() -> None:
    facts = aws_facts.facts("c6gn.16xlarge", 64, 131_072, 15, 50, "arm64", efa_max=1)
    listed = [
        {"networkCardIndex": 0, "deviceIndex": 0, "interfaceType": "interface"},
        {"networkCardIndex": 0, "deviceIndex": 1, "interfaceType": "efa-only"},
    ]

    assert capacity.capacity(facts, _sizing())["vpc.amazonaws.com/efa"] == 1
    of_class = capacity.capacity(facts, _sizing(networkInterfaces=listed))
    assert of_class["vpc.amazonaws.com/efa"] == 1
    assert of_class["pods"] == 14 * 49 + 2
    alone = capacity.capacity(facts, _sizing(networkInterfaces=listed[:1]))
    assert "vpc.amazonaws.com/efa" not in alone


def test_windows_has_addresses_for_pods() -> None:
    has = capacity.capacity(aws_facts.facts(), _sizing(amiFamily="Windows2022"))

    assert has["vpc.amazonaws.com/PrivateIPv4Address"] == 9


def test_reserved_interfaces_have_no_pods() -> None:
    found = aws_facts.node_class()
    sizing = capacity.sizing_of(found, memory_overhead=0.075, reserved_interfaces=1)
    none = capacity.sizing_of(found, memory_overhead=0.075, reserved_interfaces=3)

    assert capacity.pods(aws_facts.facts(), sizing) == 2 * 9 + 2
    assert capacity.pods(aws_facts.facts(), none) == 0
