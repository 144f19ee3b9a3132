"""What others may ask of the process over HTTP: is it alive, is it ready, what does it measure.

Alive: the owner thread took from its inbox lately. Ready: every kind has been listed. Metrics lie on a port of their
own, so that a network policy can tell them apart.
"""

import http.server
import threading
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final

import prometheus_client

SILENT_SECONDS_MAX: Final = 60.0
"""How long a tick may take before the process counts as stuck; a solve has a time box of seconds."""

Answer = tuple[int, str, bytes]


@dataclass(frozen=True, slots=True, kw_only=True)
class Health:
    """What /healthz and /readyz look at."""

    silent_seconds: Callable[[], float]
    """How long the owner thread has not taken from its inbox."""
    unready: Callable[[], str]
    """Why the process is not ready; empty when it is."""

    def healthz(self) -> Answer:
        """Whether the owner thread moves."""
        silent = self.silent_seconds()
        if silent > SILENT_SECONDS_MAX:
            return _text(500, f"the owner thread has not taken an event for {silent:.0f} s")
        return _text(200, "ok")

    def readyz(self) -> Answer:
        """Whether the caches are filled."""
        why = self.unready()
        return _text(503, why) if why else _text(200, "ok")


def metrics() -> Answer:
    """Every metric, in Prometheus' format."""
    return 200, prometheus_client.CONTENT_TYPE_LATEST, prometheus_client.generate_latest()


def serve(
    address: str, port: int, routes: dict[str, Callable[[], Answer]]
) -> http.server.HTTPServer:
    """Listen on `address` only and answer GET of `routes`, in a thread of its own.

    Raises:
        OSError: The address is not ours or the port is taken.
    """

    class Handler(http.server.BaseHTTPRequestHandler):
        timeout = 10

        def do_GET(self) -> None:
            route = routes.get(self.path.partition("?")[0])
            code, kind, body = route() if route is not None else _text(404, "not found")
            self.send_response(code)
            self.send_header("Content-Type", kind)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, format: str, *args: Any) -> None:  # noqa: A002
            """Probes are not worth a line."""

    server = http.server.ThreadingHTTPServer((address, port), Handler)
    server.daemon_threads = True
    threading.Thread(target=server.serve_forever, name=f"http-{port}", daemon=True).start()
    return server


def _text(code: int, text: str) -> Answer:
    return code, "text/plain; charset=utf-8", f"{text}\n".encode()
