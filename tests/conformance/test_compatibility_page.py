"""docs/compatibility-aws.md names every field of an EC2NodeClass, and no other."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import yaml

import daiku

PAGE = Path(__file__).resolve().parents[2] / "docs" / "compatibility-aws.md"
CRD = Path(str(daiku.__file__)).parent / "crds" / "ec2nodeclasses.yaml"
STATES = ("honoured", "refused", "accepted")


def _leaves(schema: dict[str, Any], path: str) -> Iterator[str]:
    """Paths of everything that can be written, such as blockDeviceMappings[].ebs.iops."""
    if properties := schema.get("properties"):
        for name, each in properties.items():
            yield from _leaves(each, f"{path}.{name}" if path else name)
    elif schema.get("type") == "array" and "properties" in schema["items"]:
        yield from _leaves(schema["items"], f"{path}[]")
    else:
        yield path


def _spec() -> set[str]:
    (version,) = yaml.safe_load(CRD.read_text())["spec"]["versions"]
    return set(_leaves(version["schema"]["openAPIV3Schema"]["properties"]["spec"], ""))


def _rows() -> list[tuple[list[str], str]]:
    """(paths, state) of each row of the table of fields."""
    table = PAGE.read_text().partition("| Field of `spec` |")[2].partition("\n\n")[0]
    rows = [line.split("|")[1:3] for line in table.splitlines()[2:]]
    return [(re.findall(r"`([^`]+)`", fields), state.strip()) for fields, state in rows]


def test_every_field_is_on_the_page_once_and_no_other() -> None:
    named = [path for paths, _ in _rows() for path in paths]

    assert sorted(named) == sorted(_spec())


def test_every_row_says_what_becomes_of_the_field() -> None:
    rows = _rows()

    assert len(rows) > 15
    assert [paths for paths, state in rows if not state.startswith(STATES)] == []
