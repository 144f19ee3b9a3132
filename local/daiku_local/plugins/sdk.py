"""What a package's SDK knows of its resource types: input names, required ones, nested ones.

The SDK's classes are the schema that a program is written against, so a stand-in checks against
them. They are read as text: importing `pulumi_aws.ec2` costs 0.3 s and 40 MB, the lines that matter
cost a millisecond. The generated sources are regular enough for that: one `class XArgs` per type,
one line per parameter.
"""

import difflib
import functools
import importlib.metadata
import importlib.util
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

from daiku_local.plugins.errors import Failure, ProviderError
from daiku_local.plugins.values import UNKNOWN, Plain

_PARAMETER = re.compile(r"^ {17}(\w+): (.+?)( = None)?(,|\):)$", re.MULTILINE)
_RENAMED = re.compile(r'@pulumi\.getter\(name="(\w+)"\)\n(?: {4}@.*\n)? {4}def (\w+)\(')
_NESTED = re.compile(r"'(?:_\w+\.)?(\w+Args)'")


@dataclass(frozen=True, slots=True, kw_only=True)
class Shape:
    """The inputs of a resource type, or of a type nested in one."""

    required: frozenset[str]
    """Names that must be given."""
    nested: Mapping[str, str]
    """Every name, with the SDK class of its value, "" where that is a plain value."""
    module: str
    """Folder of the SDK that holds the nested classes, such as `ec2`."""


def version(package: str) -> str:
    """Give the version of the installed SDK `pulumi_<package>`; a plugin reports the same."""
    return importlib.metadata.version(f"pulumi-{package}")


@functools.cache
def _folder(package: str) -> Path:
    spec = importlib.util.find_spec(f"pulumi_{package}")
    if spec is None or spec.origin is None:
        raise ProviderError(f"the Python package pulumi_{package} is not installed: `make setup`")
    return Path(spec.origin).parent


@functools.cache
def _source(path: Path) -> str:
    return path.read_text() if path.is_file() else ""


def _snake(name: str) -> str:
    return re.sub(r"(?<=[a-z0-9])([A-Z])", r"_\1", name).lower()


def _shape(source: str, name: str, module: str) -> Shape | None:
    start = source.find(f"\nclass {name}:\n")
    if start < 0:
        return None
    end = source.find("\nclass ", start + 1)
    text = source[start : end if end > 0 else None]
    camel = {snake: camel for camel, snake in _RENAMED.findall(text)}
    head = text[: text.find("):\n") + 3]
    required: set[str] = set()
    nested: dict[str, str] = {}
    for parameter, annotation, optional, _ in _PARAMETER.findall(head):
        key = camel.get(parameter, parameter)
        # A policy may be given as text or as an object; such a choice is IAM's to judge.
        inner = None if "Union[_builtins.str" in annotation else _NESTED.search(annotation)
        nested[key] = inner[1] if inner else ""
        if not optional:
            required.add(key)
    return Shape(required=frozenset(required), nested=nested, module=module)


@functools.cache
def shape_of(package: str, token: str) -> Shape:
    """Give the inputs of resource type `token`.

    Raises:
        ProviderError: The SDK has no such type.
    """
    _, path, name = token.split(":")
    module, _, member = path.rpartition("/")
    file = name if path == "index" else member
    return shape_in(package, str(Path(module) / f"{_snake(file)}.py"), f"{name}Args")


def shape_in(package: str, file: str, name: str) -> Shape:
    """Give the inputs that the class `name` in `file` of the SDK has.

    Raises:
        ProviderError: The SDK has no such class.
    """
    path = Path(file)
    module = str(path.parent)
    return _found(package, path, name, "" if module == "." else module)


def provider_shape(package: str) -> Shape:
    """Give the configuration that the provider of `package` knows."""
    return shape_in(package, "provider.py", "ProviderArgs")


def _found(package: str, path: Path, name: str, module: str) -> Shape:
    shape = _shape(_source(_folder(package) / path), name, module)
    if shape is None:
        raise ProviderError(f"pulumi_{package} {version(package)} has no class {name} in {path}")
    return shape


@functools.cache
def _nested_shape(package: str, module: str, name: str) -> Shape | None:
    return _shape(_source(_folder(package) / module / "_inputs.py"), name, module)


def nearest(name: str, names: Mapping[str, Any] | frozenset[str]) -> str:
    """Give a hint at the known name that `name` most looks like, or ""."""
    close = difflib.get_close_matches(name, list(names), n=1, cutoff=0.5)
    return f"; did you mean {close[0]!r}?" if close else ""


def check(package: str, shape: Shape, given: Plain, path: str = "") -> Iterator[Failure]:
    """Find missing and unknown properties in `given`, at every depth."""
    for name in sorted(shape.required):
        if given.get(name) is None:
            yield Failure(path=path + name, reason="is required, and was not given")
    for name, value in given.items():
        if name not in shape.nested:
            reason = f"is no property of this type{nearest(name, shape.nested)}"
            yield Failure(path=path + name, reason=reason)
        elif inner := shape.nested[name]:
            yield from _check_nested(package, shape.module, inner, value, path + name)


def _check_nested(package: str, module: str, name: str, value: Any, path: str) -> Iterator[Failure]:
    shape = _nested_shape(package, module, name)
    if shape is None or value is UNKNOWN or value is None:
        return
    if isinstance(value, list):
        for index, item in enumerate(cast("list[Any]", value)):
            yield from _check_nested(package, module, name, item, f"{path}[{index}]")
    elif isinstance(value, dict):
        yield from check(package, shape, cast("Plain", value), f"{path}.")
    else:
        yield Failure(path=path, reason=f"must be an object, and is {value!r}")
