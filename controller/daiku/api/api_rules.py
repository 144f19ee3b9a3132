"""The API's own rules, asked before there is a cluster: what an API server would refuse of a NodePool or a node class.

The rules are read from the CustomResourceDefinitions that the controller brings along: their schemas, walked here, and
their CEL rules, run by a CEL library. So nothing is written twice, and a definition that changes changes what a
preview and a plan say. As in an API server defaults are filled in first, a field that nobody knows is refused, and a
rule is asked only of what its schema takes. Rules that compare with a former state are left to the API server.

Values that are known late, such as an instance profile's name, are taken for texts that fit. No Pulumi in here, and
nothing else of the controller: infrastructure asks it too.
"""

import copy
import difflib
import functools
import importlib.util
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, Final, cast

import yaml

Problem = tuple[str, str]
"""Where, such as spec.weight, and what is wrong there."""

CRDS: Final = Path(__file__).parents[1] / "crds"
KINDS: Final = ("NodePool", "EC2NodeClass", "KWOKNodeClass")
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
        kind: One of `KINDS`.
        spec: The spec, in the words of the API, with all that the stack fills in.
    """
    schema = _schema_of(kind)
    found = [*_problems(schema, _defaulted(schema, {**spec}), "spec")]
    return [(place, _elsewhere(place, problem, kind)) for place, problem in found]


def _elsewhere(place: str, problem: str, kind: str) -> str:
    """The problem; of a field that is not known in its place, where it belongs."""
    if not problem.startswith(f"{_NO_FIELD}known here: "):
        return problem
    known = problem.removeprefix(f"{_NO_FIELD}known here: ").split(", ")
    return _unknown(place.rpartition(".")[2], known, kind)


def problems_of_object(kind: str, whole: Mapping[str, Any]) -> list[Problem]:
    """Say what the API refuses of a whole manifest: of its spec, and of fields beside it.

    Args:
        kind: One of `KINDS`.
        whole: The manifest.
    """
    spec: Any = whole.get("spec")
    found: list[Problem] = [
        (name, _unknown(name, _HEAD, kind)) for name in whole if name not in _HEAD
    ]
    if isinstance(spec, dict):
        return [*found, *problems_of(kind, cast("dict[str, Any]", spec))]
    wanted = "spec" in _definition_of(kind).get("required", ())
    if wanted or spec is not None:
        found.append(("spec", "is missing" if spec is None else f"{spec!r:.60} is not a mapping"))
    return found


def can_run_rules() -> bool:
    """Whether the library is there that runs CEL rules; without it only the schemas are asked."""
    return importlib.util.find_spec("cel") is not None


_NO_FIELD: Final = "there is no such field; "
_HEAD: Final = ("apiVersion", "kind", "metadata", "spec", "status")


def _schema_of(kind: str) -> dict[str, Any]:
    """The schema of a kind's spec."""
    return _definition_of(kind)["properties"]["spec"]


@functools.cache
def _definition_of(kind: str) -> dict[str, Any]:
    """The schema of a kind."""
    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    for path in sorted(CRDS.glob("*.yaml")):
        for definition in yaml.load_all(path.read_text(), loader):
            if definition["spec"]["names"]["kind"] == kind:
                [version] = definition["spec"]["versions"]
                return version["schema"]["openAPIV3Schema"]
    raise ValueError(f"no CustomResourceDefinition is of the kind {kind!r}")


@functools.cache
def _places(kind: str) -> Mapping[str, str]:
    """Every field of a kind's spec that has a place of its own -> that place; the outermost of several."""
    found: dict[str, str] = {}
    level: list[tuple[str, dict[str, Any]]] = [("spec", _schema_of(kind))]
    while level:
        inside: list[tuple[str, dict[str, Any]]] = []
        for place, schema in level:
            properties: dict[str, dict[str, Any]] = schema.get("properties") or {}
            for name, inner in properties.items():
                found.setdefault(name, f"{place}.{name}")
                inside.append((f"{place}.{name}", inner))
        level = inside
    return found


def _unknown(name: str, known: Iterable[str], kind: str = "") -> str:
    """What to say of a field that is not known in its place."""
    close = difflib.get_close_matches(name, known, n=1)
    places: Mapping[str, str] = _places(kind) if kind else {}
    if close:
        remedy = f"did you mean {close[0]}?"
    elif name in places:
        remedy = f"it belongs to {places[name].rpartition('.')[0]}"
    elif others := difflib.get_close_matches(name, places, n=1, cutoff=0.8):
        remedy = f"did you mean {places[others[0]]}?"
    else:
        remedy = f"known here: {', '.join(known)}"
    return f"{_NO_FIELD}{remedy}"


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
                yield from _problems(cast("dict[str, Any]", inner), item, f"{place}.{_shown(name)}")
        elif not schema.get("x-kubernetes-preserve-unknown-fields"):
            yield f"{place}.{_shown(name)}", _unknown(name, properties)


def _shown(name: str) -> str:
    """A field's name in one line of text, whatever is in it."""
    return name if name.isprintable() and name.strip() else repr(name)


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
    if not (rules and can_run_rules()):
        return
    known = _with_late_texts(value)
    for rule in rules:
        if "oldSelf" in rule["rule"]:
            continue
        try:
            holds = _program(rule["rule"])(known)
        except (ValueError, TypeError, RuntimeError, KeyError, OverflowError):
            # A value that the library cannot compare; an API server will.
            continue
        if not holds:
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
