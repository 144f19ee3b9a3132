import pytest
from google.protobuf import json_format, struct_pb2

from daiku_local.plugins import values
from daiku_local.plugins.values import UNKNOWN, Secret

SIGNATURE = "4dabf18193072939515e22adb298388d"
SECRET = {SIGNATURE: "1b47061264138c4ac30d75fd1eb44270"}


def _struct(fields: dict[str, object]) -> struct_pb2.Struct:
    return json_format.ParseDict(fields, struct_pb2.Struct())


@pytest.mark.parametrize(
    ("wire", "plain"),
    [
        pytest.param(3.0, 3, id="a whole number is an int"),
        pytest.param(0.5, 0.5, id="another number stays one"),
        pytest.param(True, True, id="a boolean is no number"),
        pytest.param("04da6b54-80e4-46f7-96ec-b56ff0331ba9", UNKNOWN, id="an unknown text"),
        pytest.param("dd056dcd-154b-4c76-9bd3-c8f88648b5ff", UNKNOWN, id="an unknown object"),
        pytest.param({**SECRET, "value": [1.0]}, [1], id="a secret is its value"),
        pytest.param(
            {SIGNATURE: "5cf8f73096256a8f31e491e813e4eb8e", "urn": "u", "id": "i-1"},
            "i-1",
            id="a resource is its id",
        ),
        pytest.param(
            {SIGNATURE: "d0e6a833031e9bbcd3f4e8bde6ca49a4"}, UNKNOWN, id="an output without value"
        ),
    ],
)
def test_a_wire_value_is_read(wire: object, plain: object) -> None:
    assert values.decode_all(_struct({"a": wire})) == {"a": plain}


def test_what_is_written_reads_the_same() -> None:
    plain = {"a": [1, "b", {"c": True}], "d": UNKNOWN, "e": {"f": 0.5}}

    assert values.decode_all(values.encode_all(plain)) == plain


def test_a_property_without_value_is_left_out() -> None:
    assert values.decode_all(values.encode_all({"a": None, "b": {"c": None}})) == {"b": {}}


@pytest.mark.parametrize(
    ("given", "outputs", "kept"),
    [
        pytest.param(
            {"a": {**SECRET, "value": "x"}}, {"a": "x"}, {"a": {**SECRET, "value": "x"}}, id="text"
        ),
        pytest.param(
            {"a": {"b": {**SECRET, "value": "x"}, "c": 1.0}},
            {"a": {"b": "x", "c": 1}},
            {"a": {"b": {**SECRET, "value": "x"}, "c": 1.0}},
            id="a field of an object, and not its neighbour",
        ),
        pytest.param(
            {"a": [{"b": {**SECRET, "value": "x"}}]},
            {"a": [{"b": "x"}]},
            {"a": {**SECRET, "value": [{"b": "x"}]}},
            id="a whole list for one secret in it",
        ),
        pytest.param({"a": "x"}, {"a": "x"}, {"a": "x"}, id="nothing where nothing was secret"),
    ],
)
def test_outputs_of_secret_inputs_are_secret(
    given: dict[str, object], outputs: dict[str, object], kept: dict[str, object]
) -> None:
    result = values.keep_secrets(values.encode_all(outputs), _struct(given))

    assert json_format.MessageToDict(result) == kept


def test_an_output_that_is_secret_already_is_not_marked_twice() -> None:
    outputs = values.encode_all({"a": Secret("x")})

    values.keep_secrets(outputs, _struct({"a": {**SECRET, "value": "x"}}))

    assert json_format.MessageToDict(outputs) == {"a": {**SECRET, "value": "x"}}


@pytest.mark.parametrize(
    ("one", "other", "expected"),
    [
        pytest.param(["a", "b"], ["b", "a"], True, id="order does not matter"),
        pytest.param({"a": 1, "b": None}, {"a": 1}, True, id="an absent field is an empty one"),
        pytest.param({"a": False}, {}, False, id="false is not absent"),
        pytest.param(None, False, False, id="nor is it at the top"),
        pytest.param("443", 443, True, id="AWS gives numbers as text"),
        pytest.param(
            '{"Statement": [{"Action": ["a"]}]}',
            '{"Statement":{"Action":"a"}}',
            True,
            id="policies are compared as objects",
        ),
        pytest.param("{not json", "{not json}", False, id="what only looks like one is text"),
        pytest.param(UNKNOWN, "a", False, id="what is unknown may be anything"),
    ],
)
def test_values_that_mean_the_same_to_aws_are_equivalent(
    one: object, other: object, expected: bool
) -> None:
    assert values.equivalent(one, other) is expected
    assert values.equivalent(other, one) is expected


@pytest.mark.parametrize(
    ("observed", "wanted", "expected"),
    [
        pytest.param({"a": 1, "b": 2}, {"a": 1}, True, id="more than was asked for"),
        pytest.param({"a": 1}, {"a": 2}, False, id="another value"),
        pytest.param([{"a": 1, "b": 2}], [{"a": 1}], True, id="more inside a list's element"),
        pytest.param(["a", "b"], ["a"], False, id="one element too many"),
        pytest.param(None, [], True, id="nothing asked, nothing there"),
    ],
)
def test_what_is_observed_covers_what_was_asked(
    observed: object, wanted: object, expected: bool
) -> None:
    assert values.covers(observed, wanted) is expected


def test_changes_are_named_by_the_engines_paths() -> None:
    old = {"tags": {"a/b": "1", "Name": "x"}, "rules": [{"port": 1}], "gone": True}
    new = {"tags": {"a/b": "2", "Name": "x"}, "rules": [{"port": 1}, {"port": 2}], "new": UNKNOWN}

    assert dict(values.changes(old, new)) == {
        "gone": "delete",
        "new": "add",
        "rules[1]": "add",
        'tags["a/b"]': "update",
    }
