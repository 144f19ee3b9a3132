"""How the controller of a cluster decides: read from its Deployment, kept in a snapshot, and used by every command.

A `kind: Settings` document holds it, in the names of the controller's environment. Only what decides is taken over:
the rest of an environment is nobody's business, and could be a secret.
"""

from collections.abc import Mapping, Sequence
from typing import Any, Final

import msgspec

from daiku.api import configuration
from daiku.api.configuration import Configuration
from daiku.kube import errors
from daiku.kube.client import Client
from daiku.runtime import options
from daiku.settings import Settings

PATH: Final = "/apis/apps/v1/deployments"
NAMES: Final = ("daiku", "karpenter")
"""Values of the label app.kubernetes.io/name of controllers that read these settings, in the order of preference."""
_LABEL: Final = "app.kubernetes.io/name"

Json = dict[str, Any]


class _Variable(msgspec.Struct, rename="camel"):
    name: str
    value: str | None = None
    value_from: msgspec.Raw = msgspec.Raw(b"")


class _Container(msgspec.Struct):
    name: str
    args: list[str] | None = None
    env: list[_Variable] | None = None


class _PodSpec(msgspec.Struct):
    containers: list[_Container] = []


class _Template(msgspec.Struct):
    spec: _PodSpec = msgspec.field(default_factory=_PodSpec)


class _Spec(msgspec.Struct):
    template: _Template
    replicas: int | None = None


class _Meta(msgspec.Struct):
    name: str
    namespace: str = "default"
    labels: dict[str, str] | None = None


class Deployment(msgspec.Struct):
    """What is read of a controller's Deployment."""

    metadata: _Meta
    spec: _Spec


def of(found: Configuration, problems: list[str]) -> tuple[Settings, str]:
    """The settings that an input speaks of, else the controller's defaults; and which these are, for people.

    Args:
        found: The input.
        problems: Takes what cannot be used.
    """
    given = found.environment
    try:
        settings = options.read((), {"CLUSTER_NAME": "unknown", **given}).settings
    except options.OptionsError as error:
        problems.append(f"{configuration.SETTINGS}: {error}")
        return Settings(), ""
    if not found.settings_of:
        return settings, (
            "the controller's default settings are used, because the input has none (a `daiku snapshot` of a cluster "
            f"with a controller has, and so has a `kind: {configuration.SETTINGS}` document)"
        )
    said = ", ".join(f"{name}={given[name]}" for name in sorted(given))
    return (
        settings,
        f"the settings of {found.settings_of} are used: {said or 'none differs from its default'}",
    )


def read(client: Client, notes: list[str]) -> Json | None:
    """The settings of the controller of a cluster, as a document; None when there is none to be found.

    Args:
        client: Of the cluster.
        notes: Takes why there is none, and what could not be read.
    """
    try:
        pages = client.list(PATH, {"labelSelector": f"{_LABEL} in ({','.join(NAMES)})"})
        there = [decode(bytes(raw)) for page in pages for raw in page.items]
    except (errors.KubeError, msgspec.ValidationError) as error:
        notes.append(f"no settings in it, so defaults are used: {error}")
        return None
    return document(there, notes)


def document(there: Sequence[Deployment], notes: list[str]) -> Json | None:
    """The settings of the one of these controllers that runs, as a document."""
    if not there:
        notes.append(
            "no settings in it, so defaults are used: there is no Deployment with the label "
            f"{_LABEL}={NAMES[0]} or {NAMES[1]}"
        )
        return None
    chosen, *others = sorted(there, key=_turn)
    name = _named(chosen)
    if others:
        notes.append(f"settings are those of {name}, not of {', '.join(map(_named, others))}")
    given: dict[str, str] = {}
    arguments: list[str] = []
    for container in chosen.spec.template.spec.containers:
        arguments += container.args or ()
        for each in container.env or ():
            if bytes(each.value_from) and each.name in options.DECIDING:
                notes.append(f"{each.name} of {name} comes from elsewhere and is not known here")
            given[each.name] = each.value or ""
    environment = options.deciding(arguments, given)
    return {
        "apiVersion": "daiku.dev/v1alpha1",
        "kind": configuration.SETTINGS,
        "metadata": {"name": "controller"},
        "spec": {"of": name, "env": environment},
    }


def environment_of(settings: Mapping[str, Any] | None) -> dict[str, str]:
    """The environment that a document of `read` holds."""
    return settings["spec"]["env"] if settings is not None else {}


def decode(raw: bytes) -> Deployment:
    """Read a Deployment of a controller."""
    return msgspec.json.decode(raw, type=Deployment)


def _named(deployment: Deployment) -> str:
    return f"Deployment {deployment.metadata.namespace}/{deployment.metadata.name}"


def _turn(deployment: Deployment) -> tuple[bool, int, str]:
    """Those that run first, then in the order of `NAMES`."""
    kind = (deployment.metadata.labels or {}).get(_LABEL, "")
    turn = NAMES.index(kind) if kind in NAMES else len(NAMES)
    return deployment.spec.replicas == 0, turn, _named(deployment)
