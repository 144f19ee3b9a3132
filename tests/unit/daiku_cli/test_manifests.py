from typing import Any

import pytest

from daiku.api import manifests, yaml_values

POD = '{"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "a"}}'


LIST = '{"apiVersion": "v1", "kind": "List", "items": [%s]}'


def read(content: str) -> tuple[list[tuple[str, str]], list[str]]:
    """Place and key of each object, and the problems."""
    problems: list[str] = []
    found = manifests.read("f", content.encode(), problems)
    return [(each.place, "/".join(each.key)) for each in found], problems


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        pytest.param(POD, [("f, document 1", "Pod/default/a")], id="one object as JSON"),
        pytest.param(
            f"---\n{POD}\n---\n# nothing\n---\n{POD.replace('Pod', 'Node')}\n",
            [("f, document 1", "Pod/default/a"), ("f, document 3", "Node//a")],
            id="documents are counted as they stand, empty ones too",
        ),
        pytest.param(
            f'{{"apiVersion": "v1", "kind": "List", "items": [{POD}, {POD}]}}',
            [
                ("f, document 1, item 1", "Pod/default/a"),
                ("f, document 1, item 2", "Pod/default/a"),
            ],
            id="a list of kubectl",
        ),
        pytest.param(
            "apiVersion: v1\nkind: PodList\nitems: [{metadata: {name: a, namespace: b}}]",
            [("f, document 1, item 1", "Pod/b/a")],
            id="items of a list of the API server do not say their kind",
        ),
        pytest.param(
            LIST % (LIST % POD),
            [("f, document 1, item 1, item 1", "Pod/default/a")],
            id="a list in a list",
        ),
        pytest.param(f"\ufeff{POD}", [("f, document 1", "Pod/default/a")], id="a byte order mark"),
        pytest.param("", [], id="an empty file"),
        pytest.param("apiVersion: v1\nkind: NodeList\nitems: null", [], id="an empty list"),
    ],
)
def test_objects_are_found_in_every_form(content: str, expected: list[tuple[str, str]]) -> None:
    assert read(content) == (expected, [])


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        pytest.param("kind: Pod", "f, document 1: has no apiVersion", id="no apiVersion"),
        pytest.param("replicas: 3", "f, document 1: has no kind", id="values of a chart"),
        pytest.param(POD.replace('"a"', '""'), "f, document 1, Pod: has no name", id="no name"),
        pytest.param("a: [1", "f, document 1: line 2, column 1: while parsing", id="broken YAML"),
        pytest.param(
            f"{POD}\n---\na: b: c", "f, document 2: line 3", id="a broken second document"
        ),
        pytest.param("5", "f, document 1: is the value '5'", id="a number"),
        pytest.param(
            POD.replace('"a"', "5"),
            "f, document 1: is no Kubernetes object",
            id="a name that is no text",
        ),
    ],
)
def test_what_cannot_be_read_is_one_line_that_says_where(content: str, problem: str) -> None:
    _, problems = read(content)

    assert len(problems) == 1
    assert problems[0].startswith(problem)


def test_a_broken_document_does_not_hide_those_before_it() -> None:
    found, problems = read(f"{POD}\n---\na: b: c")

    assert [key for _, key in found] == ["Pod/default/a"]
    assert len(problems) == 1


def test_an_object_that_is_to_be_given_a_name_gets_the_same_one_each_time() -> None:
    content = "apiVersion: v1\nkind: Pod\nmetadata: {generateName: once-}"

    first, second = read(content)[0], read(content)[0]

    assert first == second
    assert first[0][1].startswith("Pod/default/once-")


@pytest.mark.parametrize(
    ("text", "value"),
    [
        pytest.param("2024-01-01", "2024-01-01", id="a date is text"),
        pytest.param("12:30", "12:30", id="a time is text"),
        pytest.param("0644", 420, id="a leading zero means octal"),
        pytest.param("0o17", 15, id="octal as it is written today"),
        pytest.param("0x1F", 31, id="hexadecimal"),
        pytest.param("-5", -5, id="a negative number"),
        pytest.param("1e3", 1000.0, id="an exponent without a point"),
        pytest.param("1.50", 1.5, id="a fraction"),
        pytest.param("off", False, id="off is false"),
        pytest.param("'off'", "off", id="a quoted word is text"),
        pytest.param("~", None, id="a tilde is nothing"),
        pytest.param("!!str 5", "5", id="a tag decides"),
        pytest.param("500m", "500m", id="a quantity is text"),
        pytest.param("1.2.3", "1.2.3", id="a version is text"),
    ],
)
def test_a_plain_word_means_what_it_means_to_kubectl(text: str, value: Any) -> None:
    (document,) = yaml_values.documents(f"a: {text}".encode())

    assert document == {"a": value}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a: 1\na: 2", "line 2, column 1: the key 'a' is given twice"),
        ("a: .inf", "line 1, column 4: '.inf' is no number that JSON has"),
        ("a: 99999999999999999999", "fits 64 bits"),
        ("? [a]\n: b", "a key has to be text"),
        ("a: *b", "undefined alias|nothing is named &b"),
        ("a: &a [*a]", "stands inside of what it names"),
        ("a: !!binary eA==", "means nothing in a manifest"),
        ("a: {<<: 5}", "<< merges mappings"),
    ],
)
def test_what_no_manifest_can_say_is_refused(text: str, message: str) -> None:
    with pytest.raises(yaml_values.YamlError, match=message):
        list(yaml_values.documents(text.encode()))


def test_merged_keys_give_way_to_those_that_are_written() -> None:
    text = "base: &base {x: 1, y: 2}\nmore: &more {x: 9, z: 3}\nboth: {<<: [*base, *more], y: 5}"

    (document,) = yaml_values.documents(text.encode())

    assert document["both"] == {"x": 1, "y": 5, "z": 3}


def test_a_file_of_settings_needs_no_name_and_is_no_manifest() -> None:
    problems: list[str] = []
    foreign: list[str] = []

    manifests.read("f", b"apiVersion: audit.k8s.io/v1\nkind: Policy\n", problems, foreign)

    assert problems == []
    assert foreign == ["f, document 1, Policy: has no name; give it a metadata.name"]
