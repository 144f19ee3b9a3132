"""What an API server adds to a manifest when it is created, as far as it decides where pods go.

A class that a manifest names and that is not in the input is assumed, with a note: manifests of one project seldom
bring along what belongs to the cluster. What comes from a cluster has all of this already and is left alone.

Source: Kubernetes' admission plugins DefaultStorageClass, LimitRanger and RuntimeClass.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, cast

import msgspec

from daiku.api.manifests import Document

DEFAULT_CLASS: Final = (
    "storageclass.kubernetes.io/is-default-class",
    "storageclass.beta.kubernetes.io/is-default-class",
)
"""Annotations that make a StorageClass the one of claims that name none."""
ASSUMED: Final = "the default StorageClass"
"""Name of the StorageClass of claims that name none, when none in the input is the default."""
KINDS: Final = frozenset({"LimitRange", "RuntimeClass"})
"""Kinds that are read here and nowhere else."""

Json = dict[str, Any]


@dataclass(slots=True)
class Surroundings:
    """What the objects of the input say about others that are created beside them."""

    limit_ranges: dict[str, list[Json]] = field(default_factory=dict[str, list[Json]])
    """Namespace -> limits for containers, in order of the objects' names."""
    runtime_classes: dict[str, Json] = field(default_factory=dict[str, Json])
    default_class: str = ""
    """Name of the StorageClass for claims that name none; empty: none is known."""
    missing: dict[str, int] = field(default_factory=dict[str, int])
    """RuntimeClasses that are asked for and not there -> by how many objects."""

    @property
    def notes(self) -> list[str]:
        """What was assumed."""
        return [
            f"RuntimeClass {name} is not in the input: its overhead is taken for none"
            for name in sorted(self.missing)
        ]

    def created(self, document: Document) -> Document:
        """A workload, a pod or a claim as the API server would keep it; anything else as it is."""
        if document.live:
            return document
        if document.kind == "PersistentVolumeClaim":
            return self._claimed(document)
        limits = self.limit_ranges.get(document.namespace)
        if not limits and b'"runtimeClassName"' not in document.content:
            return document
        whole = _json(document.content)
        spec = _at(whole, "spec") if document.kind == "Pod" else _at(whole, *_TEMPLATE)
        if spec is None:
            return document
        self._run_by(spec)
        for each in limits or ():
            _limit(spec, each)
        return _rewritten(document, whole)

    def _claimed(self, document: Document) -> Document:
        whole = _json(document.content)
        spec = _at(whole, "spec")
        if spec is None or spec.get("storageClassName") is not None or spec.get("volumeName"):
            return document
        spec["storageClassName"] = self.default_class or ASSUMED
        return _rewritten(document, whole)

    def _run_by(self, spec: Json) -> None:
        """Add what the RuntimeClass of a pod asks for."""
        name = spec.get("runtimeClassName")
        if not isinstance(name, str) or not name:
            return
        found = self.runtime_classes.get(name)
        if found is None:
            self.missing[name] = self.missing.get(name, 0) + 1
            return
        fixed = _at(found, "overhead", "podFixed")
        if fixed and spec.get("overhead") is None:
            spec["overhead"] = fixed
        scheduling = _at(found, "scheduling") or {}
        selector, own = _at(scheduling, "nodeSelector"), spec.get("nodeSelector")
        if selector and (own is None or isinstance(own, dict)):
            spec["nodeSelector"] = {**selector, **cast("Json", own or {})}
        tolerations, have = scheduling.get("tolerations"), spec.get("tolerations")
        if isinstance(tolerations, list) and (have is None or isinstance(have, list)):
            own_ones = cast("list[Any]", have or [])
            spec["tolerations"] = [*own_ones, *cast("list[Any]", tolerations)]


_TEMPLATE: Final = ("spec", "template", "spec")


def surroundings(documents: Sequence[Document]) -> Surroundings:
    """What `documents` say about others."""
    found = Surroundings()
    defaults: list[str] = []
    for each in sorted(documents, key=lambda d: d.key):
        if each.kind == "LimitRange":
            limits = _at(_json(each.content), "spec") or {}
            found.limit_ranges.setdefault(each.namespace, []).extend(
                limit
                for limit in _mappings(limits.get("limits"))
                if limit.get("type") == "Container"
            )
        elif each.kind == "RuntimeClass":
            found.runtime_classes[each.name] = _json(each.content)
        elif each.kind == "StorageClass":
            annotations = _at(_json(each.content), "metadata", "annotations") or {}
            if any(annotations.get(key) == "true" for key in DEFAULT_CLASS):
                defaults.append(each.name)
    found.default_class = next(iter(defaults), "")
    return found


def ephemeral_claims(pod: Document) -> list[Document]:
    """The claims that are made with a pod for its ephemeral volumes."""
    if pod.live or b'"volumeClaimTemplate"' not in pod.content:
        return []
    spec = _at(_json(pod.content), "spec") or {}
    found: list[Document] = []
    for volume in _mappings(spec.get("volumes")):
        template = _at(volume, "ephemeral", "volumeClaimTemplate")
        if template is None:
            continue
        name = f"{pod.name}-{volume.get('name', '')}"
        metadata = {**(_at(template, "metadata") or {}), "name": name, "namespace": pod.namespace}
        claim = msgspec.structs.replace(
            pod, api_version="v1", kind="PersistentVolumeClaim", name=name
        )
        found.append(_rewritten(claim, {"metadata": metadata, "spec": template.get("spec") or {}}))
    return found


def _rewritten(document: Document, whole: Json) -> Document:
    try:
        return msgspec.structs.replace(document, content=msgspec.json.encode(whole))
    except (OverflowError, ValueError):
        # A number that JSON takes and no integer holds: whoever reads the document says so.
        return document


def _limit(spec: Json, limit: Json) -> None:
    """Give containers that say nothing the requests and limits that a LimitRange has for them."""
    most, least = _at(limit, "max") or {}, _at(limit, "min") or {}
    limits = {**most, **(_at(limit, "default") or {})}
    requests = {**least, **limits, **(_at(limit, "defaultRequest") or {})}
    for each in (*_mappings(spec.get("containers")), *_mappings(spec.get("initContainers"))):
        asked = each.get("resources")
        if asked is not None and not isinstance(asked, dict):
            continue
        own = cast("Json", asked or {})
        own_limits, own_requests = _at(own, "limits") or {}, _at(own, "requests") or {}
        # A limit that the author gives is a request too, before anything is filled in.
        each["resources"] = {
            **own,
            "limits": {**limits, **own_limits},
            "requests": {**requests, **own_limits, **own_requests},
        }


def _json(content: bytes) -> Json:
    found: Any = msgspec.json.decode(content)
    return cast("Json", found) if isinstance(found, dict) else {}


def _at(value: Mapping[str, Any], *path: str) -> Json | None:
    """The mapping at a path; None when there is none."""
    found: Any = value
    for key in path:
        found = cast("Json", found).get(key) if isinstance(found, dict) else None
    return cast("Json", found) if isinstance(found, dict) else None


def _mappings(value: Any) -> list[Json]:
    items = cast("list[Any]", value) if isinstance(value, list) else []
    return [cast("Json", each) for each in items if isinstance(each, dict)]
