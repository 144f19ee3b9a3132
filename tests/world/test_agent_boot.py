"""Boot on a real control plane and the stand-in AWS: an instance becomes the node its user data says."""

import base64
import datetime as dt
import json
from collections.abc import Generator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import boto3
import pytest
from tests.world.local_pods import until

from daiku_local import down, toolchain, up
from daiku_local.agent.kubernetes_api import KubernetesApi, KubernetesError
from daiku_local.agent.objects import dig, items
from daiku_local.world import World

pytestmark = pytest.mark.world

CLUSTER = "demo"


@dataclass(frozen=True, kw_only=True)
class Cloud:
    """A world whose AWS has a cluster, a subnet, and two node roles, only one of them with access."""

    world: World
    ec2: Any
    eks: Any
    subnet: str
    image: str

    @property
    def api(self) -> KubernetesApi:
        return KubernetesApi(self.world.kubeconfig)

    def launch(self, user_data: str, *, profile: str | None = "node") -> str:
        extra = {"IamInstanceProfile": {"Name": profile}} if profile else {}
        answer = self.ec2.run_instances(
            ImageId=self.image,
            MinCount=1,
            MaxCount=1,
            InstanceType="m6g.large",
            SubnetId=self.subnet,
            UserData=user_data,
            **extra,
        )
        return answer["Instances"][0]["InstanceId"]

    def user_data(self, **changed: Any) -> str:
        authority = base64.b64encode((self.world.pki / "ca.crt").read_bytes()).decode()
        cluster = {
            "name": CLUSTER,
            "apiServerEndpoint": self.world.kubernetes_endpoint,
            "certificateAuthority": authority,
            "cidr": self.world.service_cidr,
        } | changed.pop("cluster", {})
        document = {
            "apiVersion": "node.eks.aws/v1alpha1",
            "kind": "NodeConfig",
            "spec": {"cluster": cluster, **changed},
        }
        return json.dumps(document)

    def story(self, instance_id: str) -> Any:
        status = json.loads((Path(self.world.folder) / "agent-status.json").read_text())
        return status["instances"].get(instance_id, {})

    def labelled(self, key: str, value: str) -> list[Any]:
        """Nodes with a label."""
        return items(self.api.get("/api/v1/nodes", {"labelSelector": f"{key}={value}"}), "items")

    def node(self, instance_id: str) -> Any:
        """The Node of an instance, None if there is none."""
        for node in items(self.api.get("/api/v1/nodes"), "items"):
            if dig(node, "spec", "providerID").endswith(f"/{instance_id}"):
                return node
        return None


@pytest.fixture(scope="module")
def cloud(tmp_path_factory: pytest.TempPathFactory) -> Generator[Cloud]:
    folder = tmp_path_factory.mktemp("boot") / "world"
    world = up.up(folder, toolchain.ensure(), _now(), print)
    (folder / "agent.json").write_text(json.dumps({"boot_delay_seconds": 0.5}))
    try:
        yield _furnish(world)
    finally:
        down.down(folder, print)


def test_an_instance_becomes_the_node_that_its_user_data_describes(cloud: Cloud) -> None:
    kubelet = {
        "config": {
            "maxPods": 17,
            "registerWithTaints": [{"key": "karpenter.sh/unregistered", "effect": "NoExecute"}],
        },
        "flags": ['--node-labels="karpenter.sh/nodepool=default,team=a"'],
    }

    instance_id = cloud.launch(cloud.user_data(kubelet=kubelet))

    node = until(lambda: cloud.node(instance_id), _is_ready)
    described = cloud.ec2.describe_instances(InstanceIds=[instance_id])
    instance = described["Reservations"][0]["Instances"][0]
    zone = instance["Placement"]["AvailabilityZone"]
    assert dig(node, "metadata", "name") == instance["PrivateDnsName"]
    assert dig(node, "spec", "providerID") == f"aws:///{zone}/{instance_id}"
    assert {each["key"] for each in items(node, "spec", "taints")} >= {"karpenter.sh/unregistered"}
    labels = dig(node, "metadata", "labels")
    assert labels["karpenter.sh/nodepool"] == "default"
    assert labels["team"] == "a"
    assert labels["kubernetes.io/arch"] == "arm64"
    assert labels["node.kubernetes.io/instance-type"] == "m6g.large"
    assert labels["topology.kubernetes.io/zone"] == zone
    assert labels["topology.k8s.aws/zone-id"].startswith("usw2-az")
    assert dig(node, "status", "capacity", "cpu") == "2"
    assert dig(node, "status", "allocatable", "cpu") == "1930m"
    assert dig(node, "status", "allocatable", "pods") == "17"
    assert dig(node, "status", "nodeInfo", "kubeletVersion").startswith(
        f"v{toolchain.kubernetes_version()}."
    )
    assert cloud.story(instance_id)["state"] == "joined"


def test_instances_of_a_managed_node_group_join_with_its_labels_and_taints(cloud: Cloud) -> None:
    cloud.eks.get_waiter("cluster_active").wait(
        name=CLUSTER, WaiterConfig={"Delay": 1, "MaxAttempts": 60}
    )

    cloud.eks.create_nodegroup(
        clusterName=CLUSTER,
        nodegroupName="system",
        subnets=[cloud.subnet],
        nodeRole="arn:aws:iam::123456789012:role/system",
        scalingConfig={"minSize": 1, "maxSize": 2, "desiredSize": 2},
        instanceTypes=["m6g.large"],
        amiType="AL2023_ARM_64_STANDARD",
        labels={"tier": "system"},
        taints=[{"key": "CriticalAddonsOnly", "value": "true", "effect": "NO_SCHEDULE"}],
    )

    nodes = until(lambda: cloud.labelled("tier", "system"), lambda nodes: len(nodes) == 2)
    assert {dig(node, "metadata", "labels")["eks.amazonaws.com/nodegroup"] for node in nodes} == {
        "system"
    }
    taint = {"key": "CriticalAddonsOnly", "value": "true", "effect": "NoSchedule"}
    assert all(taint in items(node, "spec", "taints") for node in nodes)


def test_a_node_goes_away_with_its_instance_unless_a_finalizer_holds_it(cloud: Cloud) -> None:
    instance_id = cloud.launch(cloud.user_data())
    node = until(lambda: cloud.node(instance_id), bool)
    path = f"/api/v1/nodes/{dig(node, 'metadata', 'name')}"
    cloud.api.patch(path, {"metadata": {"finalizers": ["karpenter.sh/termination"]}})

    cloud.ec2.terminate_instances(InstanceIds=[instance_id])

    held = until(
        lambda: cloud.node(instance_id), lambda node: dig(node, "metadata", "deletionTimestamp")
    )
    assert dig(held, "metadata", "finalizers") == ["karpenter.sh/termination"]
    cloud.api.patch(path, {"metadata": {"finalizers": None}}, "application/merge-patch+json")
    until(lambda: cloud.node(instance_id), lambda node: node is None)


def test_a_node_that_no_cloud_provider_made_is_left_alone(cloud: Cloud) -> None:
    kwok = {"metadata": {"name": "other"}, "spec": {"providerID": "kwok://other"}}
    cloud.api.create("/api/v1/nodes", kwok)

    instance_id = cloud.launch(cloud.user_data())
    until(lambda: cloud.node(instance_id), bool)
    cloud.ec2.terminate_instances(InstanceIds=[instance_id])
    until(lambda: cloud.node(instance_id), lambda node: node is None)

    assert cloud.api.get("/api/v1/nodes/other")


def test_an_instance_joins_as_soon_as_its_role_has_access(cloud: Cloud) -> None:
    instance_id = cloud.launch(cloud.user_data(), profile="stranger")

    story = until(lambda: cloud.story(instance_id), lambda story: story.get("state") == "waiting")
    assert "role/stranger has no access entry in cluster 'demo'" in story["reason"]
    assert cloud.node(instance_id) is None
    _grant(cloud.eks, "stranger")

    until(lambda: cloud.node(instance_id), bool)


@pytest.mark.parametrize(
    ("changed", "reason"),
    [
        pytest.param(
            {"cluster": {"apiServerEndpoint": "https://elsewhere.example"}},
            "names the API server https://elsewhere.example",
            id="another cluster's endpoint",
        ),
        pytest.param(
            {"cluster": {"certificateAuthority": "QUJD"}},
            "another certificate authority",
            id="another cluster's certificate authority",
        ),
        pytest.param(
            {"kubelet": {"flags": ["--node-labels=kubernetes.io/role=x"]}},
            "--node-labels sets kubernetes.io/role",
            id="a label that is not the kubelet's to set",
        ),
        pytest.param(
            {"kubelet": {"flags": ["--node-labels=team=(a)"]}},
            "the API server refuses its Node",
            id="a label that the API server does not take",
        ),
    ],
)
def test_an_instance_that_cannot_join_says_why(
    cloud: Cloud, changed: dict[str, Any], reason: str
) -> None:
    instance_id = cloud.launch(cloud.user_data(**changed))

    story = until(lambda: cloud.story(instance_id), lambda story: story.get("state") == "refused")
    assert reason in story["reason"]
    assert cloud.node(instance_id) is None


def test_a_node_that_somebody_deletes_does_not_come_back(cloud: Cloud) -> None:
    instance_id = cloud.launch(cloud.user_data())
    node = until(lambda: cloud.node(instance_id), bool)
    path = f"/api/v1/nodes/{dig(node, 'metadata', 'name')}"
    cloud.api.delete(path, uid=dig(node, "metadata", "uid"))

    another = cloud.launch(cloud.user_data())
    until(lambda: cloud.node(another), bool)

    with pytest.raises(KubernetesError, match="NotFound"):
        cloud.api.get(path)


def _furnish(world: World) -> Cloud:
    keys = dict.fromkeys(("aws_access_key_id", "aws_secret_access_key"), "local")
    session: Any = boto3.Session(region_name=world.region, **keys)
    iam, ec2, eks = (
        session.client(name, endpoint_url=world.aws_endpoint) for name in ("iam", "ec2", "eks")
    )
    for role, service in (
        ("control-plane", "eks"),
        ("node", "ec2"),
        ("stranger", "ec2"),
        ("system", "ec2"),
    ):
        iam.create_role(RoleName=role, AssumeRolePolicyDocument=_trust(service))
        iam.create_instance_profile(InstanceProfileName=role)
        iam.add_role_to_instance_profile(InstanceProfileName=role, RoleName=role)
    vpc = ec2.create_vpc(CidrBlock="10.0.0.0/16")["Vpc"]["VpcId"]
    subnets = [
        ec2.create_subnet(
            VpcId=vpc, CidrBlock=f"10.0.{number}.0/24", AvailabilityZone=f"us-west-2{letter}"
        )["Subnet"]["SubnetId"]
        for number, letter in enumerate("ab")
    ]
    eks.create_cluster(
        name=CLUSTER,
        roleArn="arn:aws:iam::123456789012:role/control-plane",
        resourcesVpcConfig={"subnetIds": subnets},
        accessConfig={"authenticationMode": "API"},
    )
    _grant(eks, "node")
    images = ec2.describe_images(Filters=[{"Name": "architecture", "Values": ["arm64"]}])["Images"]
    image = images[0]["ImageId"] if images else "ami-0123456789abcdef0"
    return Cloud(world=world, ec2=ec2, eks=eks, subnet=subnets[0], image=image)


def _trust(service: str) -> str:
    statement = {
        "Effect": "Allow",
        "Principal": {"Service": f"{service}.amazonaws.com"},
        "Action": "sts:AssumeRole",
    }
    return json.dumps({"Version": "2012-10-17", "Statement": [statement]})


def _grant(eks: Any, role: str) -> None:
    arn = f"arn:aws:iam::123456789012:role/{role}"
    eks.create_access_entry(clusterName=CLUSTER, principalArn=arn, type="EC2_LINUX")


def _is_ready(node: Any) -> bool:
    conditions = {each["type"]: each["status"] for each in items(node, "status", "conditions")}
    return conditions.get("Ready") == "True"


def _now() -> dt.datetime:
    return dt.datetime.now(dt.UTC)  # noqa: TID251 - certificates must be valid in real time
