"""A few instance types as EC2 describes them, and an EC2NodeClass that is resolved."""

from typing import Any

from tests import build

from daiku.cloud.aws.cluster import Cluster
from daiku.cloud.aws.instance_types import Facts
from daiku.model import labels
from daiku.model.instance_type import NodeClassRef
from daiku.model.nodeclass import NodeClass

REF = NodeClassRef(group="karpenter.k8s.aws", kind="EC2NodeClass", name="default")
CLUSTER = Cluster(
    name="demo",
    endpoint="https://api.demo",
    certificate_authority="Q0E=",
    service_cidr="10.100.0.0/16",
    version="1.34",
)
STATUS: dict[str, Any] = {
    "subnets": [
        {"id": "subnet-a1", "zone": "us-west-2a", "zoneID": "usw2-az2"},
        {"id": "subnet-b", "zone": "us-west-2b", "zoneID": "usw2-az1"},
        {"id": "subnet-a2", "zone": "us-west-2a", "zoneID": "usw2-az2"},
    ],
    "securityGroups": [{"id": "sg-1", "name": "nodes"}],
    "amis": [
        {
            "id": "ami-arm",
            "requirements": [{"key": labels.ARCH, "operator": "In", "values": ["arm64"]}],
        },
        {
            "id": "ami-x86",
            "requirements": [{"key": labels.ARCH, "operator": "In", "values": ["amd64"]}],
        },
    ],
    "instanceProfile": "nodes",
}


def facts(  # noqa: PLR0917 - a row of a table
    name: str = "m5.large",
    vcpus: int = 2,
    memory_mib: int = 8192,
    interfaces: int = 3,
    addresses: int = 10,
    architecture: str = "amd64",
    **fields: Any,
) -> Facts:
    defaults: dict[str, Any] = {
        "local_disk_gb": 0,
        "usage_classes": ("on-demand", "spot"),
        "zones": ("us-west-2a", "us-west-2b", "us-west-2c"),
        "labels": {labels.INSTANCE_TYPE: name, labels.ARCH: architecture},
    }
    return Facts(
        name=name,
        architecture=architecture,
        vcpus=vcpus,
        memory_mib=memory_mib,
        interfaces_max=interfaces,
        addresses_per_interface=addresses,
        **{**defaults, **fields},
    )


def node_class(**spec: Any) -> NodeClass:
    chosen = {
        "role": "nodes",
        "amiSelectorTerms": [{"alias": "al2023@latest"}],
        "subnetSelectorTerms": [{"tags": {"karpenter.sh/discovery": "demo"}}],
        "securityGroupSelectorTerms": [{"tags": {"karpenter.sh/discovery": "demo"}}],
        **spec,
    }
    given = {name: value for name, value in chosen.items() if value is not None}
    return NodeClass(meta=build.meta("default"), ref=REF, ready=True, spec=given, status=STATUS)
