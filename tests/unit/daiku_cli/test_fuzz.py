"""No input makes anything but a plan or a clear error, whatever it is."""

import copy
import io
import json
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import example, given, settings
from hypothesis import strategies as st

from daiku.api import configuration, manifests, yaml_values
from daiku.api.manifests import ManifestError
from daiku.cli import planning

SCENARIOS = Path(__file__).resolve().parents[2] / "scenarios"
VALID = [
    document
    for name in ("shop/workloads.yaml", "shop/nodepools.yaml", "misfits.yaml", "live.json")
    for document in yaml.safe_load_all((SCENARIOS / name).read_text())
]
VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**70), 2**70)
    | st.floats()
    | st.text(max_size=8)
    | st.sampled_from(
        ["1e999999999", "9E", "-1", "", "Pod", "List", "default", "2024-01-01", "Never", "10%"]
    ),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=6), inner, max_size=3)
    ),
    max_leaves=6,
)


def _answer(content: bytes) -> planning.Answer | list[str]:
    request = planning.Request(
        sources=("-",),
        instance_types=str(SCENARIOS / "instance-types.json"),
        output="json",
        built_in_node_pool=True,
    )
    try:
        return planning.answer(request, io.BytesIO(content), lambda *_: None, lambda: 0.0)
    except ManifestError as error:
        return error.problems


def _is_clear(answer: planning.Answer | list[str]) -> bool:
    if isinstance(answer, list):
        return bool(answer) and all(line.strip() and "\n" not in line for line in answer)
    return bool(json.loads(answer.text))


@given(st.binary(max_size=200))
@example(b"\xff\xfe")
@example(b"\xef\xbb\xbf{}")
@example(b"{" * 5000)
@example(b"[" * 100_000)
@example(b'{"a":' * 5000)
@example(b"&a [*a]")
@example(b"a: &a {<<: *a}")
@example(b"!!python/object:os.system x")
@example(b'{"kind": "\\ud800", "apiVersion": "v1", "metadata": {"name": "x"}}')
def test_any_bytes_are_a_plan_or_a_clear_error(content: bytes) -> None:
    assert _is_clear(_answer(content))


@given(VALUES)
def test_any_yaml_is_a_plan_or_a_clear_error(value: Any) -> None:
    content = yaml.safe_dump(value, allow_unicode=True).encode("utf-8", "surrogatepass")

    assert _is_clear(_answer(content))


@given(VALUES)
def test_any_json_is_a_plan_or_a_clear_error(value: Any) -> None:
    assert _is_clear(_answer(json.dumps(value).encode()))


@settings(max_examples=400, deadline=None)
@given(st.data())
def test_any_mistake_in_a_manifest_is_a_plan_or_a_clear_error(data: st.DataObject) -> None:
    broken = copy.deepcopy(data.draw(st.sampled_from(VALID)))
    holder, key = data.draw(st.sampled_from(list(_places(broken))))
    holder[key] = data.draw(VALUES)

    assert _is_clear(_answer(json.dumps(broken).encode()))


def _places(value: Any) -> list[tuple[Any, Any]]:
    """Every place in a document where something else could stand."""
    pairs = list(
        value.items()
        if isinstance(value, dict)
        else enumerate(value)
        if isinstance(value, list)
        else ()
    )
    return [place for key, inner in pairs for place in ((value, key), *_places(inner))]


@pytest.mark.parametrize("letter", ["[", "{a: "])
def test_a_document_nested_without_end_is_refused(letter: str) -> None:
    with pytest.raises(yaml_values.YamlError):
        list(yaml_values.documents(letter.encode() * 2000))


def test_aliases_that_multiply_are_refused_before_they_fill_the_memory() -> None:
    bomb = ["a: &a [x, x, x, x, x, x, x, x, x, x]"]
    bomb += [
        f"{b}: &{b} [{', '.join([f'*{a}'] * 10)}]"
        for a, b in zip("abcdefgh", "bcdefghi", strict=True)
    ]

    with pytest.raises(yaml_values.YamlError, match="more than 5000000 values"):
        list(yaml_values.documents("\n".join(bomb).encode()))


def test_a_workload_cannot_ask_for_more_pods_than_are_planned() -> None:
    problems: list[str] = []
    content = b"{apiVersion: apps/v1, kind: Deployment, metadata: {name: x}, spec: {replicas: 1000000000}}"

    configuration.build(manifests.read("x.yaml", content, problems), problems)

    where = "x.yaml, document 1, Deployment default/x"
    assert problems == [
        f"{where}: asks for 1000000000 pods; 200000 are planned at once in all. Lower its replicas"
    ]
