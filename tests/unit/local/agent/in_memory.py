"""An EC2 and an API server in memory, as far as booting asks them."""

import base64
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import yaml

from daiku_local.agent.aws_api import AwsError
from daiku_local.agent.instance_types import InstanceType
from daiku_local.agent.kubernetes_api import KubernetesError
from daiku_local.agent.node import Instance

AUTHORITY = b"-----BEGIN CERTIFICATE-----\n"
ENDPOINT = "https://127.0.0.1:6443"
ROLE = "arn:aws:iam::123456789012:role/node"


@dataclass
class Ec2:
    """Instances, and what AWS says of them."""

    instances: list[Instance] = field(default_factory=list)
    user_data: dict[str, str] = field(default_factory=dict)
    access: dict[str, str] = field(default_factory=lambda: {ROLE: "EC2_LINUX"})
    roles: dict[str, str] = field(default_factory=lambda: {"profile": ROLE})
    broken: set[str] = field(default_factory=set)
    asked: list[str] = field(default_factory=list)

    def run(self, name: str, *, document: str | None = None, **changed: Any) -> None:
        instance = Instance(
            instance_id=name,
            state="running",
            type_name="m5.large",
            zone="us-west-2a",
            private_dns_name=f"{name}.internal",
            private_ip="10.0.0.1",
            profile_arn="profile",
        )
        self.instances.append(replace(instance, **changed))
        self.user_data[name] = user_data_of() if document is None else document

    def change(self, name: str, state: str) -> None:
        self.instances = [
            replace(each, state=state) if each.instance_id == name else each
            for each in self.instances
        ]

    def forget(self, name: str) -> None:
        self.instances = [each for each in self.instances if each.instance_id != name]

    def list_instances(self) -> list[Instance]:
        return list(self.instances)

    def fetch_user_data(self, instance_id: str) -> str | None:
        if instance_id in self.broken:
            raise AwsError("RequestLimitExceeded", "slow down")
        return self.user_data[instance_id] or None

    def fetch_instance_type(self, name: str) -> InstanceType:
        return InstanceType(
            name=name, architecture="amd64", cpu_count=2, memory_bytes=2**33, pod_count=29
        )

    def fetch_zone_id(self, zone: str) -> str | None:
        return {"us-west-2a": "usw2-az2"}.get(zone)

    def fetch_volume_sizes(self, volume_ids: set[str]) -> dict[str, int]:
        return dict.fromkeys(volume_ids, 50 * 2**30)

    def fetch_role_arn(self, profile_arn: str) -> str | None:
        self.asked.append(profile_arn)
        return self.roles.get(profile_arn)

    def fetch_access_entry_type(self, cluster: str, role_arn: str) -> str | None:
        return self.access.get(role_arn) if cluster == "demo" else None


@dataclass
class ApiServer:
    """Nodes by name."""

    nodes: dict[str, Any] = field(default_factory=dict)
    refusal: KubernetesError | None = None

    def get(self, path: str, query: Mapping[str, str] | None = None) -> Any:
        assert query in (None, {"resourceVersion": "0"})
        name = path.removeprefix("/api/v1/nodes").strip("/")
        return self.nodes[name] if name else {"items": list(self.nodes.values())}

    def create(self, path: str, body: Any) -> Any:
        assert path == "/api/v1/nodes"
        name = body["metadata"]["name"]
        if self.refusal:
            raise self.refusal
        if name in self.nodes:
            raise KubernetesError(409, "AlreadyExists", f"nodes {name!r} already exists")
        self.nodes[name] = body | {"metadata": body["metadata"] | {"uid": f"uid-{name}"}}
        return self.nodes[name]

    def delete(self, path: str, *, uid: str) -> None:
        found = self.nodes[path.rpartition("/")[2]]
        assert found["metadata"]["uid"] == uid
        if found["metadata"].get("finalizers"):
            found["metadata"]["deletionTimestamp"] = "2026-01-01T00:00:00Z"
        else:
            del self.nodes[path.rpartition("/")[2]]


def user_data_of(endpoint: str = ENDPOINT, authority: bytes = AUTHORITY, **spec: Any) -> str:
    cluster = {
        "name": "demo",
        "apiServerEndpoint": endpoint,
        "certificateAuthority": base64.b64encode(authority).decode(),
        "cidr": "10.100.0.0/16",
    } | spec.pop("cluster", {})
    document = {
        "apiVersion": "node.eks.aws/v1alpha1",
        "kind": "NodeConfig",
        "spec": {"cluster": cluster, **spec},
    }
    return base64.b64encode(yaml.safe_dump(document).encode()).decode()
