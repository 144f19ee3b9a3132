from pathlib import Path
from typing import Any

from daiku_infra import fixed_cost, stack_manifests


def step(kind: str, op: str = "create", name: str = "x", **inputs: Any) -> dict[str, Any]:
    urn = f"urn:pulumi:dev::daiku::{kind}::{name}"
    return {"op": op, "newState": {"urn": urn, "type": kind, "inputs": inputs}}


PREVIEW = {
    "steps": [
        step("aws:eks/cluster:Cluster"),
        step("aws:ec2/natGateway:NatGateway", name="a"),
        step("aws:ec2/natGateway:NatGateway", name="b", op="same"),
        step("aws:ec2/natGateway:NatGateway", name="c", op="delete"),
        step("aws:ec2/vpcEndpoint:VpcEndpoint", vpcEndpointType="Interface", subnetIds=["1", "2"]),
        step("aws:ec2/vpcEndpoint:VpcEndpoint", vpcEndpointType="Gateway", name="s3"),
        step(
            "aws:eks/nodeGroup:NodeGroup",
            instanceTypes=["m6i.large"],
            scalingConfig={"desiredSize": 2},
        ),
        step("aws:ec2/vpc:Vpc"),
    ]
}


def test_what_is_billed_by_the_hour_is_listed_and_nothing_else() -> None:
    found = fixed_cost.items(PREVIEW, {"m6i.large": 0.096}, zones=3)

    assert {(item.what, item.count, round(item.monthly or 0, 2)) for item in found} == {
        ("EKS control plane", 1, 73.00),
        ("NAT gateway", 2, 65.70),
        ("interface endpoint, for each zone", 2, 14.60),
        ("system node m6i.large", 2, 140.16),
    }


def test_a_price_that_is_not_known_is_said_and_not_guessed() -> None:
    table = fixed_cost.markdown(fixed_cost.items(PREVIEW, {}, zones=3))

    assert "| system node m6i.large | 2 | not known |" in table
    assert table.endswith("| **together** | | **153.30** |")


def test_a_regional_gateway_and_unknown_subnets_are_billed_for_each_zone() -> None:
    preview = {
        "steps": [
            step("aws:ec2/natGateway:NatGateway", availabilityMode="regional"),
            step("aws:ec2/vpcEndpoint:VpcEndpoint", vpcEndpointType="Interface"),
        ]
    }

    assert [item.count for item in fixed_cost.items(preview, {}, zones=3)] == [3, 3]


def test_prices_are_those_of_daiku_instance_types() -> None:
    listing = [
        {
            "name": "m6i.large",
            "offerings": [
                {"capacityType": "spot", "priceUsdPerHour": 0.03},
                {"capacityType": "on-demand", "priceUsdPerHour": 0.096},
            ],
        },
        {"name": "spot.only", "offerings": [{"capacityType": "spot", "priceUsdPerHour": 0.03}]},
    ]

    assert fixed_cost.on_demand_prices(listing) == {"m6i.large": 0.096}


def test_a_stack_file_gives_its_node_pools_as_manifests(tmp_path: Path) -> None:
    (tmp_path / "gpu.yaml").write_text(
        "{apiVersion: karpenter.sh/v1, kind: NodePool, metadata: {name: gpu}, spec: {weight: 2}}"
    )
    stack = {
        "config": {
            "daiku:nodePoolFiles": ["*.yaml"],
            "daiku:nodePools": [{"name": "default", "spec": {"weight": 1}}],
            "daiku:nodeClasses": [{"name": "default", "spec": {}}],
        }
    }

    found = stack_manifests.manifests_of(stack, tmp_path)

    assert [(m["kind"], m["metadata"]["name"]) for m in found] == [
        ("EC2NodeClass", "default"),
        ("NodePool", "default"),
        ("NodePool", "gpu"),
    ]
