"""A proxy of one verb, CONNECT, that leads to the loopback only.

Source: apiserver, pkg/server/egressselector: it takes any status but 200 for a failure, whose words it passes on.
"""

import asyncio
import ipaddress
import ssl
from contextlib import suppress
from pathlib import Path
from typing import Final

from daiku_local.agent import addresses

HOST: Final = "127.0.0.1"
HEALTH: Final = "/_health"
HEAD_SECONDS: Final = 10.0
"""How long a client may take to say where to."""
CONNECT_SECONDS: Final = 5.0
_PIECE: Final = 65_536


class NoWayError(Exception):
    """Nobody is to be connected to; the message says why."""


def way(target: str) -> tuple[str, int]:
    """Host and port on this machine that an address of the cluster leads to.

    Args:
        target: host:port, as a client of the cluster writes it.

    Raises:
        NoWayError: It leads to none.
    """
    host, separator, port = target.rpartition(":")
    if not separator or not port.isdecimal():
        raise NoWayError(f"{target} is not HOST:PORT")
    host = host.strip("[]")
    if host == "localhost":
        return HOST, int(port)
    try:
        address = ipaddress.ip_address(host)
    except ValueError as error:
        raise NoWayError(f"{host} is no address: only this machine can be reached") from error
    if address.is_loopback:
        return host, int(port)
    if real := addresses.real(host):
        return real, int(port)
    raise NoWayError(
        f"nobody listens on {host}: kwok plays that pod, or it is no pod of this world"
    )


async def serve(port: int, pki: Path) -> asyncio.Server:
    """Listen for the API server, and answer only who shows a certificate of the world's authority.

    Args:
        port: Of the loopback.
        pki: Folder of the certificates.

    Raises:
        OSError: The port is taken, or a certificate is missing.
    """
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    context.load_cert_chain(pki / "serving.crt", pki / "serving.key")
    context.load_verify_locations(pki / "ca.crt")
    context.verify_mode = ssl.CERT_REQUIRED
    return await asyncio.start_server(_answer, HOST, port, ssl=context)


async def _answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    with suppress(OSError, asyncio.IncompleteReadError, asyncio.LimitOverrunError, TimeoutError):
        async with asyncio.timeout(HEAD_SECONDS):
            head = await reader.readuntil(b"\r\n\r\n")
        verb, target, *_ = [*head.decode("latin-1").split(" ", 2), "", ""]
        if target == HEALTH:
            writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 3\r\nConnection: close\r\n\r\nok\n")
        elif verb != "CONNECT":
            writer.write(_refusal(405, "only CONNECT is answered here"))
        else:
            await _connect(target, reader, writer)
        await writer.drain()
    writer.close()
    with suppress(OSError):
        await writer.wait_closed()


async def _connect(target: str, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    try:
        host, port = way(target)
        async with asyncio.timeout(CONNECT_SECONDS):
            far_reader, far_writer = await asyncio.open_connection(host, port)
    except NoWayError as error:
        writer.write(_refusal(502, str(error)))
        return
    except (OSError, TimeoutError) as error:
        writer.write(_refusal(502, f"nobody answers on {target}: {error}"))
        return
    writer.write(b"HTTP/1.1 200 Connection established\r\n\r\n")
    await asyncio.gather(_copy(reader, far_writer), _copy(far_reader, writer))


async def _copy(source: asyncio.StreamReader, sink: asyncio.StreamWriter) -> None:
    """Hand over what one side says until it ends; the other may still have something to say, but not by TLS."""
    try:
        while piece := await source.read(_PIECE):
            sink.write(piece)
            await sink.drain()
        if sink.can_write_eof():
            sink.write_eof()
            return
    except OSError:
        pass
    sink.close()


def _refusal(status: int, why: str) -> bytes:
    words = " ".join(why.split())
    return f"HTTP/1.1 {status} {words}\r\nContent-Length: 0\r\nConnection: close\r\n\r\n".encode(
        "latin-1", errors="replace"
    )
