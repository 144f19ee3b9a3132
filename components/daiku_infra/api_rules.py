"""The API's own rules, asked at preview: what an API server would refuse of a NodePool or an EC2NodeClass.

The rules are read from the CustomResourceDefinitions that the controller brings along: their schemas, walked here, and
their CEL rules, run by a CEL library. So nothing is written twice, and a definition that changes changes what a
preview says. As in an API server defaults are filled in first, a field that nobody knows is refused, and a rule is
asked only of what its schema takes. Rules that compare with a former state are left to the API server.

Values that are known late, such as an instance profile's name, are taken for texts that fit. No Pulumi in here.
"""

import copy
import difflib
import functools
import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any, cast

from daiku_infra import crds

Problem = tuple[str, str]
"""Where, such as spec.weight, and what is wrong there."""

KNOWN_LATE = "known-late"
"""Stands for a text that an update learns on its way."""

_TYPES: Mapping[str, tuple[type, ...]] = {
    "string": (str,),
    "integer": (int,),
    "number": (int, float),
    "boolean": (bool,),
    "array": (list,),
    "object": (dict,),
}
_PLAIN = (str, int, float, bool, list, dict, type(None))
_NAMES = {
    "integer": "a whole number",
    "boolean": "true or false",
    "array": "a list",
    "object": "a mapping",
}
_EXAMPLES = {
    "expireAfter": "720h or Never",
    "consolidateAfter": "30s, 5m or Never",
    "terminationGracePeriod": "48h",
    "nodes": "10% or 3, in quotes",
    "duration": "8h30m",
    "schedule": "0 9 * * mon-fri",
    "volumeSize": "100Gi",
    "limits": "100 or 512Gi",
}


def problems_of(kind: str, spec: Mapping[str, Any]) -> list[Problem]:
    """Say what the API refuses of a spec.

    Args:
        kind: NodePool or EC2NodeClass.
        spec: The spec, in the words of the API, with all that the stack fills in.
    """
    schema = _schema_of(kind)
    return [*_problems(schema, _defaulted(schema, {**spec}), "spec")]


@functools.cache
def _schema_of(kind: str) -> dict[str, Any]:
    """The schema of a kind's spec."""
    for definition in crds.load(crds.folder()):
        if definition["spec"]["names"]["kind"] == kind:
            [version] = definition["spec"]["versions"]
            return version["schema"]["openAPIV3Schema"]["properties"]["spec"]
    raise ValueError(f"no CustomResourceDefinition is of the kind {kind!r}")


def _defaulted(schema: Mapping[str, Any], value: Any) -> Any:
    """The value with all defaults filled in, as a copy."""
    if isinstance(value, list) and "items" in schema:
        return [_defaulted(schema["items"], item) for item in cast("list[Any]", value)]
    if not isinstance(value, dict):
        return cast("Any", value)
    filled = {**cast("dict[str, Any]", value)}
    properties: Mapping[str, Any] = schema.get("properties") or {}
    for name, inner in properties.items():
        if filled.get(name) is None and "default" in inner:
            filled[name] = copy.deepcopy(inner["default"])
    every = schema.get("additionalProperties")
    for name, item in filled.items():
        inner = properties.get(name, every)
        if isinstance(inner, dict):
            filled[name] = _defaulted(cast("dict[str, Any]", inner), item)
    return filled


def _problems(schema: Mapping[str, Any], value: Any, place: str) -> Iterator[Problem]:
    """What is wrong with a value, and, where its parts are right, with the whole of it."""
    if not isinstance(value, _PLAIN):
        return
    found = [*_of_value(schema, value, place)]
    if isinstance(value, dict) and not found:
        found = [*_of_mapping(schema, cast("dict[str, Any]", value), place)]
    elif isinstance(value, list) and not found:
        items = cast("list[Any]", value)
        for index, item in enumerate(items):
            found += _problems(schema.get("items") or {}, item, f"{place}[{index}]")
    yield from found or _of_rules(schema, value, place)


def _of_mapping(schema: Mapping[str, Any], value: dict[str, Any], place: str) -> Iterator[Problem]:
    """What is wrong with the fields of a mapping: those that are there, and those that are not."""
    properties: Mapping[str, Any] = schema.get("properties") or {}
    every = schema.get("additionalProperties")
    for name in schema.get("required", ()):
        if value.get(name) is None:
            yield f"{place}.{name}", "is missing"
    for name, item in value.items():
        inner = properties.get(name, every)
        if isinstance(inner, dict):
            if not (item is None and name in schema.get("required", ())):
                yield from _problems(cast("dict[str, Any]", inner), item, f"{place}.{name}")
        elif not schema.get("x-kubernetes-preserve-unknown-fields"):
            close = difflib.get_close_matches(name, properties, n=1)
            remedy = (
                f"did you mean {close[0]}?" if close else f"known here: {', '.join(properties)}"
            )
            yield f"{place}.{name}", f"there is no such field; {remedy}"


def _of_value(schema: Mapping[str, Any], value: Any, place: str) -> Iterator[Problem]:
    """What is wrong with a value by itself: its type, its bounds, its form."""
    if schema.get("x-kubernetes-int-or-string"):
        fits = isinstance(value, int | str) and not isinstance(value, bool)
        wanted = "a whole number or a text"
    else:
        wanted = str(schema.get("type", "object"))
        fits = isinstance(value, _TYPES[wanted]) and (
            wanted == "boolean" or not isinstance(value, bool)
        )
        wanted = _NAMES.get(wanted, "a text; put it in quotes")
    if not fits:
        yield place, f"{value!r} is not {wanted}"
        return
    if "enum" in schema and value not in schema["enum"]:
        yield place, f"{value!r} is none of {', '.join(map(str, schema['enum']))}"
    if isinstance(value, str) and "pattern" in schema and not re.search(schema["pattern"], value):
        yield place, f"{value!r} does not belong here; {_form(schema, place)}"
    for key, wrong, what in _BOUNDS:
        if key in schema and wrong(value, schema[key]):
            yield place, f"{value!r:.60} is {what} {schema[key]}"
    if schema.get("x-kubernetes-list-type") == "set":
        items = [*map(str, cast("list[Any]", value))]
        if len({*items}) < len(items):
            yield place, f"{value!r} lists something twice"


def _form(schema: Mapping[str, Any], place: str) -> str:
    """What a text should look like: an example where there is one, else the pattern."""
    for name in reversed(re.split(r"[.\[\]]+", place)):
        if name in _EXAMPLES:
            return f"write something such as {_EXAMPLES[name]}"
    return f"it must match {schema['pattern']}"


def _of_rules(schema: Mapping[str, Any], value: Any, place: str) -> Iterator[Problem]:
    """Which of the CEL rules of a value do not hold."""
    rules: list[Mapping[str, str]] = schema.get("x-kubernetes-validations") or []
    if not rules:
        return
    known = _with_late_texts(value)
    for rule in rules:
        if "oldSelf" not in rule["rule"] and not _program(rule["rule"])(known):
            yield place, rule["message"]


def _with_late_texts(value: Any) -> Any:
    """The value with a text in place of whatever is known late: CEL knows plain values only."""
    if isinstance(value, dict):
        return {
            name: _with_late_texts(item) for name, item in cast("dict[str, Any]", value).items()
        }
    if isinstance(value, list):
        return [_with_late_texts(item) for item in cast("list[Any]", value)]
    return cast("Any", value) if isinstance(value, _PLAIN) else KNOWN_LATE


@functools.cache
def _program(rule: str) -> Callable[[Any], bool]:
    """A rule, compiled."""
    import cel  # noqa: PLC0415 - slow to import, and only stacks with NodePools need it

    compiled = cel.compile(rule)

    def run(value: Any) -> bool:
        context = cel.Context({"self": value})
        # Kubernetes has it as an extension of CEL.
        context.add_function("lowerAscii", str.lower)
        return bool(compiled.execute(context))

    return run


def _longer(value: Any, bound: int) -> bool:
    return len(value) > bound


def _shorter(value: Any, bound: int) -> bool:
    return len(value) < bound


_BOUNDS: tuple[tuple[str, Callable[[Any, Any], bool], str], ...] = (
    ("minimum", lambda value, bound: value < bound, "less than the least,"),
    ("maximum", lambda value, bound: value > bound, "more than the most,"),
    ("minLength", _shorter, "shorter than"),
    ("maxLength", _longer, "longer than"),
    ("minItems", _shorter, "shorter than"),
    ("maxItems", _longer, "longer than"),
    ("minProperties", _shorter, "smaller than"),
    ("maxProperties", _longer, "larger than"),
)
