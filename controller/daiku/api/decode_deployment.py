"""Deployments and their autoscalers from bytes, cut down to what a surge reads."""

from collections.abc import Mapping
from datetime import timedelta
from typing import Any

import msgspec

from daiku.api import decode, wire
from daiku.model.deployment import Deployment

_OWN = "daiku.dev/"
"""Beginning of the annotations that are read; the last applied configuration would only cost memory."""


class _ManagedFields(wire.Wire):
    """metadata.managedFields[]: who wrote what."""

    manager: str | None = None
    fields_v1: dict[str, Any] | None = msgspec.field(default=None, name="fieldsV1")


class _Meta(wire.ObjectMeta):
    managed_fields: list[_ManagedFields] | None = None


class _Spec(wire.Wire):
    replicas: int | None = None
    min_ready_seconds: int | None = None


class _Status(wire.Wire):
    observed_generation: int | None = None
    replicas: int | None = None
    updated_replicas: int | None = None


class _Deployment(wire.Wire):
    metadata: _Meta
    spec: _Spec = msgspec.field(default_factory=_Spec)
    status: _Status = msgspec.field(default_factory=_Status)


class _Target(wire.Wire):
    kind: str = ""
    name: str = ""
    api_version: str | None = None


class _ScalerSpec(wire.Wire):
    scale_target_ref: _Target = msgspec.field(default_factory=_Target)


class _Scaler(wire.Wire):
    metadata: wire.ObjectMeta
    spec: _ScalerSpec = msgspec.field(default_factory=_ScalerSpec)


_DEPLOYMENTS = msgspec.json.Decoder(_Deployment)
_SCALERS = msgspec.json.Decoder(_Scaler)


def deployment(content: bytes) -> Deployment:
    """Read a Deployment."""
    found = _DEPLOYMENTS.decode(content)
    kept = {k: v for k, v in (found.metadata.annotations or {}).items() if k.startswith(_OWN)}
    status, generation = found.status, found.metadata.generation or 0
    managers = [
        each.manager or ""
        for each in found.metadata.managed_fields or ()
        if "f:replicas" in _part(each.fields_v1, "f:spec")
    ]
    return Deployment(
        meta=decode.meta(found.metadata, kept),
        replicas=1 if found.spec.replicas is None else found.spec.replicas,
        min_ready=timedelta(seconds=found.spec.min_ready_seconds or 0),
        is_settled=(status.observed_generation or 0) >= generation
        and (status.updated_replicas or 0) == (status.replicas or 0),
        scaled_by=tuple(sorted(dict.fromkeys(managers))),
    )


def scaled_deployment(content: bytes) -> tuple[str, str]:
    """The name of an autoscaler and that of the Deployment it scales; the latter is empty when it scales others."""
    found = _SCALERS.decode(content)
    target = found.spec.scale_target_ref
    is_ours = target.kind == "Deployment" and (target.api_version or "apps/").startswith("apps/")
    return found.metadata.name, target.name if is_ours else ""


def _part(fields: Mapping[str, Any] | None, name: str) -> Mapping[str, Any]:
    found: object = (fields or {}).get(name)
    return found if isinstance(found, dict) else {}  # pyright: ignore[reportUnknownVariableType]
