"""What the two listeners of this part share: threads, the loopback, short answers in JSON, a log of failures only."""

import json
import sys
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

HOST = "127.0.0.1"


class Server(ThreadingHTTPServer):
    """A thread a connection; none of them holds up the end of the program."""

    daemon_threads = True
    request_queue_size = 256

    def handle_error(self, request: Any, client_address: Any) -> None:  # noqa: ARG002 - as inherited
        """Say what went wrong in one line: a client that leaves early is nothing to explain."""
        sys.stderr.write(f"{client_address}: {sys.exception()!r}\n")


class Handler(BaseHTTPRequestHandler):
    """Keeps connections open and writes answers of known length."""

    protocol_version = "HTTP/1.1"
    timeout = 120
    disable_nagle_algorithm = True

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 - the name is the base class's
        """Say nothing."""

    def answer(self, content: Any, status: int = HTTPStatus.OK) -> None:
        """Write `content` as JSON, or as it is if it is bytes."""
        body = content if isinstance(content, bytes) else json.dumps(content).encode()
        kind = "text/plain" if isinstance(content, bytes) else "application/json"
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)
