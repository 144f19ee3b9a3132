"""The hash of an EC2NodeClass's static fields: what replaces nodes when it changes, and what does not.

Source: Karpenter's static drift of EC2NodeClasses; which fields are in it, and that neither order nor emptiness
counts. The value is our own, under our own version, so that nodes of Karpenter are stamped anew and not replaced.
"""

from typing import Any

import pytest
from tests.unit.daiku_edge import aws_facts

from daiku.cloud.aws.node_class import static_hash

DISK: dict[str, Any] = {
    "deviceName": "/dev/xvda",
    "rootVolume": True,
    "ebs": {"volumeSize": "20Gi", "volumeType": "gp3", "encrypted": True},
}
OTHER: dict[str, Any] = {"deviceName": "/dev/xvdb", "ebs": {"snapshotID": "snap-1"}}
BASE: dict[str, Any] = {
    "tags": {"a": "1", "b": "2"},
    "blockDeviceMappings": [DISK, OTHER],
    "metadataOptions": {"httpEndpoint": "enabled", "httpPutResponseHopLimit": 1},
    "kubelet": {"maxPods": 10, "kubeReserved": {"cpu": "100m"}},
    "networkInterfaces": [
        {"networkCardIndex": 0, "deviceIndex": 0, "interfaceType": "interface"},
        {"networkCardIndex": 0, "deviceIndex": 1, "interfaceType": "efa-only"},
    ],
}


def _ebs(**fields: Any) -> dict[str, Any]:
    return {"blockDeviceMappings": [{**DISK, "ebs": {**DISK["ebs"], **fields}}, OTHER]}


CHANGES: dict[str, dict[str, Any]] = {
    "user data": {"userData": "#!/bin/bash"},
    "role": {"role": "another"},
    "instance profile": {"role": None, "instanceProfile": "mine"},
    "a tag": {"tags": {"a": "1", "b": "3"}},
    "context": {"context": "fleet"},
    "monitoring": {"detailedMonitoring": True},
    "store policy": {"instanceStorePolicy": "RAID0"},
    "public address": {"associatePublicIPAddress": True},
    "no public address": {"associatePublicIPAddress": False},
    "placement group": {"placementGroupSelector": {"name": "near"}},
    "endpoint": {"metadataOptions": {**BASE["metadataOptions"], "httpEndpoint": "disabled"}},
    "IPv6 endpoint": {"metadataOptions": {**BASE["metadataOptions"], "httpProtocolIPv6": "enabled"}},
    "hop limit": {"metadataOptions": {**BASE["metadataOptions"], "httpPutResponseHopLimit": 2}},
    "tokens": {"metadataOptions": {**BASE["metadataOptions"], "httpTokens": "optional"}},
    "device name": {"blockDeviceMappings": [{**DISK, "deviceName": "/dev/sda1"}, OTHER]},
    "root volume": {"blockDeviceMappings": [{**DISK, "rootVolume": False}, OTHER]},
    "a volume less": {"blockDeviceMappings": [DISK]},
    "volume size": _ebs(volumeSize="21Gi"),
    "volume type": _ebs(volumeType="gp2"),
    "encryption": _ebs(encrypted=False),
    "deletion": _ebs(deleteOnTermination=True),
    "iops": _ebs(iops=4000),
    "throughput": _ebs(throughput=200),
    "key": _ebs(kmsKeyID="key"),
    "snapshot": _ebs(snapshotID="snap-2"),
    "initialization rate": _ebs(volumeInitializationRate=200),
    "established timeout": {"connectionTracking": {"tcpEstablishedTimeout": 60}},
    "stream timeout": {"connectionTracking": {"udpStreamTimeout": 60}},
    "datagram timeout": {"connectionTracking": {"udpTimeout": 30}},
    "virtualization": {"cpuOptions": {"nestedVirtualization": "enabled"}},
    "an interface less": {"networkInterfaces": BASE["networkInterfaces"][:1]},
    "kubelet": {"kubelet": {"maxPods": 11, "kubeReserved": {"cpu": "100m"}}},
    "kubelet, letters moved": {"kubelet": {"maxPods": 1, "kubeReserved": {"cpu": "0100m"}}},
    "the family of the images": {"amiFamily": "Bottlerocket"},
}  # fmt: skip
NO_CHANGES: dict[str, dict[str, Any]] = {
    "nothing": {},
    "the order of tags": {"tags": {"b": "2", "a": "1"}},
    "the order of volumes": {"blockDeviceMappings": [OTHER, DISK]},
    "the order of interfaces": {"networkInterfaces": BASE["networkInterfaces"][::-1]},
    "the order of kubelet settings": {"kubelet": {"kubeReserved": {"cpu": "100m"}, "maxPods": 10}},
    "empty user data": {"userData": ""},
    "tracking of nothing": {"connectionTracking": {}},
    "subnets": {"subnetSelectorTerms": [{"id": "subnet-1"}]},
    "security groups": {"securityGroupSelectorTerms": [{"id": "sg-1"}]},
    "images of the same family": {"amiSelectorTerms": [{"alias": "al2023@v20240807"}]},
    "the family that the alias has": {"amiFamily": "AL2023"},
    "reservations": {"capacityReservationSelectorTerms": [{"id": "cr-1"}]},
    "prefixes": {"ipPrefixCount": 1},
}


def _hash(change: dict[str, Any], authority: str = "Q0E=") -> str:
    return static_hash(aws_facts.node_class(**{**BASE, **change}), authority)


@pytest.mark.parametrize("name", CHANGES)
def test_drifts(name: str) -> None:
    assert _hash(CHANGES[name]) != _hash({})


@pytest.mark.parametrize("name", NO_CHANGES)
def test_does_not_drift(name: str) -> None:
    assert _hash(NO_CHANGES[name]) == _hash({})


def test_every_change_has_a_hash_of_its_own() -> None:
    assert len({_hash(change) for change in CHANGES.values()}) == len(CHANGES)


def test_another_certificate_of_the_cluster_drifts() -> None:
    assert _hash({}, "T1RIRVI=") != _hash({})


def test_the_value_stays_the_same_from_release_to_release() -> None:
    assert _hash({}) == "11285120311834803204"
