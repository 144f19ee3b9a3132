"""An address of its own for every local pod, out of 127.0.0.0/8.

Every port of every pod can then be what its manifest says. One world takes one second octet and
holds it as long as its agent lives, by a name in the same network namespace as the addresses
themselves (an abstract Unix socket), so that two worlds of a machine never give out the same ones.
Linux routes all of 127.0.0.0/8; macOS does not, and gets a message.

The cluster is shown 240.x.y.z for 127.x.y.z: Kubernetes takes no loopback address for a pod's in
EndpointSlices and proxies, and 240.0.0.0/4 is nobody's on any network. `daiku_local.egress` leads
the API server from the one to the other.
"""

import errno
import logging
import random
import socket
import threading
from collections.abc import Iterable
from dataclasses import dataclass, field

OCTETS = range(10, 251)
"""Second octets that worlds draw from; low ones are often used by other programs."""
REAL = "127."
"""How addresses begin that pods listen on."""
SHOWN = "240."
"""How they begin in the cluster."""
TRIES_MAX = 2000
"""Addresses that are tried for one pod; more would only repeat the same answer."""

_log = logging.getLogger(__name__)


class NoAddressError(Exception):
    """No address of the loopback network could be taken."""


@dataclass(slots=True)
class Addresses:
    """The addresses of one world's pods, safe to use from several threads."""

    octet: int
    """Second octet of every new one."""
    claim: socket.socket
    """Holds the octet until it is closed."""
    assigned: dict[str, str] = field(default_factory=dict[str, str])
    """Address by pod uid."""
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def close(self) -> None:
        """Give the octet back."""
        self.claim.close()

    def assign(self, uid: str, ports: Iterable[int]) -> str:
        """Give the pod's address; a new one that no pod has, and on which `ports` are free.

        Raises:
            NoAddressError: There is none.
        """
        wanted = tuple(ports) or (0,)
        with self._lock:
            if uid in self.assigned:
                return self.assigned[uid]
            taken = set(self.assigned.values())
            for number in range(TRIES_MAX):
                address = f"127.{self.octet}.{1 + number // 250}.{1 + number % 250}"
                if address not in taken and all(_is_free(address, port) for port in wanted):
                    self.assigned[uid] = address
                    return address
        ports_text = ", ".join(str(port) for port in wanted)
        raise NoAddressError(
            f"port {ports_text} is not free on any address of 127.{self.octet}.0.0/16: does another "
            "program listen on it on all addresses (0.0.0.0)? Stop it, or choose other ports"
        )

    def keep(self, uid: str, address: str) -> None:
        """Note the address of a pod that ran before this agent."""
        with self._lock:
            self.assigned[uid] = address

    def release(self, uid: str) -> None:
        """Take back the address of a pod that is gone."""
        with self._lock:
            self.assigned.pop(uid, None)


def take(preferred: int | None = None) -> Addresses:
    """Take an octet that no other world holds, the preferred one if it is free.

    Raises:
        NoAddressError: The machine does not route 127.0.0.0/8, or every octet is taken.
    """
    draw = random.Random()  # noqa: S311 - spreads worlds over octets, keeps no secret
    candidates = draw.sample(OCTETS, len(OCTETS))
    if preferred is not None:
        candidates.insert(0, preferred)
    for octet in candidates:
        if not _is_free(f"127.{octet}.0.1", 0):
            raise NoAddressError(
                f"127.{octet}.0.1 is no address of this machine: local pods need the whole network "
                "127.0.0.0/8 on the loopback, as Linux has it"
            )
        claim = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        try:
            claim.bind(f"\0daiku-local/127.{octet}")
        except OSError as error:
            claim.close()
            if error.errno != errno.EADDRINUSE:
                raise
            continue
        _log.info("local pods get addresses of 127.%d.0.0/16", octet)
        return Addresses(octet, claim)
    raise NoAddressError("every second octet of 127.0.0.0/8 is held by another laptop world")


def shown(address: str) -> str:
    """What the cluster is told of an address; empty for an empty one."""
    return address and SHOWN + address.removeprefix(REAL)


def real(address: str) -> str:
    """The address of this machine that the cluster knows as `address`; empty when it is of no pod."""
    return REAL + address.removeprefix(SHOWN) if address.startswith(SHOWN) else ""


def octet_of(address: str) -> int:
    """Second octet of an address."""
    return int(address.split(".")[1])


def _is_free(address: str, port: int) -> bool:
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as trial:
        # Connections that a former pod left waiting do not keep a server from the port.
        trial.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            trial.bind((address, port))
        except OSError as error:
            # A port that needs more rights than ours may still be free for whoever has them.
            return error.errno == errno.EACCES
    return True
