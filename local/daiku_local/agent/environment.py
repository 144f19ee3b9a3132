"""The environment variables and the command line of a container, as a kubelet computes them.

Sources: envFrom, then env, in order; a later one wins; $(NAME) refers to what came before. Values
from secrets, config maps and the pod itself are looked up through plain arguments.
"""

import math
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from daiku_local.agent import quantities
from daiku_local.agent.objects import Json, dig, items, mapping

Lookup = Callable[[str, str], Mapping[str, str] | None]
"""Kind (ConfigMap or Secret) and name to its decoded data, None if there is no such object."""

_REFERENCE = re.compile(r"\$(?:(\$)|\(([^()]*)\))")
_SUBSCRIPT = re.compile(r"metadata\.(labels|annotations)\['([^']+)'\]")


class PodConfigError(Exception):
    """The pod cannot be started as it is written; a kubelet would report it in the pod's status."""

    reason: str
    """What the container's waiting state says."""

    def __init__(self, message: str, reason: str = "CreateContainerConfigError") -> None:
        super().__init__(message)
        self.reason = reason


@dataclass(frozen=True, slots=True, kw_only=True)
class Surroundings:
    """What a pod may refer to beside its own manifest."""

    pod_ip: str
    """Address of the pod."""
    host_ip: str
    """Address of its node."""
    allocatable: Mapping[str, str]
    """What the node offers; stands in for a limit that is not set."""
    lookup: Lookup
    """Finds config maps and secrets of the pod's namespace."""


def expand(text: str, values: Mapping[str, str]) -> str:
    """Replace $(NAME) by its value; unknown names stay, and $$ is one dollar sign."""

    def replace(match: re.Match[str]) -> str:
        if match[1]:
            return "$"
        return values.get(match[2], match[0])

    return _REFERENCE.sub(replace, text)


def command_line(
    container: Json, entry_point: Sequence[str], values: Mapping[str, str]
) -> list[str]:
    """Give the program and its arguments: `command` replaces the image's entry point, `args` follow."""
    command = [str(word) for word in items(container, "command")]
    arguments = [str(word) for word in items(container, "args")]
    written = [expand(word, values) for word in (*command, *arguments)]
    return written if command else [*entry_point, *written]


def variables(pod: Json, container: Json, around: Surroundings) -> dict[str, str]:
    """Give the variables that the manifest sets.

    Raises:
        PodConfigError: A config map, secret, key or field that it refers to does not exist.
    """
    values: dict[str, str] = {}
    for source in items(container, "envFrom"):
        values |= _from_source(source, around)
    for entry in items(container, "env"):
        name = dig(entry, "name")
        if dig(entry, "valueFrom") is None:
            values[name] = expand(str(dig(entry, "value") or ""), values)
            continue
        value = _from_reference(pod, container, entry, around)
        if value is not None:
            values[name] = value
    return values


def _from_source(source: Any, around: Surroundings) -> dict[str, str]:
    prefix = dig(source, "prefix") or ""
    found: dict[str, str] = {}
    for field, kind in (("configMapRef", "ConfigMap"), ("secretRef", "Secret")):
        reference = dig(source, field)
        if reference is None:
            continue
        content = _content(kind, reference, around)
        found |= {f"{prefix}{key}": value for key, value in content.items()}
    return found


def _from_reference(pod: Json, container: Json, entry: Any, around: Surroundings) -> str | None:
    source = mapping(entry, "valueFrom")
    if "fieldRef" in source:
        return _field(pod, dig(source, "fieldRef", "fieldPath"), around)
    if "resourceFieldRef" in source:
        return _resource(container, mapping(source, "resourceFieldRef"), around)
    for field, kind in (("configMapKeyRef", "ConfigMap"), ("secretKeyRef", "Secret")):
        reference = dig(source, field)
        if reference is None:
            continue
        key = dig(reference, "key")
        content = _content(kind, reference, around)
        if key in content:
            return content[key]
        if dig(reference, "optional"):
            return None
        raise PodConfigError(f"{kind} {dig(reference, 'name')!r} has no key {key!r}")
    raise PodConfigError(
        f"variable {dig(entry, 'name')!r} takes its value from {', '.join(source)}, which local pods "
        "cannot: use value, fieldRef, resourceFieldRef, configMapKeyRef or secretKeyRef"
    )


def _content(kind: str, reference: Any, around: Surroundings) -> Mapping[str, str]:
    name = dig(reference, "name")
    content = around.lookup(kind, name)
    if content is not None:
        return content
    if dig(reference, "optional"):
        return {}
    raise PodConfigError(f"there is no {kind} {name!r} in the pod's namespace")


def _field(pod: Json, path: str, around: Surroundings) -> str:
    if match := _SUBSCRIPT.fullmatch(path):
        return str(dig(pod, "metadata", match[1], match[2]) or "")
    if path in {"status.podIP", "status.podIPs"}:
        return around.pod_ip
    if path in {"status.hostIP", "status.hostIPs"}:
        return around.host_ip
    known = {
        "metadata.name",
        "metadata.namespace",
        "metadata.uid",
        "spec.nodeName",
        "spec.serviceAccountName",
    }
    if path not in known:
        raise PodConfigError(f"fieldRef {path!r} is none of those that a variable may have")
    return str(dig(pod, *path.split(".")) or "")


def _resource(container: Json, reference: Json, around: Surroundings) -> str:
    """Source: resourceFieldRef: divided by `divisor` and rounded up; a missing limit is the node's."""
    kind, _, resource = str(reference.get("resource", "")).partition(".")
    amount = dig(container, "resources", kind, resource)
    if amount is None:
        amount = around.allocatable.get(resource, "0") if kind == "limits" else "0"
    divisor = quantities.parse(reference.get("divisor") or "1") or 1
    return str(math.ceil(quantities.parse(amount) / divisor))
