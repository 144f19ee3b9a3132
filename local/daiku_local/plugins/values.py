"""Property values: from and to the engine's wire form, compared, and set against each other.

The engine sends protobuf structs in which numbers are floats, and values that are not known before
the update are magic strings. Here they are plain JSON values with `int` where a number is whole,
and `UNKNOWN`. Nor are secrets told from other values: `keep_secrets` marks every output whose input
was secret. Only outputs that are secret by nature are wrapped in `Secret`.
"""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final, cast

from google.protobuf import struct_pb2

from daiku_local.plugins.errors import ProviderError

Plain = dict[str, Any]

_SIGNATURE: Final = "4dabf18193072939515e22adb298388d"
_SECRET: Final = "1b47061264138c4ac30d75fd1eb44270"  # noqa: S105 - a marker of the protocol
_OUTPUT: Final = "d0e6a833031e9bbcd3f4e8bde6ca49a4"
_RESOURCE: Final = "5cf8f73096256a8f31e491e813e4eb8e"
_UNKNOWN_STRING: Final = "04da6b54-80e4-46f7-96ec-b56ff0331ba9"
_UNKNOWNS: Final = frozenset(
    {
        _UNKNOWN_STRING,
        "1c4a061d-8072-4f0a-a4cb-0ff528b18fe7",  # boolean
        "3eeb2bf0-c639-47a8-9e75-3b44932eb421",  # number
        "6a19a0b0-7e62-4c92-b797-7f8e31da9cc2",  # array
        "030794c1-ac77-496b-92df-f27374a8bd58",  # asset
        "e48ece36-62e2-4504-bad9-02848725956a",  # archive
        "dd056dcd-154b-4c76-9bd3-c8f88648b5ff",  # object
    }
)


class Unknown:
    """A value that is not known before the update. There is one: `UNKNOWN`."""

    def __repr__(self) -> str:
        return "UNKNOWN"


UNKNOWN: Final = Unknown()


@dataclass(frozen=True, slots=True)
class Secret:
    """An output that the engine must encrypt and never show."""

    value: Any
    """The plain value."""


def decode_all(struct: struct_pb2.Struct) -> Plain:
    """Give the properties of a wire struct as plain values."""
    return {key: decode(value) for key, value in struct.fields.items()}


def decode(value: struct_pb2.Value) -> Any:
    """Give one wire value as a plain value."""
    match value.WhichOneof("kind"):
        case "bool_value":
            return value.bool_value
        case "number_value":
            number = value.number_value
            return int(number) if number.is_integer() else number
        case "string_value":
            return UNKNOWN if value.string_value in _UNKNOWNS else value.string_value
        case "list_value":
            return [decode(item) for item in value.list_value.values]
        case "struct_value":
            return _decode_struct(value.struct_value)
        case _:
            return None


def _decode_struct(struct: struct_pb2.Struct) -> Any:
    fields = struct.fields
    if _SIGNATURE not in fields:
        return decode_all(struct)
    match fields[_SIGNATURE].string_value:
        case signature if signature == _SECRET:
            return decode(fields["value"])
        case signature if signature == _OUTPUT:
            return decode(fields["value"]) if "value" in fields else UNKNOWN
        case signature if signature == _RESOURCE:
            return decode(fields["id"]) if "id" in fields else fields["urn"].string_value
        case _:
            raise ProviderError(
                "an asset or archive was given, and no resource of the laptop world takes one"
            )


def encode_all(values: Mapping[str, Any]) -> struct_pb2.Struct:
    """Give plain properties as a wire struct; properties that are None are left out."""
    fields = {key: encode(value) for key, value in values.items() if value is not None}
    return struct_pb2.Struct(fields=fields)


def encode(value: Any) -> struct_pb2.Value:
    """Give one plain value as a wire value."""
    match value:
        case None:
            return struct_pb2.Value(null_value=struct_pb2.NULL_VALUE)
        case Unknown():
            return struct_pb2.Value(string_value=_UNKNOWN_STRING)
        case Secret():
            fields = {
                _SIGNATURE: struct_pb2.Value(string_value=_SECRET),
                "value": encode(value.value),
            }
            return struct_pb2.Value(struct_value=struct_pb2.Struct(fields=fields))
        case bool():
            return struct_pb2.Value(bool_value=value)
        case int() | float():
            return struct_pb2.Value(number_value=float(value))
        case str():
            return struct_pb2.Value(string_value=value)
        case Mapping():
            mapping = cast("Mapping[str, Any]", value)
            return struct_pb2.Value(struct_value=encode_all(mapping))
        case list() | tuple() | set() | frozenset():
            items = [encode(item) for item in cast("list[Any]", value)]
            return struct_pb2.Value(list_value=struct_pb2.ListValue(values=items))
        case _:
            # botocore gives datetimes; their ISO form is what AWS's own APIs print.
            return struct_pb2.Value(string_value=str(value))


def keep_secrets(outputs: struct_pb2.Struct, *sources: struct_pb2.Struct) -> struct_pb2.Struct:
    """Mark as secret, in place, what has its value from a secret of `sources`; give `outputs`.

    A value follows the one of its own name. Where that is not an object on both sides, one secret
    inside makes the whole of it secret.
    """
    for source in sources:
        for key in outputs.fields.keys() & source.fields.keys():
            _keep_secret(outputs.fields[key], source.fields[key])
    return outputs


def _keep_secret(output: struct_pb2.Value, source: struct_pb2.Value) -> None:
    if _is_object(output) and _is_object(source):
        keep_secrets(output.struct_value, source.struct_value)
    elif _holds_secret(source) and not _holds_secret(output):
        fields = {_SIGNATURE: struct_pb2.Value(string_value=_SECRET), "value": output}
        output.CopyFrom(struct_pb2.Value(struct_value=struct_pb2.Struct(fields=fields)))


def _is_object(value: struct_pb2.Value) -> bool:
    return value.HasField("struct_value") and _SIGNATURE not in value.struct_value.fields


def _holds_secret(value: struct_pb2.Value) -> bool:
    if value.HasField("list_value"):
        return any(_holds_secret(item) for item in value.list_value.values)
    if not value.HasField("struct_value"):
        return False
    fields = value.struct_value.fields
    if _SIGNATURE in fields and fields[_SIGNATURE].string_value == _SECRET:
        return True
    return any(_holds_secret(item) for item in fields.values())


def marked_secret(value: str) -> Plain:
    """Give a secret text in the form that it has in JSON on the wire."""
    return {_SIGNATURE: _SECRET, "value": value}


def has_unknown(value: Any) -> bool:
    """Tell whether `value` is, or holds, a value that is not known yet."""
    if isinstance(value, Mapping):
        return any(has_unknown(item) for item in cast("Mapping[str, Any]", value).values())
    if isinstance(value, list):
        return any(has_unknown(item) for item in cast("list[Any]", value))
    return value is UNKNOWN


def known(values: Mapping[str, Any]) -> Plain:
    """Give the properties that are known throughout."""
    return {key: value for key, value in values.items() if not has_unknown(value)}


def equivalent(one: Any, other: Any) -> bool:
    """Tell whether two values mean the same to AWS.

    Order in lists does not matter, an absent field is an empty one, and a string that holds a JSON
    object (a policy) is compared as that object.
    """
    return _canonical(one) == _canonical(other)


def covers(observed: Any, wanted: Any) -> bool:
    """Tell whether `observed` is what `wanted` asks for, and perhaps more that nobody asked for."""
    if isinstance(observed, Mapping) and isinstance(wanted, Mapping):
        fields = cast("Mapping[str, Any]", observed)
        return all(
            covers(fields.get(key), value)
            for key, value in cast("Mapping[str, Any]", wanted).items()
        )
    if isinstance(observed, list) and isinstance(wanted, list):
        left = list(cast("list[Any]", observed))
        for item in cast("list[Any]", wanted):
            match = next((other for other in left if covers(other, item)), None)
            if match is None:
                return False
            left.remove(match)
        return not left
    return equivalent(observed, wanted) or (observed is None and wanted in ("", [], {}))


def _canonical(value: Any) -> Any:
    if isinstance(value, Mapping):
        fields = {k: _canonical(v) for k, v in cast("Mapping[str, Any]", value).items()}
        return tuple(sorted((k, v) for k, v in fields.items() if v not in (None, "", ())))
    if isinstance(value, list):
        items = [_canonical(item) for item in cast("list[Any]", value)]
        return tuple(sorted(items, key=repr))
    if isinstance(value, str) and value.lstrip().startswith("{"):
        try:
            return _canonical(_unwrapped(json.loads(value)))
        except ValueError:
            return value
    if isinstance(value, bool) or value is None or isinstance(value, str | Unknown):
        return value
    return str(value)


def _unwrapped(document: Any) -> Any:
    """Read a policy's one-element lists as their element: AWS takes either."""
    if isinstance(document, dict):
        fields = cast("dict[str, Any]", document)
        return {key: _unwrapped(value) for key, value in fields.items()}
    if isinstance(document, list):
        items = [_unwrapped(item) for item in cast("list[Any]", document)]
        return items[0] if len(items) == 1 else items
    return document


def changes(old: Any, new: Any, path: str = "") -> Iterator[tuple[str, str]]:
    """Walk what differs between two values, as (property path, "add" | "delete" | "update").

    Paths are the engine's: `tags.Name`, `ingress[0].cidrBlocks`, `tags["a/b"]`.
    """
    if isinstance(old, dict) and isinstance(new, dict):
        before, after = cast("Plain", old), cast("Plain", new)
        for key in sorted(before.keys() | after.keys()):
            yield from changes(before.get(key), after.get(key), _join(path, key))
    elif isinstance(old, list) and isinstance(new, list):
        first, second = cast("list[Any]", old), cast("list[Any]", new)
        for index in range(max(len(first), len(second))):
            left = first[index] if index < len(first) else None
            right = second[index] if index < len(second) else None
            yield from changes(left, right, f"{path}[{index}]")
    elif old is None and new is not None:
        yield path, "add"
    elif new is None and old is not None:
        yield path, "delete"
    elif old is not new and old != new:
        yield path, "update"


def _join(path: str, key: str) -> str:
    if not key.replace("_", "").replace("-", "").isalnum():
        return f'{path}["{key}"]'
    return f"{path}.{key}" if path else key
