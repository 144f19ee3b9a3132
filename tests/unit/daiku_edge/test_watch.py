"""List and watch against a server that forgets, breaks off and says nonsense: the events are always the same kind."""

import http.server
import json
import threading
from collections.abc import Generator
from pathlib import Path
from typing import Any

import pytest
import yaml

from daiku import events
from daiku.api import kinds
from daiku.kube import errors
from daiku.kube.client import Client
from daiku.kube.credentials import Credentials
from daiku.kube.watch import Watcher
from daiku.model.node import Node

SECONDS_MAX = 10.0


class Server:
    """An API server that plays a script: what each list says, and which lines each watch gets."""

    def __init__(self) -> None:
        self.lists: list[dict[str, Any]] = []
        self.watches: list[list[bytes]] = []
        self.asked: list[str] = []
        self.authorizations: list[str] = []
        self.refuse_first = False
        script = self

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                script.asked.append(self.path)
                script.authorizations.append(self.headers.get("Authorization", ""))
                if script.refuse_first and len(script.asked) == 1:
                    self._answer(401, [b"{}"])
                elif "watch=true" in self.path:
                    self._answer(200, script.watches.pop(0) if script.watches else [])
                elif script.lists:
                    self._answer(200, [json.dumps(script.lists.pop(0)).encode()])
                else:
                    self._answer(503, [b"{}"])

            def _answer(self, code: int, lines: list[bytes]) -> None:
                self.send_response(code)
                self.end_headers()
                for line in lines:
                    self.wfile.write(line + b"\n")

            def log_message(self, format: str, *args: Any) -> None:  # noqa: A002
                pass

        self.http = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        threading.Thread(target=self.http.serve_forever, daemon=True).start()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.http.server_address[1]}"


@pytest.fixture
def server() -> Generator[Server]:
    made = Server()
    yield made
    made.http.shutdown()
    made.http.server_close()


def _credentials(server: Server, folder: Path) -> Credentials:
    (folder / "token").write_text("first")
    config = {
        "apiVersion": "v1",
        "kind": "Config",
        "current-context": "c",
        "clusters": [{"name": "c", "cluster": {"server": server.url}}],
        "users": [{"name": "u", "user": {"tokenFile": str(folder / "token")}}],
        "contexts": [{"name": "c", "context": {"cluster": "c", "user": "u"}}],
    }
    file = folder / "kubeconfig"
    file.write_text(yaml.safe_dump(config))
    return Credentials({"KUBECONFIG": str(file)})


def _node(name: str, version: int, **extra: Any) -> dict[str, Any]:
    return {"metadata": {"name": name, "resourceVersion": str(version)}, **extra}


def _page(version: int, *items: dict[str, Any], more: str = "") -> dict[str, Any]:
    return {"metadata": {"resourceVersion": str(version), "continue": more}, "items": list(items)}


def _line(kind: str, body: dict[str, Any]) -> bytes:
    return json.dumps({"type": kind, "object": body}).encode()


def _events(server: Server, folder: Path, count: int) -> list[str]:
    """What a watcher puts, in short: +name for Seen, -name for Gone, [names] for Listed, ? for Outdated."""
    found: list[str] = []
    stop = threading.Event()

    def put(event: events.Event) -> None:
        match event:
            case events.Seen():
                found.append(f"+{event.object.meta.name}@{event.object.meta.resource_version}")
            case events.Gone():
                found.append(f"-{event.key}")
            case events.Listed():
                found.append(f"[{' '.join(sorted(event.keys))}]")
            case events.Outdated():
                found.append("?")
            case _:
                raise AssertionError(event)
        if len(found) >= count:
            stop.set()

    watcher = Watcher(Client(_credentials(server, folder)), kinds.NODES, put, stop)
    thread = threading.Thread(target=watcher.run, daemon=True)
    thread.start()
    assert stop.wait(SECONDS_MAX), found
    thread.join(SECONDS_MAX)
    return found


def test_a_list_comes_in_pages_and_is_followed_by_its_changes(
    server: Server, tmp_path: Path
) -> None:
    server.lists = [_page(5, _node("a", 1), more="next"), _page(5, _node("b", 2))]
    server.watches = [
        [
            _line("MODIFIED", _node("a", 6)),
            _line("DELETED", _node("b", 7)),
            _line("ADDED", _node("c", 8)),
        ]
    ]

    found = _events(server, tmp_path, 6)

    assert found == ["+a@1", "+b@2", "[a b]", "+a@6", "-b", "+c@8"]
    assert "resourceVersion=5" in server.asked[2]
    assert "limit=500" in server.asked[0]


def test_a_watch_that_ends_goes_on_from_the_last_bookmark(server: Server, tmp_path: Path) -> None:
    server.lists = [_page(5)]
    server.watches = [[_line("BOOKMARK", _node("", 40))], [_line("ADDED", _node("a", 41))]]

    found = _events(server, tmp_path, 2)

    assert found == ["[]", "+a@41"]
    assert "resourceVersion=40" in server.asked[2]


def test_after_410_it_says_so_and_only_what_changed_is_put_again(
    server: Server, tmp_path: Path
) -> None:
    gone = {"kind": "Status", "code": 410, "reason": "Expired", "message": "too old"}
    server.lists = [_page(5, _node("a", 1), _node("b", 2)), _page(9, _node("a", 1), _node("c", 8))]
    server.watches = [[_line("ERROR", gone)]]

    found = _events(server, tmp_path, 6)

    assert found == ["+a@1", "+b@2", "[a b]", "?", "+c@8", "[a c]"]


def test_nonsense_in_a_watch_is_survived(server: Server, tmp_path: Path) -> None:
    server.lists = [_page(5)]
    server.watches = [[b"half a li"], [_line("ADDED", _node("a", 6))]]

    assert _events(server, tmp_path, 2) == ["[]", "+a@6"]


def test_an_object_that_cannot_be_read_costs_no_other(server: Server, tmp_path: Path) -> None:
    bad = _node("bad", 1, status={"capacity": {"cpu": "lots"}})
    server.lists = [_page(5, bad, _node("good", 2))]

    assert _events(server, tmp_path, 2) == ["+good@2", "[bad good]"]


def test_a_server_that_is_away_is_asked_again(server: Server, tmp_path: Path) -> None:
    client = Client(_credentials(server, tmp_path))

    with pytest.raises(errors.Unreachable, match="503"):
        client.get(kinds.NODES.path)

    server.lists = [_page(5)]
    assert next(iter(client.list(kinds.NODES.path))).resource_version == "5"


def test_a_token_is_read_again_when_the_server_does_not_know_it(
    server: Server, tmp_path: Path
) -> None:
    credentials = _credentials(server, tmp_path)
    (tmp_path / "token").write_text("second")
    server.refuse_first = True
    server.lists = [_page(5)]

    Client(credentials).get(kinds.NODES.path)

    assert server.authorizations == ["Bearer first", "Bearer second"]


def test_a_listed_object_is_of_its_kind(server: Server, tmp_path: Path) -> None:
    server.lists = [_page(5, _node("a", 1))]
    seen: list[Any] = []
    stop = threading.Event()

    def put(event: events.Event) -> None:
        seen.append(event)
        if len(seen) == 2:
            stop.set()

    Watcher(Client(_credentials(server, tmp_path)), kinds.NODES, put, stop).run()

    assert isinstance(seen[0].object, Node)
    assert seen[1] == events.Listed(Node, frozenset({"a"}))
