"""The pure parts of EC2 and EKS: filters, templates, images, user data of node groups."""

import email
from typing import Any

import pytest
import yaml

from daiku_local.aws.ec2 import filters, images, templates
from daiku_local.aws.eks import node_config, versions
from daiku_local.aws.errors import AwsError

ROWS: list[dict[str, Any]] = [
    {"Id": "a", "State": {"Name": "running"}, "Tags": [{"Key": "k", "Value": "v1"}]},
    {"Id": "b", "State": {"Name": "pending"}, "Tags": [{"Key": "k", "Value": "v2"}]},
    {"Id": "c", "State": {"Name": "running"}, "Groups": [{"Id": "g"}, {"Id": "h"}]},
]
TABLE = {"state": filters.at("State", "Name"), "group": filters.at("Groups", "Id")}


def kept(*asked: tuple[str, list[str]]) -> str:
    wanted = [{"Name": name, "Values": values} for name, values in asked]
    return "".join(row["Id"] for row in filters.keep(ROWS, wanted, TABLE))


@pytest.mark.parametrize(
    ("asked", "expected"),
    [
        pytest.param([], "abc", id="nothing asked keeps everything"),
        pytest.param([("state", ["running"])], "ac", id="a member"),
        pytest.param([("state", ["running", "pending"])], "abc", id="one of several values"),
        pytest.param([("state", ["running"]), ("tag-key", ["k"])], "a", id="every filter"),
        pytest.param([("tag:k", ["v?"])], "ab", id="a wildcard"),
        pytest.param([("tag:k", ["v2"])], "b", id="a tag's value"),
        pytest.param([("group", ["h"])], "c", id="any entry of a list"),
        pytest.param([("group", [])], "", id="no value matches nothing"),
    ],
)
def test_a_row_is_kept_when_every_filter_matches(
    asked: list[tuple[str, list[str]]], expected: str
) -> None:
    assert kept(*asked) == expected


def test_an_unknown_filter_is_refused() -> None:
    with pytest.raises(AwsError, match="'colour' is invalid"):
        kept(("colour", ["red"]))


def test_a_request_adds_to_its_template() -> None:
    content = {
        "ImageId": "ami-1",
        "InstanceType": "m5.large",
        "MetadataOptions": {"HttpTokens": "required", "HttpEndpoint": "enabled"},
        "TagSpecifications": [{"ResourceType": "instance", "Tags": [{"Key": "a", "Value": "1"}]}],
    }
    request = {
        "InstanceType": "c5.large",
        "MetadataOptions": {"HttpTokens": "optional"},
        "TagSpecifications": [{"ResourceType": "instance", "Tags": [{"Key": "a", "Value": "2"}]}],
    }

    merged = templates.merge(content, request)

    assert merged["ImageId"] == "ami-1"
    assert merged["InstanceType"] == "c5.large"
    assert merged["MetadataOptions"] == {"HttpTokens": "optional", "HttpEndpoint": "enabled"}
    assert templates.tags_for(merged, "instance") == {"a": "2"}
    assert templates.tags_for(merged, "volume") == {}


def test_reserved_tag_keys_are_refused() -> None:
    tags = [{"Key": "aws:x", "Value": ""}]

    with pytest.raises(AwsError, match="reserved"):
        templates.tags_for(
            {"TagSpecifications": [{"ResourceType": "fleet", "Tags": tags}]}, "fleet"
        )


def test_every_image_has_an_id_and_a_name_of_its_own() -> None:
    catalogue = images.catalogue()

    assert len({image.image_id for image in catalogue}) == len(catalogue)
    assert len({name for image in catalogue for name in image.parameters}) == sum(
        len(image.parameters) for image in catalogue
    )
    assert catalogue == images.catalogue()


def test_every_version_has_a_recommended_image_of_both_architectures() -> None:
    named = {name for image in images.catalogue() for name in image.parameters}

    for version in versions.SUPPORT:
        for architecture in ("x86_64", "arm64"):
            folder = f"/aws/service/eks/optimized-ami/{version}/amazon-linux-2023/{architecture}"
            assert f"{folder}/standard/recommended" in named
            assert f"/aws/service/bottlerocket/aws-k8s-{version}/{architecture}/latest" in named


CLUSTER = {
    "name": "demo",
    "endpoint": "https://127.0.0.1:6443",
    "certificateAuthority": {"data": "Q0E="},
    "kubernetesNetworkConfig": {"serviceIpv4Cidr": "10.100.0.0/16"},
}


def parts(text: str) -> list[tuple[str, str]]:
    return [
        (part.get_content_type(), str(part.get_payload()))
        for part in email.message_from_string(text).walk()
        if not part.is_multipart()
    ]


def test_a_node_groups_user_data_is_a_node_config() -> None:
    long = {f"label-{number}": "x" * 40 for number in range(10)}

    text = node_config.render(
        CLUSTER,
        instance_type="m5.large",
        labels=long,
        taints=[{"key": "a", "value": "b", "effect": "NO_EXECUTE"}],
    )

    kind, body = parts(text)[0]
    spec = yaml.safe_load(body)["spec"]
    assert kind == "application/node.eks.aws"
    assert spec["cluster"]["apiServerEndpoint"] == "https://127.0.0.1:6443"
    assert spec["kubelet"]["config"]["clusterDNS"] == ["10.100.0.10"]
    assert spec["kubelet"]["config"]["maxPods"] == 29
    assert spec["kubelet"]["config"]["registerWithTaints"] == [
        {"key": "a", "value": "b", "effect": "NoExecute"}
    ]
    assert len(spec["kubelet"]["flags"][0].split(",")) == 10


def test_user_data_of_a_launch_template_comes_first() -> None:
    text = node_config.render(
        CLUSTER, instance_type="m5.large", labels={}, taints=[], extra="#!/bin/sh\necho hello\n"
    )

    assert [kind for kind, _ in parts(text)] == ["text/x-shellscript", "application/node.eks.aws"]
    again = node_config.render(CLUSTER, instance_type="m5.large", labels={}, taints=[], extra=text)
    assert len(parts(again)) == 3
