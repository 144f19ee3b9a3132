"""What a bystander sees: pods and nodes from the API server, instances and prices from AWS.

Nothing here asks the controller; a demo that believed the controller's own word would prove nothing.
"""

# boto3 and kubernetes have no types of their own; what leaves this module is typed.
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false
# pyright: reportMissingTypeStubs=false

import json
from dataclasses import dataclass
from functools import cache
from typing import Any

import boto3.session
import kubernetes.client
import kubernetes.config

from daiku_local.world import World

POOL_LABEL = "karpenter.sh/nodepool"
FLEET_TAG = "aws:ec2:fleet-id"
"""Tag by which EC2 says which fleet launched an instance."""


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeSeen:
    """A node that a NodePool made, joined with its instance."""

    name: str
    """Node name, or the instance id while the instance has no Node."""
    instance_type: str
    zone: str
    capacity_type: str
    state: str
    """Ready, NotReady, Draining, or the instance's state while it has no Node."""
    pods: int
    """Running pods of the workload on it."""
    usd_per_hour: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Seen:
    """One look at the world."""

    pods: int
    """Pods of the workload, whatever their phase."""
    running: int
    """Pods of the workload that are Running and ready."""
    nodes: tuple[NodeSeen, ...]
    """Nodes of NodePools, and their instances that have not joined or not gone yet."""

    @property
    def usd_per_hour(self) -> float:
        """What `nodes` cost together."""
        return sum(node.usd_per_hour for node in self.nodes)


class Observer:
    """Looks at one world, for the pods of one Deployment."""

    def __init__(self, world: World, namespace: str, selector: str) -> None:
        self._namespace = namespace
        self._selector = selector
        configuration = kubernetes.client.Configuration()
        kubernetes.config.load_kube_config(
            str(world.kubeconfig), client_configuration=configuration
        )
        self._core = kubernetes.client.CoreV1Api(kubernetes.client.ApiClient(configuration))
        self._session = boto3.session.Session(
            aws_access_key_id="local",
            aws_secret_access_key="local",  # noqa: S106 - the stand-in takes any
            region_name=world.region,
        )
        self._endpoint = world.aws_endpoint
        self._region = world.region
        self._ec2: Any = self._client("ec2")
        self._told: set[str] = set()
        self._on_demand = cache(self._fetch_on_demand)
        self._spot = cache(self._fetch_spot)

    def look(self) -> Seen:
        """Take one look at pods, nodes and instances."""
        pods = self._core.list_namespaced_pod(self._namespace, label_selector=self._selector).items
        nodes = self._core.list_node(label_selector=POOL_LABEL).items
        by_instance = {_instance_id(node): node for node in nodes}
        running = [pod for pod in pods if _is_running(pod)]
        return Seen(
            pods=len(pods),
            running=len(running),
            nodes=tuple(
                self._node(instance, by_instance.get(instance["InstanceId"]), running)
                for instance in self._instances()
            ),
        )

    def second_choices(self) -> list[tuple[str, str]]:
        """(pool that had nothing, pool that EC2 took in the same call), for each fleet since this was asked last."""
        ids: set[str] = {
            tag["Value"]
            for instance in self._instances()
            for tag in instance["Tags"]
            if tag["Key"] == FLEET_TAG
        } - self._told
        if not ids:
            return []
        self._told |= ids
        fleets = self._ec2.describe_fleets(FleetIds=sorted(ids))["Fleets"]
        return [
            (_pool(refused), _pool(taken))
            for fleet in fleets
            for refused in fleet["Errors"][:1]
            for taken in fleet["Instances"][:1]
        ]

    def _instances(self) -> list[dict[str, Any]]:
        """Instances of NodePools that cost money: every state before terminated."""
        pages = self._ec2.get_paginator("describe_instances").paginate(
            Filters=[
                {"Name": "tag-key", "Values": [POOL_LABEL]},
                {
                    "Name": "instance-state-name",
                    "Values": ["pending", "running", "shutting-down", "stopping", "stopped"],
                },
            ]
        )
        found = [i for page in pages for r in page["Reservations"] for i in r["Instances"]]
        return sorted(found, key=lambda instance: (instance["LaunchTime"], instance["InstanceId"]))

    def _node(self, instance: dict[str, Any], node: Any, running: list[Any]) -> NodeSeen:
        zone: str = instance["Placement"]["AvailabilityZone"]
        kind: str = instance["InstanceType"]
        spot = instance.get("InstanceLifecycle") == "spot"
        return NodeSeen(
            name=node.metadata.name if node else instance["InstanceId"],
            instance_type=kind,
            zone=zone,
            capacity_type="spot" if spot else "on-demand",
            state=_state(node) if node else instance["State"]["Name"],
            pods=sum(node is not None and p.spec.node_name == node.metadata.name for p in running),
            usd_per_hour=self._spot(kind, zone) if spot else self._on_demand(kind),
        )

    def _client(self, service: str) -> Any:
        return self._session.client(service, endpoint_url=self._endpoint)

    def _fetch_on_demand(self, instance_type: str) -> float:
        answer = self._client("pricing").get_products(
            ServiceCode="AmazonEC2",
            Filters=[
                {"Type": "TERM_MATCH", "Field": "instanceType", "Value": instance_type},
                {"Type": "TERM_MATCH", "Field": "regionCode", "Value": self._region},
            ],
        )
        for product in map(json.loads, answer["PriceList"]):
            for term in product["terms"]["OnDemand"].values():
                for dimension in term["priceDimensions"].values():
                    return float(dimension["pricePerUnit"]["USD"])
        raise LookupError(f"the Pricing API has no on-demand price of {instance_type}")

    def _fetch_spot(self, instance_type: str, zone: str) -> float:
        history = self._ec2.describe_spot_price_history(
            InstanceTypes=[instance_type], AvailabilityZone=zone, MaxResults=1
        )
        return float(history["SpotPriceHistory"][0]["SpotPrice"])


def _pool(told: dict[str, Any]) -> str:
    override = told["LaunchTemplateAndOverrides"]["Overrides"]
    return f"{told['Lifecycle']} {override['InstanceType']} in {override['AvailabilityZone']}"


def _instance_id(node: Any) -> str:
    return (node.spec.provider_id or "").rsplit("/", 1)[-1]


def _is_running(pod: Any) -> bool:
    conditions = pod.status.conditions or []
    ready = any(c.type == "Ready" and c.status == "True" for c in conditions)
    return pod.status.phase == "Running" and ready and pod.metadata.deletion_timestamp is None


def _state(node: Any) -> str:
    if any(taint.key == "karpenter.sh/disrupted" for taint in node.spec.taints or []):
        return "Draining"
    conditions = node.status.conditions or []
    ready = any(c.type == "Ready" and c.status == "True" for c in conditions)
    return "Ready" if ready else "NotReady"
