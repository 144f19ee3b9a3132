"""Shortens what `pulumi preview --diff` prints to one line per resource.

Eighty-five resources with all their properties are 3,500 lines, most of them the schemas of CRDs; what a
person wants first is what would be made, and the values that tell one from another. Pure: lines in, lines out.
"""

import re
from collections.abc import Iterable, Iterator

_HEADER = re.compile(r"^(?P<indent>\s*)(?P<sign>[-+~]{1,2}) (?P<type>\S+): \((?P<step>[a-z-]+)\)")
_NAME = re.compile(r"^\s*\[urn=.*::(?P<name>[^:\]]+)\]")
_PROPERTY = re.compile(r"^\s*[-+~]?\s*(?P<key>\w+)\s*: (?P<value>[^{\[(].*|\[secret\])$")
_UNTELLING = {"apiVersion", "kind", "region", "version", "description", "warning"}
_VALUES_MAX = 3


def shorten(lines: Iterable[str]) -> Iterator[str]:
    """Yield one line per resource: its sign, type, name and first telling properties."""
    header: re.Match[str] | None = None
    name = ""
    values: list[str] = []
    for line in lines:
        begins = _HEADER.match(line)
        if begins or line.startswith(("Resources:", "Diagnostics:", "    --outputs:")):
            if header:
                yield _line(header, name, values)
            header, name, values = begins, "", []
        elif header and (found := _NAME.match(line)):
            name = found["name"]
        elif header and _is_direct(line, header) and (found := _PROPERTY.match(line)):
            if found["key"] not in _UNTELLING and len(values) < _VALUES_MAX:
                values.append(f"{found['key']}={found['value'].strip()}")
        elif not header and line.strip() and not line.lstrip().startswith("warning:"):
            yield line.rstrip("\n")
    if header:
        yield _line(header, name, values)


def _line(header: re.Match[str], name: str, values: list[str]) -> str:
    detail = f"  {', '.join(values)}" if values else ""
    return f"{header['sign']} {header['type']} {name}{detail}"


def _is_direct(line: str, header: re.Match[str]) -> bool:
    """Whether the line is a property of the resource itself and not of something inside it."""
    return len(line) - len(line.lstrip(" +-~")) <= len(header["indent"]) + 4
