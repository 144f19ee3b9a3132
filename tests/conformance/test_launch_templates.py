"""What a launch template says, and when two machines share one: its name is a hash of what it says.

Source: Karpenter AWS v1.14.1, pkg/providers/launchtemplate/suite_test.go (names, tags, network interfaces, tenancy,
capacity reservations, metadata options, placement) and pkg/providers/amifamily/resolver.go.
"""

from dataclasses import replace
from typing import Any

import pytest
from tests.unit.daiku_edge import aws_facts

from daiku.cloud.aws import launch_templates
from daiku.cloud.aws.node_class import Reserved
from daiku.lifecycle.node_class_drift import RESOLVED_GROUP
from daiku.model.nodeclass import NodeClass

RESERVED = Reserved(
    id="cr-1", zone="us-west-2a", instance_type="m5.large", kind="default", interruptible=False, usable=True
)  # fmt: skip
BLOCK = replace(RESERVED, id="cr-2", kind="capacity-block")
INTERRUPTIBLE = replace(RESERVED, id="cr-3", interruptible=True)
PLAIN: dict[str, Any] = {
    "cluster": "demo", "image_id": "ami-1", "user_data": "", "capacity_type": "on-demand", "nodepool": "default",
}  # fmt: skip
OWN = {
    "karpenter.sh/nodepool": "default",
    "kubernetes.io/cluster/demo": "owned",
    "eks:eks-cluster-name": "demo",
    "karpenter.k8s.aws/ec2nodeclass": "default",
}


def content(found: NodeClass | None = None, **changed: Any) -> dict[str, Any]:
    return launch_templates.content(found=found or aws_facts.node_class(), **{**PLAIN, **changed})


def in_group(group: str) -> NodeClass:
    found = aws_facts.node_class(placementGroupSelector={"name": "near"})
    return replace(found, meta=replace(found.meta, annotations={RESOLVED_GROUP: group}))


SPECS: dict[str, Any] = {
    "tags": {"team": "a"},
    "associatePublicIPAddress": True,
    "ipPrefixCount": 1,
    "detailedMonitoring": True,
    "metadataOptions": {"httpTokens": "optional"},
    "connectionTracking": {"udpTimeout": 30},
    "cpuOptions": {"nestedVirtualization": "enabled"},
    "blockDeviceMappings": [{"deviceName": "/dev/sdb"}],
}
CHANGES: dict[str, dict[str, Any]] = {
    "image": {"image_id": "ami-2"},
    "user data": {"user_data": "I2Nsb3Vk"},
    "capacity type": {"capacity_type": "spot"},
    "NodePool": {"nodepool": "another"},
    "cluster": {"cluster": "another"},
    "EFAs": {"efas": 1},
    "IPv6": {"is_ipv6": True},
    "reservation": {"reservation": RESERVED},
    "no open reservation": {"opts_out": True},
    "tenancy": {"tenancy": "dedicated"},
    "partition": {"partition": 1},
    "placement group": {"found": in_group("pg-1/cluster")},
    **{name: {"found": aws_facts.node_class(**{name: value})} for name, value in SPECS.items()},
}


@pytest.mark.parametrize("what", CHANGES)
def test_whatever_shapes_a_machine_makes_another_template(what: str) -> None:
    changed = launch_templates.name_of(content(**CHANGES[what]))

    assert changed != launch_templates.name_of(content())


def test_what_says_the_same_has_the_same_name() -> None:
    first = aws_facts.node_class(tags={"a": "1", "b": "2"})
    second = aws_facts.node_class(tags={"b": "2", "a": "1"})

    names = {launch_templates.name_of(content(each)) for each in (first, second)}

    assert len(names) == 1
    (name,) = names
    assert name.startswith("karpenter.k8s.aws/")
    assert name.removeprefix("karpenter.k8s.aws/").isdecimal()


@pytest.mark.parametrize(
    ("capacity_type", "kinds"),
    [
        ("on-demand", ["network-interface"]),
        ("spot", ["network-interface", "spot-instances-request"]),
        ("reserved", ["network-interface"]),
    ],
)
def test_what_a_template_tags(capacity_type: str, kinds: list[str]) -> None:
    found = aws_facts.node_class(tags={"team": "a", "karpenter.sh/nodepool": "not this one"})

    made = content(found, capacity_type=capacity_type)["TagSpecifications"]

    assert [each["ResourceType"] for each in made] == kinds
    for each in made:
        assert {t["Key"]: t["Value"] for t in each["Tags"]} == {**OWN, "team": "a"}


@pytest.mark.parametrize(
    ("changed", "specification", "market"),
    [
        pytest.param({}, None, None, id="reservations are not used at all"),
        pytest.param(
            {"opts_out": True}, {"CapacityReservationPreference": "none"}, None, id="others leave open ones alone"
        ),
        pytest.param(
            {"reservation": RESERVED, "opts_out": True},
            {
                "CapacityReservationPreference": "capacity-reservations-only",
                "CapacityReservationTarget": {"CapacityReservationId": "cr-1"},
            },
            None,
            id="an ordinary reservation",
        ),
        pytest.param(
            {"reservation": BLOCK, "opts_out": True},
            {
                "CapacityReservationPreference": "capacity-reservations-only",
                "CapacityReservationTarget": {"CapacityReservationId": "cr-2"},
            },
            {"MarketType": "capacity-block"},
            id="a capacity block",
        ),
        pytest.param(
            {"reservation": INTERRUPTIBLE, "opts_out": True},
            {
                "CapacityReservationPreference": "capacity-reservations-only",
                "CapacityReservationTarget": {"CapacityReservationId": "cr-3"},
            },
            {"MarketType": "interruptible-capacity-reservation"},
            id="an interruptible reservation",
        ),
    ],
)  # fmt: skip
def test_what_a_template_says_of_reservations(
    changed: dict[str, Any], specification: Any, market: Any
) -> None:
    made = content(**changed)

    assert made.get("CapacityReservationSpecification") == specification
    assert made.get("InstanceMarketOptions") == market


@pytest.mark.parametrize(
    ("found", "changed", "placement"),
    [
        pytest.param(None, {}, None, id="anywhere"),
        pytest.param(None, {"tenancy": "dedicated"}, {"Tenancy": "dedicated"}, id="dedicated"),
        pytest.param(in_group("pg-1/cluster"), {}, {"GroupId": "pg-1"}, id="a group"),
        pytest.param(
            in_group("pg-1/partition/7"),
            {"partition": 7},
            {"GroupId": "pg-1", "PartitionNumber": 7},
            id="a partition",
        ),
        pytest.param(
            in_group("pg-1/spread"),
            {"tenancy": "dedicated"},
            {"GroupId": "pg-1", "Tenancy": "dedicated"},
            id="both",
        ),
    ],
)
def test_where_machines_of_a_template_are(
    found: NodeClass | None, changed: dict[str, Any], placement: Any
) -> None:
    assert content(found, **changed).get("Placement") == placement


def test_metadata_options_have_their_defaults_and_tags_are_never_shown() -> None:
    assert content()["MetadataOptions"] == {
        "HttpEndpoint": "enabled",
        "HttpProtocolIpv6": "disabled",
        "HttpPutResponseHopLimit": 1,
        "HttpTokens": "required",
        "InstanceMetadataTags": "disabled",
    }


@pytest.mark.parametrize("region", sorted(launch_templates.WITHOUT_METADATA_IPV6))
def test_regions_that_know_no_ipv6_of_metadata_are_not_told_of_it(region: str) -> None:
    assert len(launch_templates.WITHOUT_METADATA_IPV6) == 6
    assert "HttpProtocolIpv6" not in content(region=region)["MetadataOptions"]
    assert "HttpProtocolIpv6" in content(region="us-gov-west-1")["MetadataOptions"]


@pytest.mark.parametrize("public", [True, False, None])
@pytest.mark.parametrize("efas", [0, 2])
def test_a_public_address_and_efas_go_together(*, public: bool | None, efas: int) -> None:
    made = content(aws_facts.node_class(associatePublicIPAddress=public), efas=efas)

    interfaces = made["NetworkInterfaces"]
    assert len(interfaces) == max(1, efas)
    assert [i.get("AssociatePublicIpAddress") for i in interfaces] == [public] * len(interfaces)
    assert "SecurityGroupIds" not in made
    assert all(i["Groups"] == ["sg-1"] for i in interfaces)
