"""A live cluster that a view follows.

A person who may not read one kind still sees the rest: what is missing is a note, and only without Nodes there is
nothing to see. Prices come in a thread of their own, because a cloud takes seconds to say them.
"""

import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

from daiku.api import kinds
from daiku.cli import event_log, leader, surroundings
from daiku.cli.event_log import Said
from daiku.cli.leader import Word
from daiku.cli.viewing import rows
from daiku.cli.viewing.ledger import Ledger, Machine
from daiku.kube import credentials, errors
from daiku.kube.client import Client
from daiku.kube.watch import Watcher
from daiku.runtime.inbox import Inbox
from daiku.telemetry import log

WATCHED: Final = (kinds.NODES, kinds.NODE_CLAIMS, kinds.PODS)
PATIENCE_SECONDS: Final = 30.0
"""How long the first lists may take."""
TOLD_SECONDS: Final = 5.0
"""How old the events of a node that is looked at may be, and what the controller said."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Told:
    """What was said of a node."""

    said: tuple[Said, ...] = ()
    """The newest first."""
    note: str = "events are being read"
    """Why there is nothing; empty when there is."""
    read: float = 0.0
    """Of the monotonic clock: when it was asked for last."""


class NoViewError(Exception):
    """There is nothing to show; the message says why and what to do."""


class Live:
    """A cluster that is followed until `close`."""

    def __init__(self, environ: Mapping[str, str], price: rows.PriceOf | None) -> None:
        """Find the cluster.

        Args:
            environ: Environment variables: KUBECONFIG, and credentials of the cloud for prices.
            price: What offerings cost; None: the cloud is asked.

        Raises:
            NoViewError: No cluster is named.
        """
        try:
            self._client = Client(credentials.Credentials(environ))
        except credentials.NoClusterError as error:
            raise NoViewError(
                f"{surroundings.said(error)}; or look at a saved cluster with --from FILE (made by `daiku snapshot`)"
            ) from error
        # Watchers say what is wrong in their log; here it is a note on the screen.
        log.configure("error")
        self._environ = environ
        self._stop = threading.Event()
        self._inbox = Inbox()
        self._watchers = [
            Watcher(self._client, kind, self._inbox.put, self._stop) for kind in WATCHED
        ]
        self._machines: list[Machine] = []
        self._is_priced = price is not None
        self._price: rows.PriceOf = price or _unknown
        self._price_note = "" if price else "prices are being read"
        self._told: dict[str, Told] = {}
        """Name of a node -> what was said of it; only those that were looked at."""
        self._word = Word(why="the controller is being asked")
        self._word_read = float("-inf")
        self._asking_leader: threading.Thread | None = None
        self.ledger = Ledger()
        """What is known now."""

    @property
    def price(self) -> rows.PriceOf:
        """What offerings cost, as far as the cloud has said."""
        return self._price

    @property
    def notes(self) -> list[str]:
        """What is missing, and why."""
        problems = [
            f"without {watcher.kind.plural}: {watcher.problem}"
            for watcher in self._watchers
            if watcher.problem
        ]
        return [*problems, *([self._price_note] if self._price_note else [])]

    def word(self) -> Word:
        """What the controller that leads said last; it is asked again in the background."""
        if time.monotonic() - self._word_read > TOLD_SECONDS:
            self._word_read = time.monotonic()
            self._asking_leader = threading.Thread(
                target=self._ask_leader, name="leader", daemon=True
            )
            self._asking_leader.start()
        return self._word

    def open(self, step: Callable[[str, int, int], None], *, prices: bool) -> None:
        """Wait for the first lists.

        Args:
            step: Is told what is waited for.
            prices: Whether to wait for prices too, and for the controller's answer.

        Raises:
            NoViewError: Nodes cannot be read.
        """
        for watcher in self._watchers:
            threading.Thread(
                target=watcher.run, name=f"watch-{watcher.kind.name}", daemon=True
            ).start()
        deadline = time.monotonic() + PATIENCE_SECONDS
        while behind := [w for w in self._watchers if not (w.listed.is_set() or w.problem)]:
            step(f"reading {behind[0].kind.plural}", len(WATCHED) - len(behind), len(WATCHED))
            self.drain(0.1)
            if time.monotonic() > deadline:
                raise NoViewError(
                    f"the API server has not listed {behind[0].kind.plural} within {PATIENCE_SECONDS:.0f} s; "
                    "see whether `kubectl get --raw /readyz` answers"
                )
        self.drain(0)
        self._machines = self.ledger.machines()
        nodes = self._watchers[0]
        if not nodes.listed.is_set():
            raise NoViewError(f"nodes cannot be read: {nodes.problem}")
        self.word()
        asked = threading.Thread(target=self._ask_prices, name="prices", daemon=True)
        if self._is_priced or not self._machines:
            self._price_note = ""
        else:
            asked.start()
        if prices and self._asking_leader is not None:
            step("asking the controller", len(WATCHED) - 1, len(WATCHED))
            self._asking_leader.join(PATIENCE_SECONDS)
        if prices and asked.is_alive():
            step("reading prices", len(WATCHED) - 1, len(WATCHED))
            asked.join(PATIENCE_SECONDS)

    def drain(self, timeout_seconds: float) -> bool:
        """Take in what has happened; whether anything has."""
        found = self._inbox.take(timeout_seconds)
        for event in found:
            self.ledger.apply(event)
        return bool(found)

    def told(self, node: str, claim: str) -> Told:
        """What was said of a node and its NodeClaim, as far as it has been read; it is read again in the background.

        Args:
            node: Name of the Node.
            claim: Name of the NodeClaim; empty when there is none.
        """
        known = self._told.get(node)
        if known is None or time.monotonic() - known.read > TOLD_SECONDS:
            self._told[node] = replace(known or Told(), read=time.monotonic())
            names = dict.fromkeys(name for name in (node, claim) if name)
            asked = threading.Thread(
                target=self._ask_events, args=(node, [*names]), name="events", daemon=True
            )
            asked.start()
        return self._told[node]

    def close(self) -> None:
        """Stop to follow."""
        self._stop.set()

    def _ask_events(self, node: str, names: Sequence[str]) -> None:
        try:
            said = [
                each
                for name in names
                for each in event_log.read(self._client, f"involvedObject.name={name}")
                if each.kind in {"Node", "NodeClaim"}
            ]
        except errors.KubeError as error:
            note, said = f"without events: {error}", list[Said]()
        else:
            note = "" if said else "no events"
        said.sort(key=lambda each: each.at, reverse=True)
        self._told[node] = Told(said=tuple(said), note=note, read=time.monotonic())

    def _ask_leader(self) -> None:
        self._word = leader.ask(self._client, self._environ)
        self._word_read = time.monotonic()

    def _ask_prices(self) -> None:
        # boto3 takes a third of a second, which the first frame should not wait for.
        from daiku.cli.viewing import pricing  # noqa: PLC0415

        try:
            self._price = rows.price_table(pricing.catalogue(self._machines, self._environ))
            self._price_note = ""
        except pricing.NoPricesError as error:
            self._price_note = f"without prices: {error}"


def _unknown(_instance_type: str, _zone: str, _capacity_type: str) -> None:
    return None
