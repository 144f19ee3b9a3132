"""The kwok cloud: its catalogue and the Node objects it makes."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from tests import build

from daiku.api import decode
from daiku.cloud import errors
from daiku.cloud.kwok import catalogue
from daiku.cloud.kwok.provider import KwokProvider
from daiku.model import labels
from daiku.model.instance_type import LaunchOption
from daiku.model.node import Node

OPTION = LaunchOption(
    instance_type="c-4x-amd64-linux",
    zone="test-zone-b",
    capacity_type="spot",
    price_usd_per_hour=0.07,
)
ENTRY: dict[str, Any] = {
    "name": "m5.2xlarge",
    "architecture": "amd64",
    "operatingSystems": ["linux"],
    "resources": {"cpu": "8", "memory": "32Gi", "example.com/gpu": "1"},
    "offerings": [
        {
            "Price": 0.384,
            "Available": True,
            "Requirements": [
                {"key": labels.CAPACITY_TYPE, "operator": "In", "values": ["on-demand"]},
                {"key": labels.ZONE, "operator": "In", "values": ["us-west-2a"]},
            ],
        }
    ],
}


class Nodes:
    """Node objects in memory."""

    def __init__(self) -> None:
        self.bodies: dict[str, dict[str, Any]] = {}

    def create(self, body: Mapping[str, Any]) -> None:
        self.bodies.setdefault(body["metadata"]["name"], dict(body))

    def get(self, name: str) -> Node | None:
        body = self.bodies.get(name)
        return None if body is None else decode.node(json.dumps(body).encode())

    def delete(self, name: str) -> bool:
        return self.bodies.pop(name, None) is not None

    def list(self) -> Sequence[Node]:
        return [node for name in self.bodies if (node := self.get(name)) is not None]


def _provider(nodes: Nodes) -> KwokProvider:
    return KwokProvider(nodes, catalogue.built_in(), lambda: build.NOW)


def test_the_built_in_catalogue_is_karpenters() -> None:
    types = {t.name: t for t in catalogue.built_in()}

    smallest = types["c-1x-amd64-linux"]
    assert len(types) == 144
    prices = sorted({o.price_usd_per_hour for o in smallest.offerings})
    assert prices == pytest.approx([0.7 * 0.027147483648, 0.027147483648])
    assert len(smallest.offerings) == 8
    assert smallest.capacity == {
        "cpu": 1000,
        "memory": 2 * 2**30,
        "pods": 16,
        "ephemeral-storage": 20 * 2**30,
    }
    assert smallest.allocatable["cpu"] == 900
    assert types["m-256x-arm64-linux"].capacity["pods"] == 1024


def test_a_file_is_read_whatever_the_case_of_its_fields(tmp_path: Path) -> None:
    file = tmp_path / "types.json"
    lower = {
        **ENTRY,
        "name": "c5.large",
        "offerings": [{k.lower(): v for k, v in ENTRY["offerings"][0].items()}],
    }
    file.write_text(json.dumps([ENTRY, lower]))

    first, second = catalogue.read(file)

    assert (first.name, second.name) == ("c5.large", "m5.2xlarge")
    assert second.capacity["pods"] == 110
    assert second.capacity["example.com/gpu"] == 1
    known = second.requirements.single_values()
    assert known["karpenter.kwok.sh/instance-size"] == "2xlarge"
    assert known["karpenter.kwok.sh/instance-family"] == "m5"


@pytest.mark.parametrize(
    ("content", "words"),
    [
        pytest.param("{", "no JSON", id="no JSON"),
        pytest.param("[]", "at least one", id="nothing"),
        pytest.param(json.dumps([{"name": "a"}]), r"entry 0 \(a\) lacks", id="a field is missing"),
        pytest.param(json.dumps([ENTRY, ENTRY]), "there twice", id="a name is there twice"),
        pytest.param(
            json.dumps([{**ENTRY, "resources": {"cpu": "x"}}]),
            "'x' is not a quantity",
            id="no quantity",
        ),
    ],
)
def test_a_file_that_cannot_be_used_is_refused(tmp_path: Path, content: str, words: str) -> None:
    file = tmp_path / "types.json"
    file.write_text(content)

    with pytest.raises(catalogue.CatalogueError, match=words):
        catalogue.read(file)


def test_a_node_has_the_whole_capacity_of_its_type() -> None:
    nodes = Nodes()
    claim = build.node_claim("default-1")

    launched = _provider(nodes).launch(claim, build.node_class(), [OPTION])

    (body,) = nodes.bodies.values()
    assert launched.provider_id == f"kwok://{body['metadata']['name']}"
    assert body["status"]["capacity"]["cpu"] == "4"
    assert body["metadata"]["annotations"] == {"kwok.x-k8s.io/node": "fake"}
    assert body["metadata"]["labels"][labels.ZONE] == "test-zone-b"
    assert body["metadata"]["labels"][labels.NODEPOOL] == "default"
    assert body["spec"]["taints"] == [{"key": labels.UNREGISTERED_TAINT, "effect": "NoExecute"}]


def test_a_launch_that_is_repeated_finds_its_node_even_with_other_options() -> None:
    nodes = Nodes()
    claim = build.node_claim("default-1")
    first = _provider(nodes).launch(claim, build.node_class(), [OPTION])

    again = _provider(nodes).launch(
        claim, build.node_class(), [replace(OPTION, zone="test-zone-c")]
    )

    assert again.provider_id == first.provider_id
    assert again.zone == "test-zone-b"
    assert len(nodes.bodies) == 1


def test_an_instance_is_listed_until_it_is_terminated_and_gone_at_once_then() -> None:
    nodes = Nodes()
    provider = _provider(nodes)
    claim = build.node_claim("default-1")
    launched = provider.launch(claim, build.node_class(), [OPTION])
    (listed,) = provider.list_instances()

    with pytest.raises(errors.InstanceNotFound):
        provider.terminate(launched.provider_id)

    assert (listed.node_claim, listed.nodepool) == ("default-1", "default")
    assert provider.list_instances() == []


def test_a_node_to_come_is_listed_too() -> None:
    provider = _provider(Nodes())

    provider.launch(
        build.node_claim("default-1"),
        build.node_class(spec={"nodeRegistrationDelay": "1h"}),
        [OPTION],
    )

    assert [instance.node_claim for instance in provider.list_instances()] == ["default-1"]


def test_a_class_that_is_not_ready_launches_nothing() -> None:
    nodes = Nodes()

    with pytest.raises(errors.NodeClassNotReady):
        _provider(nodes).launch(build.node_claim("a"), build.node_class(ready=False), [OPTION])

    assert nodes.bodies == {}
