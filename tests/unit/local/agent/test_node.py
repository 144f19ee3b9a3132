"""The Node object of an instance."""

from types import MappingProxyType

import pytest

from daiku_local.agent import kubelet, node
from daiku_local.agent.instance_types import InstanceType
from daiku_local.agent.node import Instance, Place
from daiku_local.agent.user_data import NodeConfig

NAME = "ip-10-0-1-7.us-west-2.compute.internal"
INSTANCE = Instance(
    instance_id="i-0123456789abcdef0",
    state="running",
    type_name="m7g.large",
    zone="us-west-2b",
    private_dns_name=NAME,
    private_ip="10.0.1.7",
)
MACHINE = InstanceType(
    name="m7g.large",
    architecture="arm64",
    cpu_count=2,
    memory_bytes=8 * 2**30,
    pod_count=29,
    devices=MappingProxyType({}),
)
PLACE = Place(
    region="us-west-2", zone_id="usw2-az2", kubelet_version="v1.34.4", root_volume_bytes=20 * 2**30
)


def _config(*flags: str) -> NodeConfig:
    return NodeConfig(
        cluster_name="demo",
        api_server_endpoint="https://127.0.0.1:6443",
        certificate_authority="QUJD",
        cidr="10.100.0.0/16",
        kubelet_config={"registerWithTaints": [{"key": "a", "effect": "NoSchedule"}]},
        kubelet_flags=flags,
    )


def test_a_node_is_named_and_tied_to_its_instance() -> None:
    built = node.build(INSTANCE, MACHINE, _config(), PLACE)

    assert built["metadata"]["name"] == NAME
    assert built["spec"]["providerID"] == "aws:///us-west-2b/i-0123456789abcdef0"
    assert built["spec"]["taints"] == [{"key": "a", "effect": "NoSchedule"}]
    assert built["metadata"]["annotations"] == {"kwok.x-k8s.io/node": "fake"}
    assert built["status"]["nodeInfo"]["architecture"] == "arm64"
    assert built["status"]["nodeInfo"]["kubeletVersion"] == "v1.34.4"


def test_labels_are_the_kubelets_the_clouds_and_those_of_the_flags() -> None:
    labels = node.build(INSTANCE, MACHINE, _config("--node-labels=team=a"), PLACE)["metadata"]

    assert labels["labels"] == {
        "kubernetes.io/arch": "arm64",
        "kubernetes.io/os": "linux",
        "kubernetes.io/hostname": NAME,
        "beta.kubernetes.io/arch": "arm64",
        "beta.kubernetes.io/os": "linux",
        "node.kubernetes.io/instance-type": "m7g.large",
        "beta.kubernetes.io/instance-type": "m7g.large",
        "topology.kubernetes.io/region": "us-west-2",
        "topology.kubernetes.io/zone": "us-west-2b",
        "failure-domain.beta.kubernetes.io/region": "us-west-2",
        "failure-domain.beta.kubernetes.io/zone": "us-west-2b",
        "topology.k8s.aws/zone-id": "usw2-az2",
        "team": "a",
    }


def test_a_kubelet_that_would_not_start_makes_no_node() -> None:
    with pytest.raises(kubelet.KubeletRefusedError):
        node.build(INSTANCE, MACHINE, _config("--node-labels=kubernetes.io/x=y"), PLACE)


def test_addresses_are_the_instances() -> None:
    built = node.build(INSTANCE, MACHINE, _config(), PLACE)

    assert built["status"]["addresses"] == [
        {"type": "InternalIP", "address": "10.0.1.7"},
        {"type": "InternalDNS", "address": NAME},
        {"type": "Hostname", "address": NAME},
        {"type": "ExternalDNS", "address": "localhost"},
    ]


@pytest.mark.parametrize(
    ("provider", "expected"),
    [
        ("aws:///us-west-2b/i-0abc", "i-0abc"),
        ("kwok://node", None),
        ("aws://us-west-2b/i-0abc", None),
        ("", None),
        (None, None),
    ],
)
def test_only_aws_provider_ids_name_an_instance(provider: str | None, expected: str | None) -> None:
    assert node.instance_id(provider) == expected
