"""`daiku local load`: clients that ask without pause, as ApacheBench's do, for machines that have no `ab`."""

import http.client
import threading
import time
import urllib.parse
from collections.abc import Callable
from dataclasses import dataclass

TIMEOUT_SECONDS = 10.0
PROGRESS_SECONDS = 5.0
PAUSE_SECONDS = 0.2
"""Before a client asks again that was refused."""


@dataclass(slots=True, kw_only=True)
class Done:
    """What came of it."""

    requests: int = 0
    """Answered as they should be."""
    failures: int = 0
    """Refused, or not answered."""
    problem: str = ""
    """What the last of the failures was."""
    seconds: float = 0.0
    """From the first request to the last answer."""

    def sentence(self) -> str:
        """All of it in one line."""
        rate = self.requests / self.seconds if self.seconds else 0.0
        return f"{self.requests} requests in {self.seconds:.1f} s, {rate:.1f}/s, {self.failures} failed"


def run(url: str, clients: int, seconds: float, report: Callable[[str], None]) -> Done:
    """Ask for `url` with so many clients for so long."""
    done, lock, began = Done(), threading.Lock(), time.monotonic()
    target = urllib.parse.urlsplit(url)
    address, path = target.netloc, target.path

    def ask() -> None:
        connection = http.client.HTTPConnection(address, timeout=TIMEOUT_SECONDS)
        while time.monotonic() < began + seconds:
            problem = _ask(connection, path)
            with lock:
                done.requests += not problem
                done.failures += bool(problem)
                done.problem = problem or done.problem
            if problem:
                connection.close()
                time.sleep(PAUSE_SECONDS)
        connection.close()

    threads = [threading.Thread(target=ask, daemon=True) for _ in range(clients)]
    for thread in threads:
        thread.start()
    said = began
    for thread in threads:
        while thread.is_alive():
            thread.join(PROGRESS_SECONDS / 5)
            done.seconds = time.monotonic() - began
            if time.monotonic() - said >= PROGRESS_SECONDS:
                report(done.sentence())
                said = time.monotonic()
    return done


def _ask(connection: http.client.HTTPConnection, path: str) -> str:
    """Ask once; what went wrong, nothing if nothing did."""
    try:
        connection.request("GET", path)
        answer = connection.getresponse()
        text = answer.read().decode(errors="replace").strip()
    except (OSError, http.client.HTTPException) as error:
        return f"{type(error).__name__}: {error}"
    return "" if answer.status == http.HTTPStatus.OK else f"{answer.status} {text}"
