"""What a preview says of NodePools and node classes is what the API server says: the same tables, the same words.

tests/world/test_crds.py puts these tables to a real kube-apiserver.
"""

import typing
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, cast

import pulumi
import pytest
import yaml
from tests.conformance.crds import node_class_table, pools, table

import daiku
from daiku.api import api_rules
from daiku_infra import api_types

CRDS = Path(daiku.__file__).parent / "crds"
KINDS = ("NodePool", "EC2NodeClass")
ACCEPTED = {
    name: (valid, change)
    for name, (valid, change) in {
        **table.ACCEPTED,
        **pools.ACCEPTED,
        **node_class_table.ACCEPTED,
    }.items()
    if valid["kind"] in KINDS
}
REJECTED = {
    name: row
    for name, row in {**table.REJECTED, **pools.REJECTED, **node_class_table.REJECTED}.items()
    if row[0]["kind"] in KINDS
}  # fmt: skip


def problems(valid: table.Json, change: table.Json) -> str:
    made = table.merged(valid, change)
    found = api_rules.problems_of(made["kind"], made.get("spec", {}))
    return "\n".join(f"{place}: {problem}" for place, problem in found)


def schema(kind: str) -> dict[str, Any]:
    for file in CRDS.glob("*.yaml"):
        definition = yaml.safe_load(file.read_text())
        if definition["spec"]["names"]["kind"] == kind:
            [version] = definition["spec"]["versions"]
            return version["schema"]["openAPIV3Schema"]["properties"]["spec"]
    raise AssertionError(kind)


@pytest.mark.parametrize("name", ACCEPTED)
def test_what_the_api_server_takes_passes_the_preview(name: str) -> None:
    assert problems(*ACCEPTED[name]) == ""


@pytest.mark.parametrize("name", REJECTED)
def test_what_the_api_server_refuses_is_refused_at_preview(name: str) -> None:
    valid, change, words = REJECTED[name]

    assert words in problems(valid, change)


@pytest.mark.parametrize("kind", KINDS)
def test_every_rule_of_the_definitions_can_be_run(kind: str) -> None:
    """A rule that the library could not read would only be found by the one who breaks it."""
    rules = [*_rules(schema(kind))]

    assert len(rules) > 15
    for rule in rules:
        api_rules._program(rule)  # pyright: ignore[reportPrivateUsage]


def test_a_field_that_nobody_knows_is_refused_with_the_nearest_one() -> None:
    found = problems(table.NODE_POOL, {"spec": {"disruption": {"consolidateafter": "1m"}}})

    assert (
        found
        == "spec.disruption.consolidateafter: there is no such field; did you mean consolidateAfter?"
    )


def test_a_value_that_is_known_late_is_taken_for_one_that_fits() -> None:
    late = cast("str", pulumi.Output.from_input("profile"))

    assert problems(table.NODE_CLASS, {"spec": {"role": None, "instanceProfile": late}}) == ""
    assert "exactly one of" in problems(table.NODE_CLASS, {"spec": {"instanceProfile": late}})


@pytest.mark.parametrize(
    ("kind", "typed"),
    [("NodePool", api_types.NodePoolSpec), ("EC2NodeClass", api_types.NodeClassSpec)],
)
def test_typed_arguments_are_the_fields_of_the_definitions(kind: str, typed: type) -> None:
    filled_in = (
        {"amiSelectorTerms"} ^ {*schema(kind)["required"]} if kind == "EC2NodeClass" else {*()}
    )

    assert _fields_of(typed) == _fields_of_schema(schema(kind), filled_in)


def _fields_of(annotation: Any) -> Any:
    """Fields of typed arguments: for each its type, for a required one with a mark."""
    if typing.get_origin(annotation) is typing.Required:
        return _fields_of(typing.get_args(annotation)[0])
    if typing.get_origin(annotation) is list:
        return [_fields_of(typing.get_args(annotation)[0])]
    if typing.get_origin(annotation) is dict:
        return {"*": _fields_of(typing.get_args(annotation)[1])}
    if annotation is Any:
        return "any"
    if typing.is_typeddict(annotation):
        hints: dict[str, Any] = annotation.__annotations__
        required = annotation.__required_keys__
        return {f"{k}!" if k in required else k: _fields_of(hint) for k, hint in hints.items()}
    if annotation == pulumi.Input[str]:
        return "string"
    return {str: "string", int: "integer", bool: "boolean"}[annotation]


def _fields_of_schema(found: Mapping[str, Any], filled_in: set[str] | None = None) -> Any:
    """The same of a schema. What has a default, or is filled in by the stack, need not be given."""
    if found.get("x-kubernetes-int-or-string") or found.get("x-kubernetes-preserve-unknown-fields"):
        return "any" if "type" not in found else {"*": "any"}
    if found["type"] == "array":
        return [_fields_of_schema(found["items"])]
    if "additionalProperties" in found:
        return {"*": _fields_of_schema(found["additionalProperties"])}
    if "properties" in found:
        required = {
            name
            for name in found.get("required", ())
            if "default" not in found["properties"][name] and name not in (filled_in or ())
        }
        return {
            f"{name}!" if name in required else name: _fields_of_schema(inner)
            for name, inner in found["properties"].items()
        }
    return found["type"]


def _rules(found: Any) -> Iterator[str]:
    """All rules of a schema, at any depth, but those that compare with a former state."""
    if isinstance(found, dict):
        mapping = cast("dict[str, Any]", found)
        for rule in mapping.get("x-kubernetes-validations", ()):
            if "oldSelf" not in rule["rule"]:
                yield rule["rule"]
        for inner in mapping.values():
            yield from _rules(inner)
    elif isinstance(found, list):
        for inner in cast("list[Any]", found):
            yield from _rules(inner)
