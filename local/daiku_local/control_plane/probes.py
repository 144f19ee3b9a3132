"""When a part is ready, asked of the part itself over HTTP.

A probe is a function without arguments that tells yes or no; "nobody listens yet" is a no. Parts
with TLS are verified against the world's own authority, so no other program can answer for them.
"""

import http.client
import ssl
from collections.abc import Callable
from pathlib import Path

Probe = Callable[[], bool]

TIMEOUT_SECONDS = 2.0
"""How long one question may take; the next one follows soon."""


def https(port: int, path: str, pki: Path) -> Probe:
    """Whether GET https://127.0.0.1:PORT/PATH, asked as the administrator, answers 200."""
    context = ssl.create_default_context(cafile=pki / "ca.crt")
    context.load_cert_chain(pki / "admin.crt", pki / "admin.key")

    def ask() -> bool:
        return _answers(
            http.client.HTTPSConnection(
                "127.0.0.1", port, timeout=TIMEOUT_SECONDS, context=context
            ),
            path,
        )

    return ask


def plain(port: int, path: str) -> Probe:
    """Whether GET http://127.0.0.1:PORT/PATH answers 200."""

    def ask() -> bool:
        return _answers(
            http.client.HTTPConnection("127.0.0.1", port, timeout=TIMEOUT_SECONDS), path
        )

    return ask


def every(*probes: Probe) -> Probe:
    """Whether all of `probes` say yes."""
    return lambda: all(probe() for probe in probes)


def _answers(connection: http.client.HTTPConnection, path: str) -> bool:
    try:
        connection.request("GET", path)
        return connection.getresponse().status == http.HTTPStatus.OK
    except (OSError, http.client.HTTPException):
        return False
    finally:
        connection.close()
