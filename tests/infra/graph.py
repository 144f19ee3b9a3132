"""Runs a Pulumi program without an engine, and gives the resources that it would register.

Pulumi's own mocks show a resource's type, name and inputs. The monitor here also sees what an engine
would see beside them: parent, dependencies, provider, timeouts, and the names of what is exported.
"""

import asyncio
import gc
import json
import warnings
from collections.abc import Callable, Mapping
from concurrent import futures
from dataclasses import dataclass, field
from typing import Any

import pulumi
from google.protobuf.struct_pb2 import ListValue, Struct
from pulumi.runtime import mocks, rpc, settings

import daiku_infra as infra

ACCOUNT = "123456789012"
REGION = "us-west-2"
ISSUER = "oidc.eks.us-west-2.amazonaws.com/id/0123456789ABCDEF0123456789ABCDEF"
VERSIONS = ("1.34", "1.35", "1.36")
CLUSTER_GROUP = "sg-0123456789abcdef0"
NODE_CLASS: infra.NodeClassSpec = {"amiSelectorTerms": [{"alias": "al2023@latest"}]}
NODE_POOL: infra.NodePoolSpec = {
    "template": {
        "spec": {
            "nodeClassRef": {
                "group": "karpenter.k8s.aws",
                "kind": "EC2NodeClass",
                "name": "default",
            },
            "requirements": [],
        }
    }
}
_RESOURCE_REFERENCE = {"4dabf18193072939515e22adb298388d": "5cf8f73096256a8f31e491e813e4eb8e"}


def cluster_ref(**changes: Any) -> infra.ClusterRef:
    """A cluster that somebody else made."""
    values: dict[str, Any] = {
        "name": "theirs",
        "region": REGION,
        "account_id": ACCOUNT,
        "existing_name": "theirs",
        "endpoint": "https://theirs.example.com",
        "certificate_authority": "Q0E=",
        "oidc_provider_arn": f"arn:aws:iam::{ACCOUNT}:oidc-provider/theirs",
        "oidc_issuer": "theirs",
        "kubeconfig": "{}",
        "vpc_id": "vpc-1",
        "private_subnet_ids": ["subnet-1"],
        "security_group_id": "sg-1",
        "system_nodes": "theirs",
    }
    return infra.ClusterRef(**{**values, **changes})


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Registered:
    """One resource as an engine would see it."""

    type: str
    name: str
    urn: str
    inputs: Mapping[str, Any]
    parent: str
    provider: str
    depends_on: frozenset[str]
    delete_timeout: str
    protect: bool
    secrets: frozenset[str]


@dataclass(slots=True)
class Graph:
    """Everything that a program registered."""

    resources: dict[str, Registered] = field(default_factory=dict)
    exports: set[str] = field(default_factory=set)

    def of(self, resource_type: str) -> list[Registered]:
        return [r for r in self.resources.values() if r.type == resource_type]

    def one(self, resource_type: str, name: str | None = None) -> Registered:
        found = [r for r in self.of(resource_type) if name in {None, r.name}]
        assert len(found) == 1, [resource.name for resource in found]
        return found[0]

    def needs(self, resource: Registered) -> set[str]:
        """URNs of all that exists before `resource` does, and outlives it."""
        seen: set[str] = set()
        todo = list(resource.depends_on)
        while todo:
            urn = todo.pop()
            if urn not in seen and urn in self.resources:
                seen.add(urn)
                todo += self.resources[urn].depends_on
        return seen


def register(program: Callable[[], Any], config: Mapping[str, str] | None = None) -> Graph:
    """Run `program` as the stack `test` of the project `daiku`."""
    graph = Graph()
    pulumi.runtime.set_all_config(dict(config or {}))

    @pulumi.runtime.test
    def run() -> None:
        program()

    loop = asyncio.new_event_loop()
    answering = futures.ThreadPoolExecutor()
    loop.set_default_executor(answering)
    asyncio.set_event_loop(loop)
    try:
        mocks.set_mocks(_Mocks(), project="daiku", stack="test", monitor=_Monitor(graph))
        run()
        graph.exports = set(settings.get_root_resource().outputs)
    finally:
        answering.shutdown()
        loop.close()
        asyncio.set_event_loop(None)
        forget_loops()
    return graph


def forget_loops() -> None:
    """Collect the event loops that the mocks leave open in every thread that they answered from."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ResourceWarning)
        gc.collect()


def _refer_by_urn(inputs: Struct) -> None:
    """Write resources among the inputs as URNs: the mocks would make them again, and wait for ever."""
    [(signature, mark)] = list(_RESOURCE_REFERENCE.items())
    for key, value in list(inputs.items()):
        if isinstance(value, Struct) and signature in value and value[signature] == mark:
            inputs[key] = value["urn"]


def _is_secret(value: Any) -> bool:
    """Whether a value is a secret, or holds one at any depth."""
    if isinstance(value, Struct):
        fields = dict(value.items())
        return rpc.is_rpc_secret(fields) or any(_is_secret(field) for field in fields.values())
    return isinstance(value, ListValue) and any(_is_secret(item) for item in value)


class _Mocks(mocks.Mocks):
    def new_resource(self, args: mocks.MockResourceArgs) -> tuple[str, dict[str, Any]]:
        outputs = dict(args.inputs)
        match args.typ:
            case "eks:index:Cluster":
                outputs |= {
                    "kubeconfigJson": json.dumps({"kind": "Config"}),
                    "clusterSecurityGroupId": CLUSTER_GROUP,
                    "oidcProviderArn": f"arn:aws:iam::{ACCOUNT}:oidc-provider/{ISSUER}",
                    "oidcProviderUrl": f"https://{ISSUER}",
                }
            case "aws:sqs/queue:Queue":
                name = args.inputs["name"]
                outputs["arn"] = f"arn:aws:sqs:{REGION}:{ACCOUNT}:{name}"
                outputs["url"] = f"https://sqs.{REGION}.amazonaws.com/{ACCOUNT}/{name}"
            case "aws:ec2/vpc:Vpc" if args.inputs.get("assignGeneratedIpv6CidrBlock"):
                outputs["ipv6CidrBlock"] = "2600:1f14::/56"
            case "aws:ec2/launchTemplate:LaunchTemplate":
                outputs["latestVersion"] = 1
            case "aws:ecr/repository:Repository":
                host = f"{ACCOUNT}.dkr.ecr.{REGION}.amazonaws.com"
                outputs |= {"repositoryUrl": f"{host}/{args.inputs['name']}", "registryId": ACCOUNT}
            case kind if kind.startswith("aws:"):
                outputs["arn"] = f"arn:aws:mock::{ACCOUNT}:{kind.split(':')[-1]}/{args.name}"
        return f"{args.name}-id", outputs

    def call(self, args: mocks.MockCallArgs) -> dict[str, Any]:
        answers = {
            "aws:index/getPartition:getPartition": {"partition": "aws"},
            "aws:index/getCallerIdentity:getCallerIdentity": {"accountId": ACCOUNT},
            "aws:index/getRegion:getRegion": {"region": REGION},
            "aws:index/getAvailabilityZones:getAvailabilityZones": {
                "names": [f"{REGION}{letter}" for letter in "abcd"]
            },
            "aws:eks/getClusterVersions:getClusterVersions": {
                "clusterVersions": [{"clusterVersion": version} for version in VERSIONS]
            },
            "aws:eks/getCluster:getCluster": {
                "name": args.args.get("name"),
                "endpoint": "https://cluster.example.com",
                "certificateAuthorities": [{"data": "Q0E="}],
                "identities": [{"oidcs": [{"issuer": f"https://{ISSUER}"}]}],
                "vpcConfig": {
                    "clusterSecurityGroupId": CLUSTER_GROUP,
                    "subnetIds": ["subnet-1", "subnet-2"],
                    "vpcId": "vpc-1",
                },
            },
            "aws:ecr/getAuthorizationToken:getAuthorizationToken": {
                "userName": "AWS",
                "password": "secret",
            },
            "aws:eks/getAddonVersion:getAddonVersion": {
                "version": "v9.9.9-eksbuild.2"
                if args.args.get("mostRecent")
                else "v9.9.9-eksbuild.1"
            },
        }
        return answers[args.token]


class _Monitor(mocks.MockMonitor):
    def __init__(self, graph: Graph) -> None:
        super().__init__(_Mocks())
        self._graph = graph

    def RegisterResource(self, request: Any) -> Any:  # noqa: N802  (gRPC's name)
        _refer_by_urn(request.object)
        response = super().RegisterResource(request)
        if request.type == "pulumi:pulumi:Stack":
            return response
        if response.urn in self._graph.resources:
            raise AssertionError(f"two resources are {response.urn}")
        self._graph.resources[response.urn] = Registered(
            type=request.type,
            name=request.name,
            urn=response.urn,
            inputs=rpc.deserialize_properties(request.object, keep_unknowns=True),
            parent=request.parent,
            provider=request.provider,
            depends_on=frozenset(request.dependencies),
            delete_timeout=request.customTimeouts.delete,
            protect=request.protect,
            secrets=frozenset(key for key, value in request.object.items() if _is_secret(value)),
        )
        if request.type == "eks:index:Cluster":
            response.object["eksCluster"] = self._live_cluster(response.urn, request)
        return response

    def _live_cluster(self, parent: str, request: Any) -> dict[str, str]:
        """The EKS cluster that a real provider would make as the component's child."""
        urn = self.make_urn(parent, "aws:eks/cluster:Cluster", request.name)
        state = {
            "name": request.object["name"],
            "endpoint": "https://cluster.example.com",
            "certificateAuthority": {"data": "Q0E="},
        }
        registration = mocks.MockMonitor.ResourceRegistration(urn, request.object["name"], state)
        self.resources[urn] = registration
        return {**_RESOURCE_REFERENCE, "urn": urn, "id": registration.id, "packageVersion": ""}
