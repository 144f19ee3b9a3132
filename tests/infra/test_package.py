"""The components as other languages see them."""

import json
from typing import Any

import pytest
from tests.infra import graph

import daiku_infra as infra
from daiku_infra.__main__ import COMPONENTS, Provider

CLUSTER = {
    "name": "theirs",
    "region": graph.REGION,
    "accountId": graph.ACCOUNT,
    "existingName": "theirs",
    "endpoint": "https://theirs.example.com",
    "certificateAuthority": "Q0E=",
    "oidcProviderArn": "arn:aws:iam::123456789012:oidc-provider/theirs",
    "oidcIssuer": "theirs",
    "kubeconfig": "{}",
    "vpcId": "vpc-1",
    "privateSubnetIds": ["subnet-1"],
    "securityGroupId": "sg-1",
    "systemNodes": "theirs",
}


@pytest.fixture(scope="module")
def schema() -> dict[str, Any]:
    return json.loads(Provider().schema or "")


def test_every_component_is_in_the_package(schema: dict[str, Any]) -> None:
    assert set(schema["resources"]) == {f"daiku:index:{c.__name__}" for c in COMPONENTS}


def test_every_property_is_described(schema: dict[str, Any]) -> None:
    undescribed = [
        f"{token}.{name}"
        for token, entry in {**schema["resources"], **schema["types"]}.items()
        for name, value in {
            **entry.get("properties", {}),
            **entry.get("inputProperties", {}),
        }.items()
        if not value.get("description")
    ]

    assert not undescribed


def test_what_has_a_default_may_be_left_out(schema: dict[str, Any]) -> None:
    assert schema["resources"]["daiku:index:Vpc"]["requiredInputs"] == [
        "clusterName",
        "region",
        "zones",
    ]
    assert schema["types"]["daiku:index:AddonArgs"]["required"] == ["name"]


def test_a_component_is_made_from_the_words_of_the_schema() -> None:
    inputs = {
        "region": graph.REGION,
        "cidrBlock": "10.0.0.0/16",
        "clusterName": "theirs",
        "zones": ["us-west-2a", "us-west-2b"],
        "natGateways": "perZone",
    }

    made = graph.register(lambda: Provider().construct("net", "daiku:index:Vpc", inputs))

    assert len(made.of("aws:ec2/natGateway:NatGateway")) == 2


def test_nested_arguments_become_what_components_take() -> None:
    inputs = {
        "cluster": CLUSTER,
        "controller": "daiku",
        "instanceProfileName": "profile",
        "nodeClasses": [{"name": "default", "spec": {**graph.NODE_CLASS, "amiFamily": "AL2023"}}],
        "nodePools": [{"name": "default", "spec": {**graph.NODE_POOL, "weight": 1}}],
    }

    made = graph.register(lambda: Provider().construct("p", "daiku:index:NodePools", inputs))

    node_class = made.one("kubernetes:karpenter.k8s.aws/v1:EC2NodeClass")
    assert node_class.inputs["spec"]["instanceProfile"] == "profile"
    assert node_class.inputs["spec"]["amiFamily"] == "AL2023"


def test_every_field_of_a_node_pool_is_in_the_schema(schema: dict[str, Any]) -> None:
    [reference] = [schema["types"]["daiku:index:NodePoolArgs"]["properties"]["spec"]["$ref"]]
    assert reference == "#/types/daiku:index:NodePoolSpec"
    node_class = schema["types"]["daiku:index:NodeClassSpec"]
    assert node_class["required"] == ["amiSelectorTerms"]
    assert {"kubelet", "metadataOptions", "blockDeviceMappings"} <= set(node_class["properties"])


def test_a_node_pool_that_the_api_would_refuse_is_refused_before_anything_is_made() -> None:
    def program() -> None:
        spec: infra.NodePoolSpec = {**graph.NODE_POOL, "weight": 101, "limits": {"cpu": "ten"}}
        infra.NodePools(
            "p",
            infra.NodePoolsArgs(
                cluster=graph.cluster_ref(),
                controller="daiku",
                instance_profile_name="profile",
                node_classes=[],
                node_pools=[infra.NodePoolArgs(name="big", spec=spec)],
            ),
        )

    with pytest.raises(infra.NodePoolsError) as refused:
        graph.register(program)

    assert str(refused.value).splitlines()[1:] == [
        "  - NodePool big: spec.weight: 101 is more than the most, 100",
        "  - NodePool big: spec.limits.cpu: 'ten' does not belong here; write something such as 100 or 512Gi",
    ]


def test_a_cluster_hands_its_reference_out_in_the_words_of_the_schema() -> None:
    inputs = {
        "clusterName": "theirs",
        "region": graph.REGION,
        "controlPlane": {"kubernetesVersion": "1.35"},
        "vpcId": "vpc-1",
        "privateSubnetIds": ["subnet-1", "subnet-2"],
        "systemNodes": {"size": 3},
    }
    states: list[dict[str, Any]] = []

    made = graph.register(
        lambda: states.append(dict(Provider().construct("c", "daiku:index:Cluster", inputs).state))
    )

    assert set(CLUSTER) <= set(states[0]["ref"])
    assert made.one("aws:eks/nodeGroup:NodeGroup").inputs["scalingConfig"]["desiredSize"] == 3
