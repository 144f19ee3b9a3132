"""What the API server asks a kubelet: the log and the ports of a pod that is a process. One listener for all nodes.

Every other question, and one about a pod that kwok plays, is answered by a sentence that says why there is nothing.
Only who shows a certificate of the world's authority is listened to, as the API server does.

Source: kubernetes, pkg/kubelet/server; what the API server makes of an error: apimachinery's NewGenericServerResponse,
which passes on the words of a status of 500 and more only.
"""

import select
import ssl
import time
import urllib.parse
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from http import HTTPStatus
from pathlib import Path
from typing import IO, Final

from daiku_local.agent import forwards, records
from daiku_local.metrics.http_server import HOST, Handler, Server

LOGS: Final = ("logs", "pods")
"""Folders, within the world's, of the files that pods write: NAMESPACE_NAME_RUN.log."""
LOG: Final = "containerLogs"
FORWARD: Final = "portForward"
LOOK_SECONDS: Final = 0.2
"""Between two looks at a log that is followed."""
TIMES: Final = frozenset({"sinceSeconds", "sinceTime", "timestamps"})
"""What is asked of a log that has the time of each line."""


class NoAnswerError(Exception):
    """There is nothing to answer with; the message says why."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """What of a log is asked for."""

    follow: bool = False
    lines: int | None = None
    """Only so many of the last lines; None: all."""
    bytes_max: int | None = None
    previous: bool = False
    """That of the run before."""


def wanted(query: str) -> Wanted:
    """What a query asks for.

    Raises:
        NoAnswerError: It asks for what a process does not write.
    """
    asked = {key: values[-1] for key, values in urllib.parse.parse_qs(query).items()}
    if TIMES.intersection(key for key, value in asked.items() if value != "false"):
        raise NoAnswerError(
            "the log of a process has no times of its own: leave out --since, --since-time and --timestamps"
        )
    return Wanted(
        follow=asked.get("follow") == "true",
        lines=int(asked["tailLines"]) if "tailLines" in asked else None,
        bytes_max=int(asked["limitBytes"]) if "limitBytes" in asked else None,
        previous=asked.get("previous") == "true",
    )


def pod_of(kind: str, rest: Sequence[str]) -> Sequence[str]:
    """Namespace and name of the pod that a path of the kubelet's API is about.

    Raises:
        NoAnswerError: It is not about a log or ports.
    """
    if kind not in {LOG, FORWARD} or len(rest) < 2:
        raise NoAnswerError(
            f"{kind} does not exist in a laptop world: its pods are processes of this machine, or played by kwok; "
            "logs and ports can be had"
        )
    return rest[:2]


def log_file(folder: Path, namespace: str, name: str, *, previous: bool) -> Path:
    """The file that a pod writes, or wrote in the run before.

    Args:
        folder: The world's.
        namespace: Of the pod.
        name: Of the pod.
        previous: Whether the run before is meant.

    Raises:
        NoAnswerError: There is none.
    """
    runs = {
        int(file.stem.rpartition("_")[2]): file
        for file in folder.joinpath(*LOGS).glob(f"{namespace}_{name}_*.log")
    }
    if not runs:
        raise NoAnswerError(
            f"pod {namespace}/{name} has no container: kwok plays it, and what it would run exists only in its "
            "manifest. Pods of images daiku.local/* are real processes"
        )
    run = max(runs) - previous
    if run not in runs:
        raise NoAnswerError(f"pod {namespace}/{name} has not run before: it has not been restarted")
    return runs[run]


def read(
    file: IO[bytes], asked: Wanted, *, is_over: Callable[[], bool], pause: Callable[[], None]
) -> Iterator[bytes]:
    """The pieces of a log, as they are written if it is followed.

    Args:
        file: Opened at its beginning.
        asked: What of it.
        is_over: Whether nothing more will be written, or nobody listens.
        pause: Waits before the next look.
    """
    left = asked.bytes_max
    for piece in _pieces(file, asked, is_over, pause):
        yield piece if left is None else piece[:left]
        left = None if left is None else left - len(piece)
        if left is not None and left <= 0:
            return


def _pieces(
    file: IO[bytes], asked: Wanted, is_over: Callable[[], bool], pause: Callable[[], None]
) -> Iterator[bytes]:
    yield from file if asked.lines is None else deque(file, asked.lines)
    while asked.follow:
        # Asked before the file is read, so that what was written last is not missed.
        ends = is_over()
        yield from file
        if ends:
            return
        pause()


def make(folder: Path, port: int, kwok_port: int, pki: Path) -> Server:
    """A listener for the API server.

    Args:
        folder: The world's.
        port: Of the loopback.
        kwok_port: Where kwok listens, which forwards ports.
        pki: Folder of its certificates.

    Raises:
        OSError: The port is taken, or a certificate is missing.
    """

    class Kubelet(Handler):
        def do_GET(self) -> None:  # noqa: N802 - the name is the base class's
            self._reply()

        def do_POST(self) -> None:  # noqa: N802 - the name is the base class's
            self._reply()

        def _reply(self) -> None:
            self.close_connection = True
            target = urllib.parse.urlsplit(self.path)
            kind, *rest = target.path.strip("/").split("/")
            try:
                namespace, name = pod_of(kind, rest)
                if kind == FORWARD:
                    _require_process(folder, namespace, name)
                    forwards.tunnel(self._head(), self.connection, kwok_port)
                    return
                asked = wanted(target.query)
                file = log_file(folder, namespace, name, previous=asked.previous)
                with file.open("rb") as opened:
                    self._stream(opened, asked, namespace, name)
            except (NoAnswerError, ValueError) as error:
                self.answer(str(error).encode(), HTTPStatus.NOT_IMPLEMENTED)

        def _head(self) -> bytes:
            """The request as it came."""
            lines = [self.requestline, *(f"{key}: {value}" for key, value in self.headers.items())]
            return "\r\n".join([*lines, "", ""]).encode("latin-1")

        def _stream(self, file: IO[bytes], asked: Wanted, namespace: str, name: str) -> None:
            self.send_response(HTTPStatus.OK)
            self.send_header("Content-Type", "text/plain")
            self.send_header("Connection", "close")
            self.end_headers()

            def is_over() -> bool:
                return self._has_left() or not _runs(folder, namespace, name)

            for piece in read(file, asked, is_over=is_over, pause=lambda: time.sleep(LOOK_SECONDS)):
                self.wfile.write(piece)

        def _has_left(self) -> bool:
            """Whether the client has closed the connection: it says nothing more otherwise."""
            return bool(select.select([self.connection], [], [], 0)[0])

    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    context.load_cert_chain(pki / "serving.crt", pki / "serving.key")
    context.load_verify_locations(pki / "ca.crt")
    context.verify_mode = ssl.CERT_REQUIRED
    server = Server((HOST, port), Kubelet)
    # The handshake is left to the connection's own thread: one that says nothing must not hold up the others.
    server.socket = context.wrap_socket(
        server.socket, server_side=True, do_handshake_on_connect=False
    )
    return server


def _require_process(folder: Path, namespace: str, name: str) -> None:
    if not _runs(folder, namespace, name):
        raise NoAnswerError(
            f"pod {namespace}/{name} has no process here: kwok plays it, and nobody listens on its ports"
        )


def _runs(folder: Path, namespace: str, name: str) -> bool:
    """Whether the agent runs a process for a pod of this name."""
    known = records.read_all(records.folder(folder))
    return any((each.pod.namespace, each.pod.name) == (namespace, name) for each in known)
