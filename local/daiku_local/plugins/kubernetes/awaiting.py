"""When an object is what was asked for: rolled out, completed, established, gone."""

# Objects are JSON of any kind.
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false
# pyright: reportUnknownArgumentType=false

import time
from collections.abc import Callable
from typing import Any, Final

from daiku_local.plugins.errors import ProviderError
from daiku_local.plugins.kubernetes import objects
from daiku_local.plugins.kubernetes.client import Client, Resource
from daiku_local.plugins.values import Plain

DEFAULT_SECONDS: Final = 600.0
"""How long the real plugin waits for a Deployment; other kinds here get as long."""
_FIRST_POLL, _SLOWEST_POLL = 0.1, 1.0


class FailedError(ProviderError):
    """The object will not become ready on its own."""


def _deployment(obj: Plain) -> str | None:
    """Tell what a Deployment still lacks, None if it is rolled out."""
    status, wanted = obj.get("status") or {}, obj["spec"].get("replicas", 1)
    for condition in status.get("conditions") or ():
        if condition.get("reason") == "ProgressDeadlineExceeded":
            raise FailedError(condition["message"])
    if status.get("observedGeneration", 0) < obj["metadata"]["generation"]:
        return "the Deployment controller has not seen it yet"
    updated, available = status.get("updatedReplicas", 0), status.get("availableReplicas", 0)
    if updated < wanted:
        return f"{updated} of {wanted} replicas are of the new template"
    if status.get("replicas", 0) > updated:
        return f"{status['replicas'] - updated} replicas of the old template are left"
    if available < updated:
        return f"{available} of {wanted} replicas are available"
    return None


def _stateful_set(obj: Plain) -> str | None:
    status, wanted = obj.get("status") or {}, obj["spec"].get("replicas", 1)
    if status.get("observedGeneration", 0) < obj["metadata"]["generation"]:
        return "the StatefulSet controller has not seen it yet"
    ready = status.get("readyReplicas", 0)
    fresh = status.get("updatedReplicas", status.get("currentReplicas", 0))
    if min(ready, fresh) < wanted:
        return f"{ready} of {wanted} replicas are ready, {fresh} are of the new template"
    return None


def _daemon_set(obj: Plain) -> str | None:
    status = obj.get("status") or {}
    if status.get("observedGeneration", 0) < obj["metadata"]["generation"]:
        return "the DaemonSet controller has not seen it yet"
    wanted, ready = status.get("desiredNumberScheduled", 0), status.get("numberAvailable", 0)
    updated = status.get("updatedNumberScheduled", 0)
    if min(ready, updated) < wanted:
        return f"{ready} of {wanted} pods are available, {updated} are of the new template"
    return None


def _job(obj: Plain) -> str | None:
    for condition in (obj.get("status") or {}).get("conditions") or ():
        if condition.get("type") == "Complete" and condition.get("status") == "True":
            return None
        if condition.get("type") == "Failed" and condition.get("status") == "True":
            raise FailedError(f"the Job failed: {condition.get('message')}")
    return "the Job is not complete"


def _established(obj: Plain) -> str | None:
    seen = {c["type"]: c for c in (obj.get("status") or {}).get("conditions") or ()}
    names = seen.get("NamesAccepted", {})
    if names.get("status") == "False":
        raise FailedError(f"its names are not accepted: {names.get('message')}")
    if seen.get("Established", {}).get("status") != "True":
        return "it is not established"
    return None


def _namespace(obj: Plain) -> str | None:
    phase = (obj.get("status") or {}).get("phase")
    return None if phase == "Active" else f"its phase is {phase}"


def _pod(obj: Plain) -> str | None:
    status = obj.get("status") or {}
    ready = any(
        c.get("type") == "Ready" and c.get("status") == "True"
        for c in status.get("conditions") or ()
    )
    if ready or status.get("phase") == "Succeeded":
        return None
    return f"its phase is {status.get('phase')} and it is not ready"


_LACKS: Final[dict[str, Callable[[Plain], str | None]]] = {
    "apps:DaemonSet": _daemon_set,
    "apps:Deployment": _deployment,
    "apps:StatefulSet": _stateful_set,
    "apiextensions.k8s.io:CustomResourceDefinition": _established,
    "batch:Job": _job,
    ":Namespace": _namespace,
    ":Pod": _pod,
}


def lack_of(obj: Plain) -> str | None:
    """Say what an object still lacks of what was asked for; None if nothing, or nothing is known.

    Raises:
        FailedError: It will not get it.
    """
    asked = objects.annotation(obj, "pulumi.com/waitFor")
    if asked is not None:
        return _condition(obj, asked)
    lacks = _LACKS.get(f"{objects.group_of(obj['apiVersion'])}:{obj['kind']}")
    return lacks(obj) if lacks else None


def _condition(obj: Plain, asked: str) -> str | None:
    """Tell whether the condition that annotation pulumi.com/waitFor names is as it should be.

    Raises:
        FailedError: The annotation asks for something that the stand-in cannot wait for.
    """
    kind, _, wanted = asked.removeprefix("condition=").partition("=")
    if not asked.startswith("condition=") or not kind:
        raise FailedError(
            f"the stand-in waits for condition=TYPE or condition=TYPE=STATUS, not for {asked!r}"
        )
    for condition in (obj.get("status") or {}).get("conditions") or ():
        if condition.get("type") == kind:
            seen = condition.get("status")
            if seen == (wanted or "True") and _is_current(condition, obj):
                return None
            why = ": ".join(filter(None, (condition.get("reason"), condition.get("message"))))
            return f"its condition {kind} is {seen}{f' ({why})' if why else ''}{_others(obj, kind)}"
    return f"it has no condition {kind} yet: see that its controller runs"


def _is_current(condition: Plain, obj: Plain) -> bool:
    generation = obj["metadata"].get("generation", 0)
    return condition.get("observedGeneration", generation) >= generation


def _others(obj: Plain, kind: str) -> str:
    """What other conditions that are False say: the root of a tree of conditions rarely says why."""
    said = [
        f"{c.get('type')}: {c.get('message')}"
        for c in obj["status"]["conditions"]
        if c.get("status") == "False" and c.get("type") != kind and c.get("message")
    ]
    return "".join(f"; {text}" for text in said)


def seconds_for(obj: Plain, timeout: float) -> float:
    """Give how long to wait: the resource's own timeout, its annotation, or the default."""
    noted = objects.annotation(obj, "pulumi.com/timeoutSeconds")
    if timeout:
        return timeout
    return float(noted) if noted and noted.isdecimal() else DEFAULT_SECONDS


def _poll(seconds: float, look: Callable[[], bool]) -> bool:
    """Ask `look` until it says yes; tell whether it did within `seconds`."""
    deadline, pause = time.monotonic() + seconds, _FIRST_POLL
    while not look():
        if time.monotonic() >= deadline:
            return False
        time.sleep(min(pause, max(0.0, deadline - time.monotonic())))
        pause = min(pause * 1.5, _SLOWEST_POLL)
    return True


def ready(client: Client, resource: Resource, path: str, obj: Plain, seconds: float) -> Plain:
    """Wait until the object at `path` is what was asked for; give it.

    Raises:
        FailedError: It will not be, or is not after `seconds`; says what it lacks.
    """
    if objects.is_true(obj, "pulumi.com/skipAwait"):
        return obj
    seen: dict[str, Any] = {"object": obj, "lack": None}

    def look() -> bool:
        current = client.get(path)
        if current is None:
            raise FailedError("it was deleted while it was waited for")
        seen["object"], seen["lack"] = current, lack_of(current)
        if seen["lack"] is None and obj["kind"] == "CustomResourceDefinition":
            seen["lack"] = _undiscovered(client, current)
        return seen["lack"] is None

    if not _poll(seconds, look):
        troubles = _pod_troubles(client, resource, seen["object"])
        raise FailedError(
            "; ".join([f"after {seconds:.0f} s {seen['lack']}", *troubles])
            + ' (annotation pulumi.com/skipAwait: "true" does not wait)'
        )
    return seen["object"]


def _undiscovered(client: Client, definition: Plain) -> str | None:
    """Tell which served version of a definition the server does not list yet."""
    spec = definition["spec"]
    for version in spec["versions"]:
        api_version = f"{spec['group']}/{version['name']}"
        if version.get("served") and client.resource(api_version, spec["names"]["kind"]) is None:
            return f"{api_version} is not served yet"
    return None


def _pod_troubles(client: Client, resource: Resource, obj: Plain) -> list[str]:
    """Say why the pods of a workload are not ready, as far as they say so."""
    selector = (obj.get("spec") or {}).get("selector")
    labels = selector.get("matchLabels") if isinstance(selector, dict) else None
    if not labels or not resource.namespaced:
        return []
    query = {"labelSelector": ",".join(f"{key}={value}" for key, value in labels.items())}
    namespace = obj["metadata"]["namespace"]
    pods = client.call("GET", f"/api/v1/namespaces/{namespace}/pods", query=query)["items"]
    troubles: set[str] = set()
    for pod in pods:
        status = pod.get("status") or {}
        for condition in status.get("conditions") or ():
            if condition.get("status") == "False" and condition.get("message"):
                troubles.add(f"pod {pod['metadata']['name']}: {condition['message']}")
        for container in status.get("containerStatuses") or ():
            waiting = (container.get("state") or {}).get("waiting")
            if waiting:
                reason = f"{waiting.get('reason')} {waiting.get('message', '')}".strip()
                troubles.add(f"pod {pod['metadata']['name']}: {container['name']} waits: {reason}")
    return sorted(troubles)[:5]


def gone(client: Client, path: str, seconds: float) -> None:
    """Wait until there is no object at `path`.

    Raises:
        FailedError: It is still there after `seconds`; names the finalizers that hold it.
    """
    seen: dict[str, Any] = {}

    def look() -> bool:
        current = client.get(path)
        seen["object"] = current
        return current is None

    if not _poll(seconds, look):
        held = objects.metadata(seen["object"] or {}).get("finalizers") or []
        raise FailedError(
            f"after {seconds:.0f} s it is still there, held by the finalizers {held}: see that what "
            f"owns them runs, or remove them with `kubectl edit`"
        )
