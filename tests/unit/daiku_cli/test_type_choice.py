"""`cli.type_choice`: which instance types options and a NodePool let in."""

from pathlib import Path
from typing import Any

import pytest
import yaml
from tests import build
from tests.unit.daiku_cli.reading import node_pool

from daiku.cli import type_choice
from daiku.model import labels
from daiku.model.instance_type import InstanceType


def machine(name: str, cpu: int, gib: int, arch: str = "amd64") -> InstanceType:
    family = name.partition(".")[0]
    return build.instance_type(
        name,
        cpu=str(cpu),
        # EC2's memory is less than what AWS states.
        memory=f"{gib * 1024 * 925 // 1000}Mi",
        arch=arch,
        zones=("a", "b"),
        capacity_types=("on-demand", "spot"),
        extra_labels={
            type_choice.FAMILY: family,
            type_choice.CATEGORY: family[0],
            type_choice.CPU: str(cpu),
            type_choice.MEMORY: str(gib * 1024),
        },
    )


TYPES = [
    machine("c5.large", 2, 4),
    machine("m5.large", 2, 8),
    machine("m5.2xlarge", 8, 32),
    machine("m6g.large", 2, 8, "arm64"),
]

CHOSEN: list[tuple[dict[str, Any], list[str]]] = [
    ({}, ["c5.large", "m5.large", "m5.2xlarge", "m6g.large"]),
    ({"families": ["m5"]}, ["m5.large", "m5.2xlarge"]),
    ({"families": ["m5", "c5"]}, ["c5.large", "m5.large", "m5.2xlarge"]),
    ({"categories": ["m"], "architectures": ["arm64"]}, ["m6g.large"]),
    ({"cpu": "4.."}, ["m5.2xlarge"]),
    ({"cpu": "..2"}, ["c5.large", "m5.large", "m6g.large"]),
    ({"cpu": "2", "memory": "8Gi"}, ["m5.large", "m6g.large"]),
    ({"memory": "5Gi..32Gi"}, ["m5.large", "m5.2xlarge", "m6g.large"]),
    ({"memory": "8193Mi.."}, ["m5.2xlarge"]),
    ({"families": ["x9"]}, []),
]


@pytest.mark.parametrize(("options", "names"), CHOSEN)
def test_options_choose_by_what_aws_states(options: dict[str, Any], names: list[str]) -> None:
    free: dict[str, Any] = {"families": (), "categories": (), "architectures": ()}
    asked = type_choice.wanted(**{**free, "cpu": "", "memory": "", **options})

    assert [each.name for each in type_choice.chosen(TYPES, asked)] == names


@pytest.mark.parametrize(
    ("cpu", "memory", "message"),
    [
        ("..", "", "--cpu ..: give LEAST..MOST"),
        ("8..4", "", "--cpu 8..4: nothing is at least 8 and at most 4"),
        ("many", "", "--cpu many: 'many' is not a quantity"),
        ("", "8GB..", "--memory 8GB..: '8GB' is not a quantity"),
    ],
)
def test_a_range_that_cannot_be_read_says_why(cpu: str, memory: str, message: str) -> None:
    with pytest.raises(ValueError, match=message.replace(".", r"\.")):
        type_choice.wanted((), (), (), cpu, memory)


def test_a_node_pool_lets_in_types_and_ways_to_buy_them(tmp_path: Path) -> None:
    pool = node_pool()
    pool["spec"]["template"]["spec"]["requirements"] = [
        {"key": labels.CAPACITY_TYPE, "operator": "In", "values": ["spot"]},
        {"key": labels.ZONE, "operator": "NotIn", "values": ["b"]},
        {"key": type_choice.CPU, "operator": "Gt", "values": ["2"]},
        {"key": "example.com/team", "operator": "In", "values": ["web"]},
    ]
    file = tmp_path / "pool.yaml"
    file.write_text(yaml.safe_dump(pool))

    (found,) = type_choice.chosen(TYPES, type_choice.of_node_pool(file))

    assert found.name == "m5.2xlarge"
    assert [(o.zone, o.capacity_type) for o in found.offerings] == [("a", "spot")]


def test_a_type_that_no_zone_of_the_pool_sells_is_left_out(tmp_path: Path) -> None:
    pool = node_pool()
    nowhere = {"key": labels.ZONE, "operator": "In", "values": ["c"]}
    pool["spec"]["template"]["spec"]["requirements"] = [nowhere]
    file = tmp_path / "pool.yaml"
    file.write_text(yaml.safe_dump(pool))

    assert type_choice.chosen(TYPES, type_choice.of_node_pool(file)) == []


def test_a_file_without_one_node_pool_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "two.yaml"
    file.write_text(yaml.safe_dump_all([node_pool("a"), node_pool("b")]))

    with pytest.raises(ValueError, match="holds 2 NodePools: give a file with one"):
        type_choice.of_node_pool(file)
