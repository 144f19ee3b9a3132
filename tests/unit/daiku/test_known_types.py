"""The instance types that a plan knows without AWS are what EC2 said of them."""

import gzip
import json

import pytest
from tests import known_types as recording

from daiku.cloud.aws import instance_types, known_types, list_prices
from daiku.model import resources
from daiku.model.instance_type import NodeClassRef
from daiku.model.meta import Meta
from daiku.model.nodeclass import NodeClass

REF = NodeClassRef(group="karpenter.k8s.aws", kind="EC2NodeClass", name="a")


def test_facts_are_those_of_the_whole_answers() -> None:
    whole = [instance_types.read(each) for each in recording.recorded()]

    assert known_types.facts() == {each.name: each for each in whole if each is not None}
    assert len(known_types.facts()) > 900


def test_the_file_is_what_its_program_writes() -> None:
    shipped, made = (
        json.loads(gzip.decompress(content))
        for content in (known_types.FILE.read_bytes(), recording.content())
    )

    assert shipped == made


@pytest.mark.parametrize(
    ("name", "usd"),
    [
        ("m5.large", 0.096),
        ("c7g.4xlarge", 0.58),
        ("r8g.48xlarge", 11.31072),
        ("t3.medium", 0.0416),
        ("g5.xlarge", 1.006),
        ("p4d.24xlarge", 21.957642),
        ("i4i.8xlarge", 2.7456),
        ("m8i-flex.xlarge", 0.2011),
    ],
)
def test_list_prices_are_those_of_their_date(name: str, usd: float) -> None:
    """Rows of Karpenter's generated table of on-demand prices, us-east-1, 2026-02-09."""
    assert list_prices.of(known_types.facts()[name]) == pytest.approx(usd, rel=1e-3)


@pytest.mark.parametrize(
    ("kubelet", "pods"), [({}, 29), ({"maxPods": 50}, 50), ({"podsPerCore": 4}, 8)]
)
def test_types_are_as_the_node_class_runs_them(kubelet: dict[str, int], pods: int) -> None:
    found = NodeClass(meta=Meta(name="a"), ref=REF, ready=True, spec={"kubelet": kubelet})

    types = {t.name: t for t in known_types.of_class(found, ["us-east-1a"])}

    assert types["m5.large"].allocatable[resources.PODS] == pods
    assert {(o.zone, o.available) for o in types["m5.large"].offerings} == {("us-east-1a", True)}
