"""An API server of a few hundred lines: wire JSON, versions, conflicts, finalizers, status apart, a log to watch.

Objects are never changed in place; a write makes a new one, so that whoever holds an old one sees what was. What is
refused is what the real one refuses, with its code and reason. Not here: schemas and admission (tests/world and
tests/conformance try those on the real one), the network (network.py).
"""

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Final

import msgspec
from tests import json_patch
from tests.simulation.clock import Clock, seconds_of, wire
from tests.simulation.story import Story

Json = dict[str, Any]

PODS, NODES, CLAIMS, POOLS = "pods", "nodes", "nodeclaims", "nodepools"
DAEMON_SETS, BUDGETS, CLASSES, LEASES, EVENTS = (
    "daemonsets", "poddisruptionbudgets", "kwoknodeclasses", "leases", "events",
)  # fmt: skip
ATTACHMENTS = "volumeattachments"
DEPLOYMENTS, SCALERS = "deployments", "horizontalpodautoscalers"
REPLICA_SETS, JOBS = "replicasets", "jobs"
VOLUMES = (
    "persistentvolumes", "persistentvolumeclaims", "storageclasses", "csinodes", ATTACHMENTS,
)  # fmt: skip
PLURALS: Final = (
    PODS, NODES, CLAIMS, POOLS, DAEMON_SETS, BUDGETS, CLASSES, LEASES, EVENTS, "namespaces", *VOLUMES, DEPLOYMENTS,
    SCALERS, REPLICA_SETS, JOBS, "statefulsets",
)  # fmt: skip
_OF_APPS: Final = (DAEMON_SETS, DEPLOYMENTS, REPLICA_SETS, "statefulsets", JOBS, SCALERS)
NAMESPACED: Final = frozenset({PODS, BUDGETS, LEASES, EVENTS, "persistentvolumeclaims", *_OF_APPS})
WITH_STATUS: Final = frozenset({PODS, NODES, CLAIMS, POOLS, BUDGETS, CLASSES})
"""Kinds whose status is only written through its subresource."""
WITH_GENERATION: Final = frozenset({CLAIMS, POOLS, DAEMON_SETS, BUDGETS, CLASSES})

ETCD: Final = "etcd"
"""Who changes objects when a backup is restored."""

_PATH = re.compile(
    r"/(?:api/v1|apis/[^/]+/[^/]+)(?:/namespaces/(?P<ns>[^/]+))?/(?P<plural>[^/]+)(?:/(?P<name>[^/]+))?(?:/(?P<sub>[^/]+))?"
)


class Refused(Exception):
    """The API server says no."""

    def __init__(
        self, code: int, reason: str, message: str, retry_after: str | None = None
    ) -> None:
        super().__init__(message)
        self.code, self.reason, self.retry_after = code, reason, retry_after

    def body(self) -> bytes:
        status = {"code": self.code, "reason": self.reason, "message": str(self)}
        return msgspec.json.encode({"kind": "Status", "status": "Failure", **status})


@dataclass(frozen=True, slots=True)
class Target:
    """What a path means."""

    plural: str
    key: str
    """Empty for a collection."""
    sub: str
    namespace: str


@lru_cache(maxsize=100_000)
def target(path: str) -> Target:
    found = _PATH.fullmatch(path)
    assert found is not None, path
    namespace, name = found["ns"] or "", found["name"] or ""
    key = f"{namespace}/{name}" if namespace and name else name
    return Target(found["plural"], key, found["sub"] or "", namespace)


@dataclass(frozen=True, slots=True)
class Change:
    """One write that changed something."""

    plural: str
    key: str
    old: Json | None
    new: Json | None
    actor: str


def merge(old: Json, patch: Json) -> Json:
    """A JSON merge patch (RFC 7386)."""
    new = dict(old)
    for key, value in patch.items():
        if value is None:
            new.pop(key, None)
        elif isinstance(value, dict):
            known = new.get(key)
            new[key] = merge(known if isinstance(known, dict) else {}, value)
        else:
            new[key] = value
    return new


def selects(selector: Json | None, labels: Json) -> bool:
    """Whether a selector of matchLabels means these labels."""
    return selector is not None and all(
        labels.get(k) == v for k, v in (selector.get("matchLabels") or {}).items()
    )


def is_finished(pod: Json) -> bool:
    return pod["status"].get("phase") in {"Succeeded", "Failed"}


def is_leaving(body: Json) -> bool:
    return "deletionTimestamp" in body["metadata"]


def is_ready(body: Json) -> bool:
    return any(
        c["type"] == "Ready" and c["status"] == "True" for c in body["status"].get("conditions", ())
    )


def app_of(pod: Json) -> str:
    return pod["metadata"]["labels"].get("app", "")


class ApiServer:
    """All objects of the cluster."""

    def __init__(self, clock: Clock, story: Story) -> None:
        self.objects: dict[str, dict[str, Json]] = {plural: {} for plural in PLURALS}
        self.log: dict[str, list[tuple[int, str, Json]]] = {plural: [] for plural in PLURALS}
        self.forgotten: dict[str, int] = dict.fromkeys(PLURALS, 0)
        self.version = 1000
        self._listeners: dict[str, list[Callable[[Change], None]]] = {p: [] for p in PLURALS}
        self.uids: dict[str, bool] = {}
        self._clock, self._story = clock, story
        self._raw: dict[str, bytes] = {}
        self._born = 0

    def listen(self, listener: Callable[[Change], None], *plurals: str) -> None:
        """Have `listener` told of every change of these kinds, after those that asked before it."""
        for plural in plurals or PLURALS:
            self._listeners[plural].append(listener)

    def raw(self, body: Json) -> bytes:
        """An object on the wire."""
        version = body["metadata"]["resourceVersion"]
        known = self._raw.get(version)
        if known is None:
            known = self._raw[version] = msgspec.json.encode(body)
        return known

    def all(self, plural: str) -> list[Json]:
        return list(self.objects[plural].values())

    def find(self, plural: str, key: str) -> Json | None:
        return self.objects[plural].get(key)

    def get(self, plural: str, key: str) -> Json:
        found = self.objects[plural].get(key)
        if found is None:
            raise Refused(404, "NotFound", f'{plural} "{key}" not found')
        return found

    def create(self, plural: str, body: Json, actor: str, namespace: str = "") -> Json:
        meta = dict(body["metadata"])
        namespace = namespace or meta.get("namespace", "")
        key = f"{namespace}/{meta['name']}" if plural in NAMESPACED else meta["name"]
        if key in self.objects[plural]:
            raise Refused(409, "AlreadyExists", f'{plural} "{key}" already exists')
        self._born += 1
        meta |= {
            # That of a workload is known before it, because its pods name it.
            "uid": meta.get("uid") or f"uid-{self._born}-{meta['name']}",
            "creationTimestamp": self._clock.stamp(),
            "generation": 1,
        }
        if plural in NAMESPACED:
            meta["namespace"] = namespace
        # The API server drops the status of a new custom resource; of a Node or a Pod it keeps it.
        status = body.get("status", {}) if plural not in {CLAIMS, POOLS} else {}
        self.uids[meta["uid"]] = True
        return self._store(plural, key, {**body, "metadata": meta, "status": status}, None, actor)

    def patch(self, plural: str, key: str, patch: Json, actor: str, sub: str = "") -> Json:
        old = self.get(plural, key)
        meta: Json = dict(patch.get("metadata") or {})
        version = meta.pop("resourceVersion", None)
        if version is not None and version != old["metadata"]["resourceVersion"]:
            raise Refused(409, "Conflict", f'{plural} "{key}": the object has been modified')
        if meta.get("uid", old["metadata"]["uid"]) != old["metadata"]["uid"]:
            raise Refused(409, "Conflict", f'{plural} "{key}": the UID is of another object')
        if sub == "status":
            return self._change(plural, key, merge(old, {"status": patch["status"]}), old, actor)
        wanted = {k: v for k, v in patch.items() if k not in {"metadata", "status"}}
        new = merge(old, {**wanted, "metadata": meta} if meta else wanted)
        added = set(new["metadata"].get("finalizers") or ()) - set(
            old["metadata"].get("finalizers") or ()
        )
        if added and is_leaving(old):
            raise Refused(422, "Invalid", f"{key}: no new finalizers while it is being deleted")
        return self._change(plural, key, new, old, actor)

    def operate(self, plural: str, key: str, operations: list[Json], actor: str) -> Json:
        """A JSON patch."""
        old = self.get(plural, key)
        try:
            new = json_patch.apply(old, operations)
        except json_patch.TestFailed as error:
            raise Refused(422, "Invalid", f"{key}: {error}") from error
        added = set(new["metadata"].get("finalizers") or ()) - set(
            old["metadata"].get("finalizers") or ()
        )
        if added and is_leaving(old):
            raise Refused(422, "Invalid", f"{key}: no new finalizers while it is being deleted")
        return self._change(plural, key, new, old, actor)

    def replace(self, plural: str, key: str, body: Json, actor: str) -> Json:
        old = self.get(plural, key)
        version = body["metadata"].get("resourceVersion")
        if version is not None and version != old["metadata"]["resourceVersion"]:
            raise Refused(409, "Conflict", f'{plural} "{key}": the object has been modified')
        return self._change(plural, key, body, old, actor)

    def delete(
        self, plural: str, key: str, actor: str, *, uid: str | None = None, grace: int | None = None
    ) -> None:
        old = self.get(plural, key)
        meta = old["metadata"]
        if uid is not None and uid != meta["uid"]:
            raise Refused(
                409, "Conflict", f"{key}: the UID in the precondition is of another object"
            )
        seconds = 0
        if plural == PODS and old["spec"].get("nodeName") and not is_finished(old):
            wanted = old["spec"]["terminationGracePeriodSeconds"]
            seconds = wanted if grace is None else grace
        if not meta.get("finalizers") and seconds == 0:
            self._remove(plural, key, old, actor)
            return
        at = self._clock.seconds + seconds
        if is_leaving(old) and (plural != PODS or seconds_of(meta["deletionTimestamp"]) <= at):
            return
        leaving = {**meta, "deletionTimestamp": wire(at)}
        if plural in WITH_GENERATION and not is_leaving(old):
            leaving["generation"] = meta["generation"] + 1
        self._store(plural, key, {**old, "metadata": leaving}, old, actor)

    def evict(self, key: str, uid: str | None, actor: str) -> None:
        pod = self.get(PODS, key)
        if uid is not None and uid != pod["metadata"]["uid"]:
            raise Refused(409, "Conflict", f"{key}: the UID in the precondition is of another pod")
        guarded = not is_leaving(pod) and not is_finished(pod) and pod["spec"].get("nodeName")
        budgets = [
            b for b in self.all(BUDGETS)
            if selects(b["spec"].get("selector"), pod["metadata"]["labels"])
        ] if guarded else []  # fmt: skip
        if len(budgets) > 1:
            raise Refused(
                500, "", "This pod has more than one PodDisruptionBudget, which the eviction subresource "
                "does not support.",
            )  # fmt: skip
        for budget in budgets:
            self._spend(budget, pod, actor)
        self.delete(PODS, key, actor, uid=uid)

    def bind(self, key: str, node: str, actor: str) -> None:
        pod = self.get(PODS, key)
        if pod["spec"].get("nodeName") or is_leaving(pod):
            raise Refused(409, "Conflict", f"pod {key} is already assigned to a node, or leaving")
        at = self._clock.stamp()
        scheduled = {"type": "PodScheduled", "status": "True", "lastTransitionTime": at}
        others = [c for c in pod["status"].get("conditions", ()) if c["type"] != "PodScheduled"]
        new = merge(
            pod, {"spec": {"nodeName": node}, "status": {"conditions": [*others, scheduled]}}
        )
        self._store(PODS, key, new, pod, actor)

    def since(self, plural: str, version: int) -> Iterable[tuple[int, str, Json]]:
        """The log after `version`."""
        if version < self.forgotten[plural]:
            raise Refused(410, "Expired", f"too old resource version: {version}")
        log = self.log[plural]
        start = len(log)
        while start and log[start - 1][0] > version:
            start -= 1
        return log[start:]

    def compact(self) -> None:
        """Forget what watches have not read yet."""
        for plural in PLURALS:
            self.forgotten[plural] = self.version
            self.log[plural].clear()

    def forget(self) -> None:
        """Nobody will ask any more: let go of everything."""
        for all_of in (self.objects, self.log, self._raw, self.uids):
            all_of.clear()

    def restore(self, objects: dict[str, dict[str, Json]], bump: int) -> None:
        """Have these objects and no others; versions jump, and every watch has to begin anew."""
        self.version += bump
        changes: list[Change] = []
        for plural, then in objects.items():
            now = self.objects[plural]
            self.objects[plural] = dict(then)
            changes += [
                Change(plural, key, now.get(key), then.get(key), ETCD)
                for key in {**now, **then}
                if now.get(key) is not then.get(key)
            ]
        self.compact()
        there = [b["metadata"]["uid"] for all_of in self.objects.values() for b in all_of.values()]
        kept = [uid for uid in self.uids if uid.startswith("uid-app-")]
        self.uids = dict.fromkeys((*kept, *there), True)
        for change in changes:
            before = "turns back" if change.old and change.new else "forgets"
            what = before if change.old else "brings back"
            self._story.tell(ETCD, "%s %s %s", what, change.plural, change.key)
            self._notify(change)

    def _spend(self, budget: Json, pod: Json, actor: str) -> None:
        state, name = budget["status"], pod["metadata"]["name"]
        if not is_ready(pod) and state["currentHealthy"] >= state["desiredHealthy"] > 0:
            return
        if state["disruptionsAllowed"] < 1:
            message = "Cannot evict pod as it would violate the pod's disruption budget."
            raise Refused(429, "TooManyRequests", message)
        left = {
            "disruptionsAllowed": state["disruptionsAllowed"] - 1,
            "disruptedPods": {**state.get("disruptedPods", {}), name: self._clock.stamp()},
        }
        key = f"{budget['metadata']['namespace']}/{budget['metadata']['name']}"
        self.patch(BUDGETS, key, {"status": left}, actor, "status")

    def _change(self, plural: str, key: str, new: Json, old: Json, actor: str) -> Json:
        if new == old:
            return old
        if plural in WITH_GENERATION and new.get("spec") != old.get("spec"):
            new["metadata"] = {
                **new["metadata"], "generation": old["metadata"].get("generation", 0) + 1
            }  # fmt: skip
        if is_leaving(old) and not new["metadata"].get("finalizers") and plural != PODS:
            self._remove(plural, key, new, actor)
            return new
        return self._store(plural, key, new, old, actor)

    def _store(self, plural: str, key: str, new: Json, old: Json | None, actor: str) -> Json:
        self.version += 1
        new["metadata"] = {**new["metadata"], "resourceVersion": str(self.version)}
        self.objects[plural][key] = new
        self.log[plural].append((self.version, "ADDED" if old is None else "MODIFIED", new))
        if plural not in {LEASES, EVENTS}:
            self._story.tell(actor, "%s %s %s%s", "creates" if old is None else "writes", plural, key,
                             _Difference(old, new))  # fmt: skip
        self._notify(Change(plural, key, old, new, actor))
        return new

    def _remove(self, plural: str, key: str, old: Json, actor: str) -> None:
        self.version += 1
        last = {**old, "metadata": {**old["metadata"], "resourceVersion": str(self.version)}}
        del self.objects[plural][key]
        self.uids.pop(old["metadata"]["uid"], None)
        self.log[plural].append((self.version, "DELETED", last))
        if plural not in {LEASES, EVENTS}:
            self._story.tell(actor, "removes %s %s", plural, key)
        self._notify(Change(plural, key, old, None, actor))

    def _notify(self, change: Change) -> None:
        for listener in self._listeners[change.plural]:
            listener(change)


@dataclass(frozen=True, slots=True)
class _Difference:
    """What a write changed, worked out only when somebody reads the story."""

    old: Json | None
    new: Json

    def __str__(self) -> str:
        if self.old is None:
            return ""
        changed = [
            f"{part}.{field}={_short(field, there.get(field))}"
            for part in ("metadata", "spec", "status")
            for there in (self.new.get(part) or {},)
            for before in (self.old.get(part) or {},)
            for field in sorted({*there, *before})
            if field != "resourceVersion" and there.get(field) != before.get(field)
        ]
        return ": " + ", ".join(changed)


def _short(field: str, value: Any) -> str:
    if field == "conditions":
        return " ".join(f"{c['type']}={c['status']}" for c in value or ())
    if field == "taints":
        return " ".join(f"{t['key']}:{t['effect']}" for t in value or ()) or "none"
    text = str(value)
    return text if len(text) <= 80 else text[:77] + "..."
