"""The API server's way to pods: where it leads, what it refuses, and that bytes come through in both directions."""

import datetime as dt
import socket
import ssl
import subprocess
import sys
import threading
import time
from collections.abc import Generator
from contextlib import suppress
from pathlib import Path

import pytest
from tests.running import free_port

from daiku_local.control_plane import certificates
from daiku_local.egress import proxy

SECONDS_MAX = 30.0


@pytest.mark.parametrize(
    ("target", "way"),
    [
        ("240.87.1.1:8080", ("127.87.1.1", 8080)),
        ("localhost:10250", ("127.0.0.1", 10250)),
        ("127.0.0.1:443", ("127.0.0.1", 443)),
        ("[::1]:443", ("::1", 443)),
    ],
)
def test_what_is_of_this_machine_is_led_to(target: str, way: tuple[str, int]) -> None:
    assert proxy.way(target) == way


@pytest.mark.parametrize(
    ("target", "why"),
    [
        ("100.64.0.7:80", "nobody listens on 100.64.0.7: kwok plays that pod"),
        ("10.0.1.7:10250", "nobody listens on 10.0.1.7"),
        ("169.254.169.254:80", "nobody listens on 169.254.169.254"),
        ("example.com:443", "example.com is no address: only this machine can be reached"),
        ("240.1.1.1", "240.1.1.1 is not HOST:PORT"),
        ("240.1.1.1:http", "240.1.1.1:http is not HOST:PORT"),
    ],
)
def test_nothing_beside_this_machine_is_led_to(target: str, why: str) -> None:
    with pytest.raises(proxy.NoWayError, match=why.replace("[", r"\[")):
        proxy.way(target)


@pytest.fixture(scope="module")
def pki(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("world") / "pki"
    certificates.write_all(folder, dt.datetime.now(dt.UTC))  # noqa: TID251 - valid in real time
    return folder


@pytest.fixture(scope="module")
def port(pki: Path) -> Generator[int]:
    """Of a proxy that runs."""
    chosen = free_port()
    process = subprocess.Popen(
        [sys.executable, "-m", "daiku_local.egress", f"--port={chosen}", f"--pki={pki}"]
    )
    deadline = time.monotonic() + SECONDS_MAX
    while True:
        try:
            _asked(pki, chosen, "GET /_health").close()
            break
        except OSError:
            assert time.monotonic() < deadline, "it does not listen"
            time.sleep(0.1)
    yield chosen
    process.terminate()
    assert process.wait(SECONDS_MAX) == 0


@pytest.fixture(scope="module")
def echo() -> Generator[int]:
    """Of a pod that says back what it is told, and then ends."""
    with socket.create_server(("127.241.1.1", 0)) as server:

        def serve() -> None:
            while True:
                try:
                    client, _ = server.accept()
                except OSError:
                    return
                with client:
                    client.sendall(b"said: " + client.recv(1000))

        threading.Thread(target=serve, daemon=True).start()
        yield server.getsockname()[1]
        server.shutdown(socket.SHUT_RDWR)


def _asked(pki: Path, port: int, request: str, *, shown: bool = True) -> ssl.SSLSocket:
    context = ssl.create_default_context(cafile=str(pki / "ca.crt"))
    if shown:
        context.load_cert_chain(pki / "serving.crt", pki / "serving.key")
    plain = socket.create_connection(("127.0.0.1", port), timeout=SECONDS_MAX)
    try:
        made = context.wrap_socket(plain, server_hostname="127.0.0.1")
    except OSError:
        plain.close()
        raise
    made.sendall(f"{request} HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n".encode())
    return made


def _rest(client: ssl.SSLSocket) -> bytes:
    said = b""
    while piece := client.recv(1000):
        said += piece
    return said


def test_what_both_sides_say_comes_through(pki: Path, port: int, echo: int) -> None:
    with _asked(pki, port, f"CONNECT 240.241.1.1:{echo}") as client:
        assert client.recv(1000) == b"HTTP/1.1 200 Connection established\r\n\r\n"
        client.sendall(b"hello")

        assert _rest(client) == b"said: hello"


@pytest.mark.parametrize(
    ("request_line", "answer"),
    [
        ("CONNECT 100.64.0.7:80", b"HTTP/1.1 502 nobody listens on 100.64.0.7"),
        ("CONNECT 240.241.1.2:1", b"HTTP/1.1 502 nobody answers on 240.241.1.2:1"),
        ("GET /", b"HTTP/1.1 405 only CONNECT"),
    ],
)
def test_what_cannot_be_led_on_is_refused_with_why(
    pki: Path, port: int, request_line: str, answer: bytes
) -> None:
    with _asked(pki, port, request_line) as client:
        assert _rest(client).startswith(answer)


def test_who_shows_no_certificate_of_the_world_is_not_answered(
    pki: Path, port: int, echo: int
) -> None:
    said = b""
    # Who notices first, and how, differs.
    with (
        suppress(OSError),
        _asked(pki, port, f"CONNECT 240.241.1.1:{echo}", shown=False) as client,
    ):
        said = _rest(client)

    assert said == b""
