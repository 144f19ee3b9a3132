# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false
"""The HTTP server: a thread a connection, on the loopback address only.

Beside AWS's own requests there are those of the layer: `GET /_health`, `GET /_usage`,
`GET` and `PUT /_weather`, and `POST /_weather/interrupt`.
"""

import io
import json
import socket
import sys
import traceback
from collections.abc import Callable, Iterable
from typing import Any
from urllib.parse import urlsplit

import werkzeug.serving
import werkzeug.test

from daiku_local.aws import interruptions, moto_door, notices, weather
from daiku_local.aws.cloud import Cloud
from daiku_local.aws.dispatch import Dispatcher
from daiku_local.aws.errors import AwsError
from daiku_local.aws.wire import call as calls
from daiku_local.aws.wire import reply as replies
from daiku_local.aws.wire.reply import Reply

HOST = "127.0.0.1"
Environ = dict[str, Any]


class PortTakenError(Exception):
    """The port cannot be listened on; the message says what to do."""


class _RequestHandler(werkzeug.serving.WSGIRequestHandler):
    """Keeps connections alive, writes small replies at once, logs no line a request."""

    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True

    def log_request(self, code: Any = "-", size: Any = "-") -> None:
        """Say nothing: the counts of `GET /_usage` are the record."""


class Application:
    """The WSGI application."""

    def __init__(self, cloud: Cloud) -> None:
        self._cloud = cloud
        self._dispatcher = Dispatcher(cloud)
        self._moto = moto_door.application()

    def __call__(self, environ: Environ, start_response: Callable[..., Any]) -> Iterable[bytes]:
        """Answer one request."""
        length = int(environ.get("CONTENT_LENGTH") or 0)
        body = environ["wsgi.input"].read(length) if length else b""
        reply = self._reply(environ, body)
        headers = [(name, value) for name, value in reply.headers.items()]
        headers.append(("Content-Length", str(len(reply.body))))
        start_response(f"{reply.status} {'OK' if reply.status < 400 else 'Error'}", headers)
        return [reply.body]

    def _reply(self, environ: Environ, body: bytes) -> Reply:
        if environ["PATH_INFO"].startswith("/_"):
            return self._own(environ["REQUEST_METHOD"], environ["PATH_INFO"], body)
        call = calls.read(environ["REQUEST_METHOD"], _target(environ), _headers(environ), body)
        try:
            return self._dispatcher.answer(call, lambda content: self._forward(environ, content))
        except Exception as error:  # noqa: BLE001 a defect here must reach the client as AWS's 500
            traceback.print_exc(file=sys.stderr)
            message = f"{call.service}:{call.operation} failed inside the stand-in AWS: {error!r}"
            return replies.of_error(call.service, AwsError("InternalError", message, status=500))

    def _own(self, method: str, path: str, body: bytes) -> Reply:
        if (method, path) == ("GET", "/_health"):
            return _json({"status": "ok"})
        if (method, path) == ("GET", "/_usage"):
            return _json(self._cloud.usage.counts())
        if (method, path) == ("GET", "/_weather"):
            return _json(self._cloud.weather.forecast.as_json())
        if (method, path) == ("PUT", "/_weather"):
            try:
                self._cloud.weather.change(weather.read(json.loads(body)))
            except (ValueError, weather.BadForecastError) as error:
                return _json({"error": str(error)}, status=400)
            return _json(self._cloud.weather.forecast.as_json())
        if (method, path) == ("POST", "/_weather/interrupt"):
            try:
                return _json(interruptions.interrupt(self._cloud, json.loads(body)))
            except (ValueError, notices.BadInterruptionError) as error:
                return _json({"error": str(error)}, status=400)
        return _json({"error": f"no {method} {path} here"}, status=404)

    def _forward(self, environ: Environ, body: bytes) -> Reply:
        again = {
            **environ,
            "wsgi.input": io.BytesIO(body),
            "CONTENT_LENGTH": str(len(body)),
        }
        content, status, headers = werkzeug.test.run_wsgi_app(self._moto, again, buffered=True)
        kept = {name: value for name, value in headers.items() if name != "Content-Length"}
        return Reply(status=int(status.split()[0]), headers=kept, body=b"".join(content))


def _target(environ: Environ) -> str:
    raw = str(environ.get("REQUEST_URI") or environ["PATH_INFO"])
    if raw.startswith(("http://", "https://")):
        parts = urlsplit(raw)
        raw = parts.path + (f"?{parts.query}" if parts.query else "")
    return raw


def _headers(environ: Environ) -> dict[str, str]:
    headers = {
        name.removeprefix("HTTP_").replace("_", "-").lower(): str(value)
        for name, value in environ.items()
        if name.startswith("HTTP_")
    }
    headers["content-type"] = str(environ.get("CONTENT_TYPE", ""))
    return headers


def _json(content: Any, *, status: int = 200) -> Reply:
    body = json.dumps(content).encode() + b"\n"
    return Reply(status=status, headers={"Content-Type": "application/json"}, body=body)


def make(cloud: Cloud, port: int) -> werkzeug.serving.BaseWSGIServer:
    """A server that listens; `serve_forever` runs it.

    Raises:
        PortTakenError: Somebody else listens there.
    """
    try:
        listener = socket.create_server((HOST, port), backlog=128)
    except OSError as error:
        raise PortTakenError(
            f"port {port} on {HOST} cannot be listened on ({error.strerror}): "
            "stop what uses it, or choose another"
        ) from error
    with listener:
        # werkzeug duplicates the descriptor; left to bind itself, it would end the process.
        return werkzeug.serving.make_server(
            HOST,
            port,
            Application(cloud),
            threaded=True,
            request_handler=_RequestHandler,
            fd=listener.fileno(),
        )
