"""Which instance types cannot be made as a node class wants them, and how a machine's interfaces and disks come out."""

from dataclasses import replace
from typing import Any

import pytest
from tests.unit.daiku_edge import aws_facts

from daiku.cloud.aws import block_devices, compatibility, network_interfaces, node_class

EFA = aws_facts.facts(
    "c6gn.16xlarge", 64, 131_072, 15, 50, "arm64",
    efa_max=1, cards=(15,), features=frozenset({"ena", "nitro", "cluster"}),
)  # fmt: skip
PLAIN = aws_facts.facts()
ONE = {"networkCardIndex": 0, "deviceIndex": 0, "interfaceType": "interface"}


def _efa(card: int = 0, device: int = 1) -> dict[str, Any]:
    return {"networkCardIndex": card, "deviceIndex": device, "interfaceType": "efa-only"}


@pytest.mark.parametrize(
    ("spec", "words"),
    [
        pytest.param({}, "", id="nothing special"),
        pytest.param({"networkInterfaces": [ONE, _efa()]}, "", id="interfaces that it has"),
        pytest.param({"networkInterfaces": [ONE, _efa(card=1)]}, "it has 1", id="a missing card"),
        pytest.param(
            {"networkInterfaces": [ONE, _efa(device=15)]}, "card 0 takes 15", id="too many devices"
        ),
        pytest.param(
            {"networkInterfaces": [ONE, _efa(), _efa(device=2)]}, "wants 2 EFAs", id="too many EFAs"
        ),
        pytest.param(
            {"networkInterfaces": [ONE], "ipPrefixCount": 50}, "room for 49", id="too many prefixes"
        ),
        pytest.param(
            {"cpuOptions": {"nestedVirtualization": "enabled"}}, "nested", id="no virtualization"
        ),
        pytest.param({"cpuOptions": {"nestedVirtualization": "disabled"}}, "", id="none wanted"),
        pytest.param({"connectionTracking": {"udpTimeout": 30}}, "", id="tracking on nitro"),
        pytest.param({"amiFamily": "Windows2022"}, "amd64 only", id="Windows on arm64"),
    ],
)
def test_a_type_that_cannot_be_made_so_says_why(spec: dict[str, Any], words: str) -> None:
    found = compatibility.obstacle(EFA, aws_facts.node_class(**spec))

    assert bool(found) == bool(words)
    assert words in found


@pytest.mark.parametrize(
    ("spec", "words"),
    [
        pytest.param({"connectionTracking": {"udpTimeout": 30}}, "nitro", id="tracking on xen"),
        pytest.param({"networkInterfaces": [ONE]}, "no network cards", id="no cards"),
    ],
)
def test_an_old_type_says_what_it_lacks(spec: dict[str, Any], words: str) -> None:
    assert words in compatibility.obstacle(PLAIN, aws_facts.node_class(**spec))


def test_a1_boots_no_al2023() -> None:
    a1 = aws_facts.facts("a1.large", architecture="arm64")

    assert "a1" in compatibility.obstacle(a1, aws_facts.node_class())
    assert compatibility.obstacle(a1, aws_facts.node_class(amiFamily="Bottlerocket")) == ""


def test_a_placement_group_takes_only_types_of_its_strategy() -> None:
    found = aws_facts.node_class()

    assert compatibility.obstacle(EFA, found, strategy="cluster") == ""
    assert "strategy spread" in compatibility.obstacle(EFA, found, strategy="spread")


def test_a_machine_has_one_interface_with_what_the_class_says_of_it() -> None:
    found = aws_facts.node_class(
        associatePublicIPAddress=False, ipPrefixCount=2, connectionTracking={"udpTimeout": 30}
    )

    (made,) = network_interfaces.requests(found, efas=0, is_ipv6=False)

    assert made == {
        "DeviceIndex": 0,
        "NetworkCardIndex": 0,
        "Groups": ["sg-1"],
        "DeleteOnTermination": True,
        "AssociatePublicIpAddress": False,
        "Ipv4PrefixCount": 2,
        "ConnectionTrackingSpecification": {"UdpTimeout": 30},
    }


def test_a_machine_of_an_ipv6_cluster_has_a_primary_ipv6_address() -> None:
    (made,) = network_interfaces.requests(
        aws_facts.node_class(ipPrefixCount=1), efas=0, is_ipv6=True
    )

    assert (made["PrimaryIpv6"], made["Ipv6AddressCount"], made["Ipv6PrefixCount"]) == (True, 1, 1)
    assert "Ipv4PrefixCount" not in made


def test_a_claim_that_wants_efas_gets_one_per_card() -> None:
    made = network_interfaces.requests(aws_facts.node_class(), efas=3, is_ipv6=False)

    assert [(i["NetworkCardIndex"], i["DeviceIndex"], i["InterfaceType"]) for i in made] == [
        (0, 0, "efa"),
        (1, 1, "efa"),
        (2, 1, "efa"),
    ]


def test_listed_interfaces_are_made_as_listed_and_an_efa_only_has_no_address() -> None:
    found = aws_facts.node_class(
        networkInterfaces=[ONE, _efa()], associatePublicIPAddress=True, ipPrefixCount=1
    )

    first, second = network_interfaces.requests(found, efas=4, is_ipv6=True)

    assert (first["InterfaceType"], first["AssociatePublicIpAddress"]) == ("interface", True)
    assert second == {
        "DeviceIndex": 1,
        "NetworkCardIndex": 0,
        "Groups": ["sg-1"],
        "DeleteOnTermination": True,
        "InterfaceType": "efa-only",
    }


@pytest.mark.parametrize(
    ("family", "sizes"),
    [
        ("AL2", {"/dev/xvda": 20}),
        ("AL2023", {"/dev/xvda": 20}),
        ("Bottlerocket", {"/dev/xvda": 4, "/dev/xvdb": 20}),
        ("Windows2022", {"/dev/sda1": 50}),
        ("Custom", {}),
    ],
)
def test_without_a_list_a_machine_has_the_volumes_of_its_family(
    family: str, sizes: dict[str, int]
) -> None:
    made = block_devices.requests(aws_facts.node_class(amiFamily=family))

    assert {m["DeviceName"]: m["Ebs"]["VolumeSize"] for m in made} == sizes
    assert all(m["Ebs"]["Encrypted"] and m["Ebs"]["VolumeType"] == "gp3" for m in made)


def test_volumes_are_passed_on_with_sizes_rounded_up_and_zeros_left_out() -> None:
    ebs = {
        "volumeSize": "20G", "volumeType": "io2", "iops": 5000, "throughput": 0, "kmsKeyID": "key",
        "snapshotID": "snap-1", "encrypted": False, "deleteOnTermination": False,
        "volumeInitializationRate": 200,
    }  # fmt: skip
    found = aws_facts.node_class(blockDeviceMappings=[{"deviceName": "/dev/sdb", "ebs": ebs}])

    (made,) = block_devices.requests(found)

    assert made["Ebs"] == {
        "VolumeSize": 19,
        "VolumeType": "io2",
        "Iops": 5000,
        "KmsKeyId": "key",
        "SnapshotId": "snap-1",
        "Encrypted": False,
        "DeleteOnTermination": False,
        "VolumeInitializationRate": 200,
    }


def test_an_image_for_windows_is_chosen_by_its_architecture_alone() -> None:
    found = aws_facts.node_class()
    amis = [
        {
            "id": "ami-w",
            "requirements": [
                {"key": "kubernetes.io/os", "operator": "In", "values": ["windows"]},
                {"key": "kubernetes.io/arch", "operator": "In", "values": ["amd64"]},
            ],
        }
    ]
    (image,) = node_class.images(replace(found, status={"amis": amis}))

    assert compatibility.boots(image, PLAIN)
    assert not compatibility.boots(image, EFA)
