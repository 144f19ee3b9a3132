"""An API server made of recorded objects: lists in pages, watches, writes, and a stream of pod events on request.

A process of its own, because what it costs is not the controller's: `python stream_server.py NODES REPLICA_SETS`
prints its port when it listens. `POST /control/stream?rate=500&seconds=60` begins a stream, `GET /control/report` says
what came of it. It is kubelet and kube-scheduler as well: a Node that is created is ready at once, pods of the stream
are bound.

It checks nothing: no permissions, no versions of writes, no schema. Its answers take less time than those of a real API
server, whose objects come from etcd.
"""

import itertools
import json
import sys
import threading
import time
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, Final
from urllib.parse import parse_qs, unquote, urlsplit

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))

from tests import json_patch  # noqa: E402
from tests.performance import recorded, recorded_nodes  # noqa: E402
from tests.performance.pod_stream import PodStream  # noqa: E402
from tests.performance.recorded_parts import Json, encoded, stamp, uid_of  # noqa: E402

BOOKMARK_SECONDS: Final = 60.0
LINES_MOST: Final = 200_000
"""Changes of a kind that a watch may ask for again."""
KINDS: Final = {"nodeclaims": "NodeClaim", "nodepools": "NodePool", "nodes": "Node", "pods": "Pod"}


class Collection:
    """Objects of one kind and what has happened to them."""

    def __init__(self, lock: threading.RLock, objects: dict[str, bytes]) -> None:
        self.objects = objects
        self.changed = threading.Condition(lock)
        self.lines: list[tuple[int, bytes]] = []
        """Version and line of a watch, oldest first."""
        self.dropped = 0
        """Lines that were there before the first of `lines`."""

    def tell(self, version: int, kind: str, content: bytes) -> None:
        """Something happened; the lock is held."""
        line = b'{"type":"%b","object":%b}\n' % (kind.encode(), content)
        self.lines.append((version, line))
        if len(self.lines) > LINES_MOST:
            del self.lines[: LINES_MOST // 10]
            self.dropped += LINES_MOST // 10
        self.changed.notify_all()


class Store:
    """Every object, and the one order of all changes."""

    def __init__(self, recording: recorded.Recording) -> None:
        self.lock = threading.RLock()
        self.recording = recording
        self.began = recording.version
        self.collections = {
            path: Collection(self.lock, objects) for path, objects in recording.objects.items()
        }
        self.pages: dict[str, tuple[int, list[bytes]]] = {}
        """Lists that are being read, by the beginning of their token."""
        self.numbers = itertools.count()
        self.written: Callable[[str, str, Json], None] = lambda _path, _verb, _found: None
        """Told of every write of a client."""

    def collection(self, path: str) -> Collection:
        """The collection at `path`, which may be empty."""
        with self.lock:
            if path not in self.collections:
                self.collections[path] = Collection(self.lock, {})
            return self.collections[path]

    def put(self, path: str, key: str, make: Callable[[int], bytes]) -> None:
        """An object comes or changes; `make` is given its version."""
        with self.lock:
            of, version = self.collection(path), self.recording.next()
            kind = "MODIFIED" if key in of.objects else "ADDED"
            of.objects[key] = content = make(version)
            of.tell(version, kind, content)

    def remove(self, path: str, key: str) -> None:
        """An object goes."""
        with self.lock:
            of = self.collection(path)
            content = of.objects.pop(key, None)
            if content is not None:
                of.tell(self.recording.next(), "DELETED", content)

    def page(self, path: str, limit: int, token: str) -> tuple[int, str, list[bytes]]:
        """Version, token of the next page (empty on the last) and objects."""
        with self.lock:
            name, _, at = token.partition(":")
            if token:
                version, objects = self.pages[name]
            else:
                name, at = str(next(self.numbers)), "0"
                version, objects = (
                    self.recording.version,
                    list(self.collection(path).objects.values()),
                )
                self.pages[name] = version, objects
            end = int(at) + limit if limit else len(objects)
            if end >= len(objects):
                del self.pages[name]
            following = f"{name}:{end}" if end < len(objects) else ""
            return version, following, objects[int(at) : end]

    def after(self, of: Collection, version: int, seconds: float) -> tuple[int, list[bytes]]:
        """Lines of a watch after `version`; waits so long for the first."""
        with self.lock:
            if not of.lines or of.lines[-1][0] <= version:
                of.changed.wait(seconds)
            first = len(of.lines)
            while first and of.lines[first - 1][0] > version:
                first -= 1
            found = of.lines[first:]
            return (found[-1][0] if found else version), [line for _, line in found]


def merged(document: Any, patch: Any) -> Any:
    """What a merge patch (RFC 7396) makes of a document."""
    if not isinstance(patch, dict):
        return patch
    made = dict(document) if isinstance(document, dict) else {}
    for key, value in patch.items():
        if value is None:
            made.pop(key, None)
        else:
            made[key] = merged(made.get(key), value)
    return made


class Handler(BaseHTTPRequestHandler):
    """One connection."""

    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    wbufsize = -1
    store: Store
    stream: PodStream

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 - as the library calls it
        """Nothing is logged."""

    def do_GET(self) -> None:
        """An object, a list, a watch or the report."""
        parts = urlsplit(self.path)
        if parts.path == "/control/report":
            self._answer(200, encoded(self.stream.report()))
            return
        path, key, _ = self._place(parts.path)
        query = {name: values[0] for name, values in parse_qs(parts.query).items()}
        if key:
            content = self.store.collection(path).objects.get(key)
            self._answer(200, content) if content else self._refuse(404, "NotFound")
        elif query.get("watch") == "true":
            self._watch(path, query)
        else:
            self._list(path, query)

    def do_POST(self) -> None:
        """Create an object; evict a pod; begin a stream."""
        body = self._body()
        parts = urlsplit(self.path)
        if parts.path == "/control/stream":
            query = parse_qs(parts.query)
            self.stream.begin(rate=float(query["rate"][0]), seconds=float(query["seconds"][0]))
            self._answer(200, b"{}")
            return
        path, key, rest = self._place(parts.path)
        if rest == "eviction":
            self.store.remove(path, key)
            self._answer(201, b'{"kind":"Status","status":"Success"}')
            return
        meta = body["metadata"]
        key = f"{meta['namespace']}/{meta['name']}" if "namespace" in meta else meta["name"]
        with self.store.lock:
            if key in self.store.collection(path).objects:
                self._refuse(409, "AlreadyExists")
                return
            body["metadata"] |= {
                "uid": uid_of(f"{path}/{key}"),
                "generation": 1,
                "creationTimestamp": stamp(),
            }
            if path == "/api/v1/nodes":
                known = body["status"]
                body["status"] = recorded_nodes.node_status(known["capacity"], known["allocatable"])
            content = self._write(path, key, body)
        self.store.written(path, "create", body)
        self._answer(201, content)

    def do_PUT(self) -> None:
        """Write an object whole."""
        body = self._body()
        path, key, _ = self._place(urlsplit(self.path).path)
        with self.store.lock:
            self._answer(200, self._write(path, key, body))

    def do_PATCH(self) -> None:
        """Change an object."""
        patch = self._body()
        path, key, part = self._place(urlsplit(self.path).path)
        with self.store.lock:
            content = self.store.collection(path).objects.get(key)
            if content is None:
                self._refuse(404, "NotFound")
                return
            found = json.loads(content)
            if isinstance(patch, list):
                try:
                    found = json_patch.apply(found, patch)
                except json_patch.TestFailed:
                    self._refuse(422, "Invalid")
                    return
            else:
                wanted = {k: v for k, v in patch.items() if (k == "status") is (part == "status")}
                found = merged(found, wanted)
            if "deletionTimestamp" in found["metadata"] and not found["metadata"].get("finalizers"):
                self.store.remove(path, key)
            else:
                content = self._write(path, key, found)
        self.store.written(path, "patch", found)
        self._answer(200, content)

    def do_DELETE(self) -> None:
        """Delete an object, or begin to when it has finalizers."""
        self._body()
        path, key, _ = self._place(urlsplit(self.path).path)
        with self.store.lock:
            content = self.store.collection(path).objects.get(key)
            if content is None:
                self._refuse(404, "NotFound")
                return
            found = json.loads(content)
            if found["metadata"].get("finalizers"):
                found["metadata"].setdefault("deletionTimestamp", stamp())
                self._write(path, key, found)
            else:
                self.store.remove(path, key)
        self._answer(200, b'{"kind":"Status","status":"Success"}')

    def _write(self, path: str, key: str, body: Json) -> bytes:
        """Keep an object in a new version; the lock is held."""

        def made(version: int) -> bytes:
            body["metadata"]["resourceVersion"] = str(version)
            return encoded(body)

        self.store.put(path, key, made)
        return self.store.collection(path).objects[key]

    @staticmethod
    def _place(path: str) -> tuple[str, str, str]:
        """Path of the collection, key of the object and subresource; empty where there is none."""
        parts = unquote(path).strip("/").split("/")
        root, rest = (parts[:2], parts[2:]) if parts[0] == "api" else (parts[:3], parts[3:])
        namespace = ""
        if rest[:1] == ["namespaces"] and len(rest) > 2:
            namespace, rest = f"{rest[1]}/", rest[2:]
        plural, name, part, *_ = [*rest, "", "", ""]
        return f"/{'/'.join(root)}/{plural}", f"{namespace}{name}" if name else "", part

    def _list(self, path: str, query: Json) -> None:
        if "openapi" in path:
            self._refuse(404, "NotFound")
            return
        # Nothing recorded carries a label that anybody selects by.
        path = f"{path}?" if "labelSelector" in query else path
        limit = int(query.get("limit", 0))
        version, token, objects = self.store.page(path, limit, query.get("continue", ""))
        head = {"resourceVersion": str(version)} | ({"continue": token} if token else {})
        items = b",".join(objects)
        self._answer(
            200,
            b'{"kind":"List","apiVersion":"v1","metadata":%b,"items":[%b]}'
            % (encoded(head), items),
        )

    def _watch(self, path: str, query: Json) -> None:
        of = self.store.collection(f"{path}?" if "labelSelector" in query else path)
        version = int(query["resourceVersion"])
        ends = time.monotonic() + float(query["timeoutSeconds"])
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()
        self.wfile.flush()
        while (now := time.monotonic()) < ends:
            version, lines = self.store.after(of, version, min(BOOKMARK_SECONDS, ends - now))
            if not lines:
                with self.store.lock:
                    version = max(version, self.store.recording.version)
                bookmark = {"metadata": {"resourceVersion": str(version)}}
                lines = [encoded({"type": "BOOKMARK", "object": bookmark}) + b"\n"]
            content = b"".join(lines)
            self.wfile.write(b"%x\r\n%b\r\n" % (len(content), content))
            self.wfile.flush()
        self.wfile.write(b"0\r\n\r\n")

    def _body(self) -> Any:
        length = int(self.headers.get("Content-Length") or 0)
        return json.loads(self.rfile.read(length)) if length else {}

    def _refuse(self, code: int, reason: str) -> None:
        status = {
            "kind": "Status",
            "status": "Failure",
            "code": code,
            "reason": reason,
            "message": self.path,
        }
        self._answer(code, encoded(status))

    def _answer(self, code: int, content: bytes) -> None:
        self.send_response(code)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)
        self.wfile.flush()

    def handle(self) -> None:
        """A client that has gone is no mistake."""
        try:
            super().handle()
        except (ConnectionError, TimeoutError):
            self.close_connection = True


class Server(ThreadingHTTPServer):
    """A thread for each connection."""

    daemon_threads = True
    request_queue_size = 128


def main(nodes: int, replica_sets: int) -> None:
    """Serve until killed."""
    store = Store(recorded.make(nodes, replica_sets))
    Handler.store = store
    Handler.stream = PodStream(store)
    store.written = Handler.stream.written
    server = Server(("127.0.0.1", 0), Handler)
    print(server.server_port, flush=True)  # noqa: T201 - what the benchmark waits for
    server.serve_forever()


if __name__ == "__main__":
    main(int(sys.argv[1]), int(sys.argv[2]))
