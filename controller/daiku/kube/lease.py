"""Who may act: the one process that holds the Lease `karpenter-leader-election`.

Karpenter uses the same Lease, so that the two can never both act. A holder that is not Daiku and still renews is a
reason to refuse to start; one that stopped renewing is succeeded. Fencing: `is_held` becomes False by itself when
renewal has not worked for `RENEW_SECONDS`, well before anybody else may take the Lease, and every write asks it first.

Clocks of other machines are never trusted: a Lease counts as dead when it has not *changed* for its own duration as
measured here.
"""

import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, Final

import msgspec

from daiku.kube import errors
from daiku.kube.client import Client
from daiku.telemetry import log, metrics

DURATION_SECONDS: Final = 15
"""How long a Lease outlives its last renewal."""
RENEW_SECONDS: Final = 10.0
"""How long renewal may fail before this process stops acting."""
RETRY_SECONDS: Final = 2.0
IDENTITY_PREFIX: Final = "daiku_"
"""Holders whose identity begins like this are Daiku's own."""

_log = log.get("lease")
_decoder = msgspec.json.Decoder(dict[str, Any])


class ForeignHolderError(Exception):
    """Another autoscaler runs in this cluster."""


class LeaseLostError(Exception):
    """This process held the Lease and could not renew it."""


@dataclass(slots=True)
class Lease:
    """This process's claim to the Lease. `run` in a thread of its own; anybody may ask `is_held`."""

    client: Client
    namespace: str
    name: str
    identity: str
    """Begins with IDENTITY_PREFIX and names no other process."""
    stop: threading.Event
    now: Callable[[], datetime]
    monotonic: Callable[[], float] = time.monotonic
    """Seconds that only ever grow."""
    held: threading.Event = field(default_factory=threading.Event)
    """Set when the Lease is ours for the first time; never cleared, because losing it ends the process."""
    _renewed: float = float("-inf")
    _seen: tuple[Any, ...] = ()
    _seen_since: float = 0.0
    _newest: tuple[int, str] = (0, "")
    """Transitions and time of renewal of the newest state that was read."""
    _back_since: float | None = None
    """Since when the Lease is older than that; None when it is not."""
    _announced: str = ""

    @property
    def path(self) -> str:
        """Path of the Lease object."""
        return f"/apis/coordination.k8s.io/v1/namespaces/{self.namespace}/leases/{self.name}"

    def is_held(self) -> bool:
        """Whether this process may write now."""
        return self.monotonic() - self._renewed < RENEW_SECONDS

    def run(self) -> None:
        """Wait for the Lease, then renew it until `stop` is set.

        Raises:
            ForeignHolderError: Somebody else than Daiku holds it and renews it.
            LeaseLostError: It was ours, and could not be renewed in time.
        """
        while not self.stop.is_set():
            self.step()
            self.stop.wait(RETRY_SECONDS)

    def step(self) -> None:
        """Take or renew the Lease once, if that is allowed; raises what `run` raises."""
        # Whoever stood still for so long must not go on with what it decided before, even if nobody else took over.
        self._check_held()
        began = self.monotonic()
        try:
            if self._try():
                self._renewed = began
                if not self.held.is_set():
                    _log.info(
                        "leading", lease=f"{self.namespace}/{self.name}", identity=self.identity
                    )
                    metrics.LEADER.set(1)
                    self.held.set()
            elif self.held.is_set():
                raise LeaseLostError(
                    f"lease {self.namespace}/{self.name} is held by {self._seen[0]!r} now"
                )
        except (errors.Conflict, errors.AlreadyExists):
            pass
        except errors.KubeError as error:
            _log.warning("lease not renewed", error=str(error))
        self._check_held()

    def _check_held(self) -> None:
        if self.held.is_set() and not self.is_held():
            raise LeaseLostError(
                f"lease {self.namespace}/{self.name} could not be renewed for {RENEW_SECONDS:.0f} s"
            )

    def release(self) -> None:
        """Give the Lease back, so that a standby need not wait for it to run out."""
        if not self.held.is_set():
            return
        self._renewed = float("-inf")
        metrics.LEADER.set(0)
        try:
            found = _decoder.decode(self.client.get(self.path))
            if found["spec"].get("holderIdentity") != self.identity:
                return
            found["spec"] |= {
                "holderIdentity": "",
                "leaseDurationSeconds": 1,
                "renewTime": _micro(self.now()),
            }
            self.client.replace(self.path, found)
        except errors.KubeError as error:
            _log.warning("lease not released; it runs out by itself", error=str(error))

    def _try(self) -> bool:
        """Take or renew the Lease if that is allowed; whether it is ours now."""
        try:
            found = _decoder.decode(self.client.get(self.path))
        except errors.NotFound:
            if self._may_be_held({}):
                return False
            self._create()
            return True
        spec: dict[str, Any] = found.get("spec") or {}
        holder: str = spec.get("holderIdentity") or ""
        is_back = self._may_be_held(spec)
        if is_back if holder in {"", self.identity} else self._is_alive(holder, spec):
            return False
        now = _micro(self.now())
        taken = holder != self.identity
        found["spec"] = spec | {
            "holderIdentity": self.identity,
            "leaseDurationSeconds": DURATION_SECONDS,
            "renewTime": now,
            "acquireTime": now if taken else spec.get("acquireTime", now),
            "leaseTransitions": (spec.get("leaseTransitions") or 0) + int(taken),
        }
        self.client.replace(self.path, found)
        return True

    def _create(self) -> None:
        now = _micro(self.now())
        spec = {
            "holderIdentity": self.identity,
            "leaseDurationSeconds": DURATION_SECONDS,
            "acquireTime": now,
            "renewTime": now,
            "leaseTransitions": 0,
        }
        body = {
            "apiVersion": "coordination.k8s.io/v1",
            "kind": "Lease",
            "metadata": {"name": self.name, "namespace": self.namespace},
            "spec": spec,
        }
        self.client.create(self.path.rpartition("/")[0], body)

    def _may_be_held(self, spec: dict[str, Any]) -> bool:
        """Whether the Lease is older than it was, or gone: whoever held it since does not know that yet.

        So it is after a backup of etcd was restored. Who holds it goes on with what is there.
        """
        state = (spec.get("leaseTransitions") or 0, spec.get("renewTime") or "")
        if self.held.is_set() or state >= self._newest:
            self._newest, self._back_since = max(state, self._newest), None
            return False
        if self._back_since is None:
            self._back_since = self.monotonic()
        return self.monotonic() - self._back_since < DURATION_SECONDS

    def _is_alive(self, holder: str, spec: dict[str, Any]) -> bool:
        """Whether the holder renewed within the Lease's duration, by our clock.

        Raises:
            ForeignHolderError: It did, and it is not Daiku.
        """
        state = (holder, spec.get("renewTime"), spec.get("leaseTransitions"))
        renewed_before_our_eyes = (
            bool(self._seen) and self._seen[0] == holder and self._seen != state
        )
        if state != self._seen:
            self._seen, self._seen_since = state, self.monotonic()
        if renewed_before_our_eyes and not holder.startswith(IDENTITY_PREFIX):
            raise ForeignHolderError(
                f"another autoscaler runs in this cluster: {holder!r} holds and renews the Lease "
                f"{self.namespace}/{self.name}. Only one of Karpenter and Daiku may run: scale the other "
                f"Deployment to 0 (kubectl -n {self.namespace} get deployments), then start Daiku again"
            )
        if self._announced != holder:
            self._announced = holder
            _log.info("standing by", lease=f"{self.namespace}/{self.name}", holder=holder)
        return self.monotonic() - self._seen_since < (
            spec.get("leaseDurationSeconds") or DURATION_SECONDS
        )


def _micro(value: datetime) -> str:
    return value.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")
