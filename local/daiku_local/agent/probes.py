"""When a container is asked how it is, and what its answers add up to.

`Prober` is a pure state machine over monotonic seconds: it says when to ask and judges the answers
as a kubelet's prober does. `ask` does one question over HTTP or TCP. Command and gRPC probes have
no meaning for a process of this machine and are refused.
"""

import http.client
import socket
import ssl
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from daiku_local.agent.environment import PodConfigError
from daiku_local.agent.objects import Json, dig, items, mapping

Kind = Literal["startup", "readiness", "liveness"]
KINDS: tuple[Kind, ...] = ("startup", "readiness", "liveness")


@dataclass(frozen=True, slots=True, kw_only=True)
class Probe:
    """One probe of a container."""

    kind: Kind
    """What its answers decide: that it has started, gets traffic, or is restarted."""
    port: int
    """Port on the pod's address, or on `host`."""
    path: str | None
    """Path of the HTTP request; None for a TCP probe, which only connects."""
    scheme: str = "HTTP"
    """HTTP or HTTPS; a certificate is not verified, as by a kubelet."""
    host: str | None = None
    """Address other than the pod's."""
    headers: Mapping[str, str] = field(default_factory=dict[str, str])
    """Headers of the request."""
    initial_delay_seconds: int = 0
    """From the start of the container to the first question."""
    period_seconds: int = 10
    """Between two questions."""
    timeout_seconds: int = 1
    """How long an answer may take."""
    success_threshold: int = 1
    """Good answers in a row that turn a bad verdict."""
    failure_threshold: int = 3
    """Bad answers in a row that turn a good verdict."""


@dataclass(slots=True, kw_only=True)
class Prober:
    """The state of one probe since its container started."""

    probe: Probe
    """What is asked."""
    started: float
    """Monotonic time at which the container started."""
    verdict: bool
    """What the answers so far add up to."""
    failed: bool = False
    """Whether bad answers reached their threshold since the start."""
    asked: float | None = None
    """When the last question was asked."""
    asking: bool = False
    """Whether an answer is outstanding."""
    run: int = 0
    """Length of the run of equal answers at the end: positive if good, negative if bad."""

    def is_due(self, now: float) -> bool:
        """Tell whether to ask now."""
        if self.asking:
            return False
        if self.asked is None:
            return now - self.started >= self.probe.initial_delay_seconds
        # Kubernetes may ask a container that is not ready more often than its period says.
        hurry = self.probe.kind == "readiness" and not self.verdict
        period = min(1, self.probe.period_seconds) if hurry else self.probe.period_seconds
        return now - self.asked >= period

    def ask(self, now: float) -> None:
        """Note that a question is on its way."""
        self.asked, self.asking = now, True

    def answer(self, *, good: bool) -> bool:
        """Take an answer; tell whether the verdict changed, or a failure was first established."""
        self.asking = False
        if good:
            self.run = max(self.run, 0) + 1
            if self.run < self.probe.success_threshold or self.verdict:
                return False
            self.verdict = True
            return True
        self.run = min(self.run, 0) - 1
        if -self.run < self.probe.failure_threshold:
            return False
        changed = self.verdict or not self.failed
        self.verdict, self.failed = False, True
        return changed


def decode(container: Json) -> dict[Kind, Probe]:
    """Read the probes of a container.

    Raises:
        PodConfigError: A probe asks in a way that a local pod cannot answer, or a port has no number.
    """
    return {
        kind: _probe(kind, mapping(container, f"{kind}Probe"), container)
        for kind in KINDS
        if dig(container, f"{kind}Probe") is not None
    }


def start(probes: Mapping[Kind, Probe], now: float) -> dict[Kind, Prober]:
    """Begin to probe a container that has just started: alive until proven dead, else unproven."""
    return {
        kind: Prober(probe=probe, started=now, verdict=kind == "liveness")
        for kind, probe in probes.items()
    }


def ask(probe: Probe, pod_ip: str) -> str:
    """Ask once. Returns what is wrong, or nothing.

    Source: kubelet, an HTTP status from 200 to 399 is success; a redirect is not followed.
    """
    host = probe.host or pod_ip
    try:
        if probe.path is None:
            socket.create_connection((host, probe.port), probe.timeout_seconds).close()
            return ""
        return _ask_http(probe, host, probe.path)
    except (OSError, http.client.HTTPException) as error:
        return f"{type(error).__name__}: {error}"


def _ask_http(probe: Probe, host: str, path: str) -> str:
    connection: http.client.HTTPConnection
    if probe.scheme == "HTTPS":
        context = ssl.create_default_context()
        context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
        connection = http.client.HTTPSConnection(
            host, probe.port, timeout=probe.timeout_seconds, context=context
        )
    else:
        connection = http.client.HTTPConnection(host, probe.port, timeout=probe.timeout_seconds)
    try:
        connection.request("GET", path, headers={"User-Agent": "kube-probe", **probe.headers})
        response = connection.getresponse()
        if 200 <= response.status < 400:
            return ""
        body = response.read(200).decode(errors="replace").strip()
        return f"HTTP status {response.status}" + (f": {body}" if body else "")
    finally:
        connection.close()


def _probe(kind: Kind, content: Json, container: Json) -> Probe:
    http_get = dig(content, "httpGet")
    action = http_get if http_get is not None else dig(content, "tcpSocket")
    if action is None:
        raise PodConfigError(
            f"the {kind} probe is neither httpGet nor tcpSocket, the two that local pods can have"
        )
    headers = {dig(each, "name"): dig(each, "value") for each in items(action, "httpHeaders")}
    return Probe(
        kind=kind,
        port=_port(dig(action, "port"), container),
        path=None if http_get is None else dig(http_get, "path") or "/",
        scheme=dig(action, "scheme") or "HTTP",
        host=dig(action, "host"),
        headers=headers,
        initial_delay_seconds=content.get("initialDelaySeconds") or 0,
        period_seconds=content.get("periodSeconds") or 10,
        timeout_seconds=content.get("timeoutSeconds") or 1,
        success_threshold=content.get("successThreshold") or 1,
        failure_threshold=content.get("failureThreshold") or 3,
    )


def _port(value: Any, container: Json) -> int:
    if isinstance(value, int):
        return value
    for port in items(container, "ports"):
        if dig(port, "name") == value:
            return dig(port, "containerPort")
    if str(value).isdecimal():
        return int(value)
    raise PodConfigError(f"a probe asks port {value!r}, and no port of the container has that name")
