"""What lies between one controller and the API server: everything that can happen to a request or to its answer.

`Client` has the verbs of `daiku.kube.client.Client` and fails with the same errors, made from the same answers. A
call that takes time lets the rest of the world go on; when it comes back, its process may be dead.
"""

from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

import msgspec
from tests.simulation import apiserver, rules
from tests.simulation.apiserver import CLAIMS, LEASES, PODS, POOLS, Json, Refused

from daiku.api import decode
from daiku.kube import errors

if TYPE_CHECKING:
    from tests.simulation.process import Process

LATE_MOST = 3.5
"""How long a request may be under way: less than lies between a Lease that is not held and one that may be taken."""

SOMEBODY = "somebody"


class Client:
    """The API server as one process reaches it."""

    def __init__(self, process: "Process") -> None:
        self._process = process
        self._world = process.world
        self._api = process.world.api

    def get(self, path: str, query: Mapping[str, str] | None = None) -> bytes:
        if path.startswith("/openapi/"):
            raise errors.NotFound(f"GET {path}: this API server does not describe its kinds")
        what = apiserver.target(path)
        if not what.key:
            label = (query or {}).get("labelSelector", "")
            return self._call("LIST", path, lambda: self._list(what.plural, label))
        return self._call("GET", path, lambda: self._api.raw(self._api.get(what.plural, what.key)))

    def list(self, path: str, query: Mapping[str, str] | None = None) -> Iterator[decode.Page]:
        yield decode.page(self.get(path, query))

    def watch(
        self, path: str, resource_version: str, chosen: Mapping[str, str] | None = None
    ) -> Iterator[bytes]:
        """What has come through by now; then the server ends the watch."""
        label = (chosen or {}).get("labelSelector", "")
        what, faults = apiserver.target(path), self._world.faults
        try:
            lines = self._api.since(what.plural, int(resource_version))
        except Refused as refused:
            raise self._error("GET", path, refused) from refused
        self._process.check()
        if faults.strike("watch expired"):
            gone = Refused(410, "Expired", "too old resource version")
            yield msgspec.json.encode({"type": "ERROR", "object": msgspec.Raw(gone.body())})
        for _version, kind, body in lines:
            if faults.strike("watch broken"):
                raise errors.Unreachable(f"watch of {path} broke")
            # What does not carry the label (any more) is gone for this watch.
            said = kind if _is_chosen(body, label) else "DELETED"
            line = b'{"type":"%s","object":%s}' % (said.encode(), self._api.raw(body))
            yield line
            if faults.strike("watch line repeated"):
                yield line

    def create(self, path: str, body: Any, *, dry_run: bool = False) -> bytes:
        del dry_run  # nobody here asks for one
        what = apiserver.target(path)
        sent: Json = msgspec.json.decode(msgspec.json.encode(body))
        if what.sub == "eviction":
            uid = sent["deleteOptions"]["preconditions"]["uid"]
            return self._call("EVICT", path, lambda: self._api.evict(what.key, uid, self._name))
        return self._call(
            "POST", path,
            lambda: self._api.raw(self._api.create(what.plural, sent, self._name, what.namespace)),
        )  # fmt: skip

    def patch(self, path: str, body: Any) -> bytes:
        what = apiserver.target(path)
        sent: Json = msgspec.json.decode(msgspec.json.encode(body))
        return self._call(
            "PATCH", path,
            lambda: self._api.raw(self._api.patch(what.plural, what.key, sent, self._name, what.sub)),
        )  # fmt: skip

    def operate(self, path: str, operations: Any) -> bytes:
        what = apiserver.target(path)
        sent: list[Json] = msgspec.json.decode(msgspec.json.encode(operations))
        try:
            return self._call(
                "PATCH", path,
                lambda: self._api.raw(self._api.operate(what.plural, what.key, sent, self._name)),
            )  # fmt: skip
        except errors.Rejected as error:
            raise errors.Conflict(str(error)) from error

    def delete(self, path: str, options: Any = None) -> bytes:
        what = apiserver.target(path)
        sent: Json = msgspec.json.decode(msgspec.json.encode(options or {}))
        uid = (sent.get("preconditions") or {}).get("uid")
        grace = sent.get("gracePeriodSeconds")
        if what.plural == PODS:
            self._world.invariants.check_deletion(self._process, what.key)
        return self._call(
            "DELETE", path,
            lambda: self._api.delete(what.plural, what.key, self._name, uid=uid, grace=grace),
        )  # fmt: skip

    def replace(self, path: str, body: Any) -> bytes:
        what = apiserver.target(path)
        sent: Json = msgspec.json.decode(msgspec.json.encode(body))
        return self._call(
            "PUT", path,
            lambda: self._api.raw(self._api.replace(what.plural, what.key, sent, self._name)),
        )  # fmt: skip

    @property
    def _name(self) -> str:
        return self._process.name

    def _list(self, plural: str, label: str) -> bytes:
        found = (body for body in self._api.all(plural) if _is_chosen(body, label))
        items = b",".join([self._api.raw(body) for body in found])
        return b'{"metadata":{"resourceVersion":"%d"},"items":[%s]}' % (self._api.version, items)

    def _call(self, verb: str, path: str, do: Callable[[], bytes | None]) -> bytes:
        """One request and its answer."""
        process, world, faults = self._process, self._world, self._world.faults
        process.check()
        is_write = verb not in {"GET", "LIST"}
        if not faults.on:
            done, failure = self._do(do, process if is_write else None, path)
            if failure is not None:
                raise self._error(verb, path, failure)
            return done or b"{}"
        if faults.strike("429"):
            wait = "2" if faults.random.random() < 0.5 else None
            refused = Refused(429, "TooManyRequests", "too many requests, please try again", wait)
            raise self._error(verb, path, refused)
        if faults.strike("500"):
            raise self._error(verb, path, Refused(500, "InternalError", "etcdserver: timeout"))
        if faults.strike("request lost"):
            self._pass(faults.seconds(1, 30))
            raise errors.Unreachable(f"{verb} {path}: no answer of the API server")
        if verb == "PATCH" and faults.strike("conflict"):
            self._meddle(path)
        late = faults.seconds(0.2, LATE_MOST) if faults.strike("request late") else 0.0
        done, failure = world.send(process, late, lambda: self._arrive(do, path, writes=is_write))
        if process.command and faults.strike("crash in a call"):
            process.crash("in a call")
        if faults.strike("reply late"):
            self._pass(faults.seconds(0.2, 10))
        process.check()
        if verb in {"GET", "PATCH"} and process.command and faults.strike("frozen in a call"):
            # Between two calls of one command: what it does next, it does on what was true before.
            world.start_standby()
            process.freeze(faults.seconds(5, 45))
            self._pass(process.thaws_in())
        if faults.strike("reply lost"):
            raise errors.Unreachable(f"{verb} {path}: no answer of the API server")
        if failure is not None:
            raise self._error(verb, path, failure)
        return done or b"{}"

    def _meddle(self, path: str) -> None:
        """Somebody else writes the object that a request is about to change."""
        what, api = apiserver.target(path), self._api
        found, text = api.find(what.plural, what.key), str(api.version)
        if found is None:
            return
        if what.plural not in {CLAIMS, POOLS}:
            api.patch(
                what.plural, what.key, {"metadata": {"annotations": {"note": text}}}, SOMEBODY
            )
            return
        others = [c for c in found["status"].get("conditions", ()) if c["type"] != rules.NOTED]
        note = {"type": rules.NOTED, "status": "True", "reason": "Seen", "message": text}
        note["lastTransitionTime"] = self._world.clock.stamp()
        status = {"status": {"conditions": [*others, note]}}
        api.patch(what.plural, what.key, status, SOMEBODY, "status")

    def _arrive(
        self, do: Callable[[], bytes | None], path: str, *, writes: bool
    ) -> tuple[bytes | None, Refused | None]:
        """The request reaches the API server, perhaps twice."""
        answer = self._do(do, self._process if writes else None, path)
        if writes and self._world.faults.strike("request repeated"):
            second = self._do(do, self._process, path)
            return second if self._world.faults.random.random() < 0.5 else answer
        return answer

    def _do(
        self, do: Callable[[], bytes | None], writer: "Process | None", path: str
    ) -> tuple[bytes | None, Refused | None]:
        if writer is not None and apiserver.target(path).plural != LEASES:
            self._world.invariants.check_writer(writer, path)
        try:
            return do(), None
        except Refused as refused:
            return None, refused

    def _pass(self, seconds: float) -> None:
        """Time passes in this call."""
        self._process.wait(seconds)
        self._process.check()

    @staticmethod
    def _error(verb: str, path: str, refused: Refused) -> errors.KubeError:
        return errors.refusal(f"{verb} {path}", refused.code, refused.body(), refused.retry_after)


def _is_chosen(body: Json, label: str) -> bool:
    """Whether an object carries the label that was asked for."""
    return not label or label in (body["metadata"].get("labels") or {})
