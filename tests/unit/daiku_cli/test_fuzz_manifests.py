"""Manifests that were right until something was changed: every kind, every place, every encoding, any size."""

import copy
import io
import json
import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from daiku.api import api_rules, configuration, manifests
from daiku.api.manifests import ManifestError
from daiku.cli import planning

ROOT = Path(__file__).resolve().parents[3]
FILES = [
    *sorted((ROOT / "examples" / "scheduling").glob("*.yaml")),
    ROOT / "tests" / "scenarios" / "misfits.yaml",
    ROOT / "tests" / "scenarios" / "live.json",
]
WRONG = [
    *(None, True, 0, -1, 2**70, -(2**70), 1.5, "", "x", "\ud800", [], [None], [1], {}, {"x": 1}),
    *([{}], "1e999999999", "9E", "-1", "2024-01-01", "9" * 400),
]
"""What may stand where something else should."""
NUMBERS = [
    *("9E", "9223372036854775807", "8Ei", "1n", "0", "1e18", "1Ei", "0.0000001", "1e-9"),
    *(0, 1, -1, 2**31, 2**62, 2**63 - 1, 2**63, 10**19, 1e308, 0.5, 1000),
]
AMOUNTS = (
    *(
        "cpu",
        "memory",
        "nvidia.com/gpu",
        "pods",
        "replicas",
        "parallelism",
        "maxSkew",
        "minDomains",
    ),
    *("weight", "hostPort", "usdPerHour", "minValues"),
)


def documents() -> Iterator[dict[str, Any]]:
    for path in FILES:
        for each in yaml.safe_load_all(path.read_text()):
            yield from each.get("items", [each])


def shortened(document: dict[str, Any]) -> dict[str, Any]:
    """One instance type is as good as ten."""
    types = document.get("instanceTypes", [])
    return {**document, "instanceTypes": types[:1]} if types else document


EXAMPLES = [shortened(each) for each in documents()]


def places(value: Any) -> Iterator[tuple[Any, Any]]:
    """Every place in a document where something else could stand."""
    inside = value if isinstance(value, dict | list) else []
    for key, inner in list(inside.items() if isinstance(inside, dict) else enumerate(inside)):
        yield value, key
        yield from places(inner)


def mistakes(content: bytes) -> list[str]:
    """What is said about a file."""
    problems: list[str] = []
    configuration.build(manifests.read("file", content, problems), problems)
    return problems


def plan(content: bytes) -> planning.Answer | list[str]:
    request = planning.Request(sources=("-",), output="json", built_in_node_pool=True)
    try:
        return planning.answer(request, io.BytesIO(content), lambda *_: None, lambda: 0.0)
    except ManifestError as error:
        return error.problems


def are_clear(problems: list[str]) -> bool:
    return all(line.strip() and "\n" not in line for line in problems)


def test_a_wrong_value_in_any_place_of_any_kind_is_taken_or_named() -> None:
    """Some thousand of the 27,000 combinations of this table; all of them were tried once."""
    rng = random.Random(7)
    for document in EXAMPLES:
        count = len(list(places(document)))
        for _ in range(count):
            broken = copy.deepcopy(document)
            holder, key = list(places(broken))[rng.randrange(count)]
            holder[key] = rng.choice(WRONG)
            assert are_clear(mistakes(json.dumps(broken).encode())), (document["kind"], key)


@settings(max_examples=300, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.data())
def test_bytes_that_were_changed_are_read_or_named(data: st.DataObject) -> None:
    content = bytearray(data.draw(st.sampled_from(FILES)).read_bytes()[:4000])
    for _ in range(data.draw(st.integers(1, 4))):
        at = data.draw(st.integers(0, len(content) - 1))
        length = data.draw(st.integers(0, 12))
        content[at : at + length] = data.draw(
            st.binary(max_size=6)
            | st.sampled_from(
                [b"\t", b"\n---\n", b"&a ", b"*a", b"<<: ", b"!!", b"{", b"- ", b"\0"]
            )
        )

    assert are_clear(mistakes(bytes(content)))


@pytest.mark.parametrize(
    ("encoding", "is_read"),
    [
        ("utf-8", True),
        ("utf-8-sig", True),
        ("utf-16", True),
        ("utf-16-le", False),
        ("utf-32", False),
        ("latin-1", False),
        ("cp037", False),
    ],
)
def test_another_encoding_is_read_or_named(encoding: str, is_read: bool) -> None:
    pod = "apiVersion: v1\nkind: Pod\nmetadata: {name: p, labels: {team: '\xe9\xe8'}}\nspec: {}\n"

    found = mistakes(pod.encode(encoding))

    assert are_clear(found)
    assert (not found) is is_read


HUGE: list[tuple[str, dict[str, Any]]] = [
    ("containers", {"containers": [{"name": f"c{n}"} for n in range(20_000)]}),
    ("environment", {"containers": [{"env": [{"name": "x", "value": "y" * 2**20}]}]}),
    ("tolerations", {"tolerations": [{"key": f"k{n}", "value": "v"} for n in range(20_000)]}),
    (
        "alternatives",
        {
            "affinity": {
                "nodeAffinity": {
                    "requiredDuringSchedulingIgnoredDuringExecution": {
                        "nodeSelectorTerms": [
                            {"matchExpressions": [{"key": f"k{n}", "operator": "Exists"}]}
                            for n in range(5_000)
                        ]
                    }
                }
            }
        },
    ),
    ("selector", {"nodeSelector": {f"k{n}": "v" for n in range(20_000)}}),
]


@pytest.mark.parametrize("spec", [spec for _, spec in HUGE], ids=[name for name, _ in HUGE])
def test_a_pod_of_a_mebibyte_gets_an_answer(spec: dict[str, Any]) -> None:
    body = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p"}, "spec": spec}

    answer = plan(json.dumps(body).encode())

    assert are_clear(answer) if isinstance(answer, list) else json.loads(answer.text)


def test_a_skew_that_no_api_server_would_take_is_named() -> None:
    spread = {
        "topologyKey": "kubernetes.io/hostname",
        "maxSkew": 2**63,
        "whenUnsatisfiable": "DoNotSchedule",
        "labelSelector": {},
    }
    spec = {"containers": [], "topologySpreadConstraints": [spread]}
    body = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p"}, "spec": spec}

    answer = plan(json.dumps(body).encode())

    assert isinstance(answer, list)
    assert are_clear(answer)
    assert "maxSkew" in answer[0]


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(data=st.data())
@pytest.mark.filterwarnings("error::RuntimeWarning")
def test_amounts_of_any_size_make_a_plan_that_adds_up_or_a_clear_error(data: st.DataObject) -> None:
    broken = copy.deepcopy(EXAMPLES)
    slots = [(h, k) for d in broken for h, k in places(d) if k in AMOUNTS]
    slots = [(h, k) for h, k in slots if not isinstance(h[k], dict | list)]
    for _ in range(data.draw(st.integers(1, 4))):
        holder, key = data.draw(st.sampled_from(slots))
        holder[key] = data.draw(st.sampled_from(NUMBERS))

    answer = plan(json.dumps({"apiVersion": "v1", "kind": "List", "items": broken}).encode())

    if isinstance(answer, list):
        assert are_clear(answer)
        return
    made = json.loads(answer.text)
    assert made["gap"] >= 0
    assert made["usdPerHour"]["new"] >= 0
    assert answer.is_sound is (not made["unschedulable"])


@settings(max_examples=200, deadline=None)
@given(data=st.data())
def test_a_file_of_instance_types_is_read_or_named(
    tmp_path_factory: pytest.TempPathFactory, data: st.DataObject
) -> None:
    kwok = json.loads((ROOT / "tests" / "scenarios" / "instance-types.json").read_text())[:2]
    catalogue = next(d for d in EXAMPLES if d["kind"] == "Catalogue")
    broken = copy.deepcopy(data.draw(st.sampled_from([kwok, catalogue])))
    holder, key = data.draw(st.sampled_from(list(places(broken))))
    holder[key] = data.draw(st.sampled_from(WRONG))
    path = tmp_path_factory.getbasetemp() / "types.json"
    path.write_text(json.dumps(broken))
    problems: list[str] = []

    found = planning.read_types(str(path), problems)

    assert found or problems
    assert are_clear(problems)


def test_a_field_whose_name_is_no_word_is_quoted() -> None:
    found = dict(api_rules.problems_of("NodePool", {"template": {"spec": {"\n": None, " ": 1}}}))

    assert {"spec.template.spec.'\\n'", "spec.template.spec.' '"} <= set(found)
