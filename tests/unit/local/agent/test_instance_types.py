"""EC2's descriptions of instance types, as far as a node shows them."""

from typing import Any

import pytest

from daiku_local.agent import instance_types


def _description(**changed: Any) -> dict[str, Any]:
    return {
        "InstanceType": "m5.large",
        "ProcessorInfo": {"SupportedArchitectures": ["x86_64"]},
        "VCpuInfo": {"DefaultVCpus": 2},
        "MemoryInfo": {"SizeInMiB": 8192},
        "NetworkInfo": {
            "MaximumNetworkInterfaces": 3,
            "Ipv4AddressesPerInterface": 10,
            "DefaultNetworkCardIndex": 0,
            "NetworkCards": [{"MaximumNetworkInterfaces": 3}],
        },
    } | changed


def test_the_facts_of_a_plain_type() -> None:
    found = instance_types.decode(_description())

    assert found.name == "m5.large"
    assert found.architecture == "amd64"
    assert found.cpu_count == 2
    assert found.memory_bytes == 8 * 2**30
    assert found.pod_count == 29
    assert found.local_storage_bytes == 0
    assert dict(found.devices) == {}


@pytest.mark.parametrize(
    ("architectures", "expected"),
    [(["i386", "x86_64"], "amd64"), (["arm64"], "arm64"), (["x86_64_mac"], "amd64")],
)
def test_the_first_known_architecture_counts(architectures: list[str], expected: str) -> None:
    description = _description(ProcessorInfo={"SupportedArchitectures": architectures})

    assert instance_types.decode(description).architecture == expected


def test_only_the_default_network_cards_interfaces_carry_pods() -> None:
    network = {
        "MaximumNetworkInterfaces": 60,
        "Ipv4AddressesPerInterface": 50,
        "DefaultNetworkCardIndex": 1,
        "NetworkCards": [{"MaximumNetworkInterfaces": 4}, {"MaximumNetworkInterfaces": 15}],
    }

    assert instance_types.decode(_description(NetworkInfo=network)).pod_count == 15 * 49 + 2


def test_without_network_facts_the_kubelets_own_default_holds() -> None:
    assert instance_types.decode(_description(NetworkInfo={})).pod_count == 110


def test_accelerators_are_devices_by_their_maker() -> None:
    description = _description(
        GpuInfo={"Gpus": [{"Manufacturer": "NVIDIA", "Count": 8}, {"Manufacturer": "Other"}]},
        NeuronInfo={"NeuronDevices": [{"Count": 6, "CoreInfo": {"Count": 2}}]},
        NetworkInfo={"EfaInfo": {"MaximumEfaInterfaces": 4}},
        InstanceStorageInfo={"TotalSizeInGB": 900},
    )

    found = instance_types.decode(description)

    assert dict(found.devices) == {
        "nvidia.com/gpu": 8,
        "aws.amazon.com/neuron": 6,
        "aws.amazon.com/neuroncore": 12,
        "vpc.amazonaws.com/efa": 4,
    }
    assert found.local_storage_bytes == 900 * 10**9
