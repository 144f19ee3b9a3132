"""Variables and command lines as a kubelet computes them."""

from collections.abc import Mapping
from typing import Any

import pytest

from daiku_local.agent import environment
from daiku_local.agent.environment import PodConfigError, Surroundings

OBJECTS = {
    ("ConfigMap", "settings"): {"level": "high", "mode": "quick"},
    ("Secret", "password"): {"word": "xyzzy"},
}
POD: dict[str, Any] = {
    "metadata": {
        "name": "daiku-0",
        "namespace": "kube-system",
        "uid": "u-1",
        "labels": {"app": "daiku"},
        "annotations": {"example.com/note": "hello"},
    },
    "spec": {"nodeName": "node-1", "serviceAccountName": "daiku"},
}


def _lookup(kind: str, name: str) -> Mapping[str, str] | None:
    return OBJECTS.get((kind, name))


AROUND = Surroundings(
    pod_ip="127.10.1.1",
    host_ip="10.0.1.7",
    allocatable={"cpu": "1930m", "memory": "4Gi"},
    lookup=_lookup,
)


def _variables(*env: dict[str, Any], **container: Any) -> dict[str, str]:
    return environment.variables(POD, {"env": list(env), **container}, AROUND)


def _from(**source: Any) -> dict[str, Any]:
    return {"name": "X", "valueFrom": source}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("$(A)", "1"),
        ("x$(A)y$(B)z", "x1y2z"),
        pytest.param("$(C)", "$(C)", id="an unknown name stays"),
        pytest.param("$$(A)", "$(A)", id="two dollar signs are one"),
        pytest.param("$$$(A)", "$1", id="of three, the third begins a reference"),
        pytest.param("$A ${A} $", "$A ${A} $", id="what a shell would expand stays"),
        pytest.param("$(A", "$(A", id="an open reference stays"),
    ],
)
def test_references_are_expanded_as_kubernetes_does(text: str, expected: str) -> None:
    assert environment.expand(text, {"A": "1", "B": "2"}) == expected


def test_a_variable_refers_only_to_what_came_before() -> None:
    found = _variables(
        {"name": "A", "value": "$(B)"},
        {"name": "B", "value": "2"},
        {"name": "C", "value": "<$(B)>"},
        {"name": "D"},
    )

    assert found == {"A": "$(B)", "B": "2", "C": "<2>", "D": ""}


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ("metadata.name", "daiku-0"),
        ("metadata.namespace", "kube-system"),
        ("metadata.uid", "u-1"),
        ("metadata.labels['app']", "daiku"),
        ("metadata.annotations['example.com/note']", "hello"),
        ("metadata.labels['none']", ""),
        ("spec.nodeName", "node-1"),
        ("spec.serviceAccountName", "daiku"),
        ("status.podIP", "127.10.1.1"),
        ("status.hostIP", "10.0.1.7"),
    ],
)
def test_fields_of_the_pod(path: str, expected: str) -> None:
    assert _variables(_from(fieldRef={"fieldPath": path})) == {"X": expected}


@pytest.mark.parametrize(
    ("reference", "expected"),
    [
        pytest.param({"resource": "limits.memory"}, str(2**30), id="bytes of memory"),
        pytest.param({"resource": "limits.memory", "divisor": "1Mi"}, "1024", id="in units of 1Mi"),
        pytest.param({"resource": "requests.cpu"}, "1", id="cores are rounded up"),
        pytest.param({"resource": "requests.cpu", "divisor": "1m"}, "250", id="millicores"),
        pytest.param(
            {"resource": "limits.cpu", "divisor": "1m"}, "1930", id="no limit: the node's"
        ),
        pytest.param({"resource": "requests.memory"}, "0", id="no request"),
        pytest.param({"resource": "requests.cpu", "divisor": "0"}, "1", id="no divisor is 1"),
    ],
)
def test_resources_of_the_container(reference: dict[str, str], expected: str) -> None:
    resources = {"requests": {"cpu": "250m"}, "limits": {"memory": "1Gi"}}

    found = _variables(_from(resourceFieldRef=reference), resources=resources)

    assert found == {"X": expected}


def test_keys_of_config_maps_and_secrets() -> None:
    level = _from(configMapKeyRef={"name": "settings", "key": "level"})
    word = _from(secretKeyRef={"name": "password", "key": "word"}) | {"name": "Y"}

    assert _variables(level, word) == {"X": "high", "Y": "xyzzy"}


def test_whole_config_maps_and_secrets_come_first() -> None:
    found = _variables(
        {"name": "level", "value": "low"},
        envFrom=[
            {"configMapRef": {"name": "settings"}},
            {"prefix": "P_", "secretRef": {"name": "password"}},
        ],
    )

    assert found == {"level": "low", "mode": "quick", "P_word": "xyzzy"}


@pytest.mark.parametrize(
    "source",
    [
        pytest.param(
            {"configMapKeyRef": {"name": "none", "key": "k", "optional": True}}, id="object"
        ),
        pytest.param(
            {"secretKeyRef": {"name": "password", "key": "k", "optional": True}}, id="key"
        ),
    ],
)
def test_what_is_optional_may_be_missing(source: dict[str, Any]) -> None:
    assert _variables(_from(**source)) == {}


@pytest.mark.parametrize(
    ("source", "message"),
    [
        pytest.param(
            {"secretKeyRef": {"name": "none", "key": "k"}}, "no Secret 'none'", id="no object"
        ),
        pytest.param(
            {"configMapKeyRef": {"name": "settings", "key": "k"}},
            "ConfigMap 'settings' has no key 'k'",
            id="no key",
        ),
        pytest.param({"fieldRef": {"fieldPath": "spec.x"}}, "fieldRef 'spec.x'", id="no field"),
        pytest.param({"fileKeyRef": {}}, "takes its value from fileKeyRef", id="no such source"),
    ],
)
def test_what_is_missing_keeps_the_container_from_starting(
    source: dict[str, Any], message: str
) -> None:
    with pytest.raises(PodConfigError, match=message):
        _variables(_from(**source))


@pytest.mark.parametrize(
    ("container", "expected"),
    [
        pytest.param({}, ["daiku"], id="the image's entry point"),
        pytest.param({"args": ["run"]}, ["daiku", "run"], id="arguments follow it"),
        pytest.param({"command": ["sh"], "args": ["-c"]}, ["sh", "-c"], id="a command replaces it"),
        pytest.param({"args": ["--to=$(A)"]}, ["daiku", "--to=1"], id="references are expanded"),
    ],
)
def test_the_command_line(container: dict[str, Any], expected: list[str]) -> None:
    assert environment.command_line(container, ["daiku"], {"A": "1"}) == expected
