"""The probes of one run of a container: asks them side by side and keeps what they add up to."""

import logging
import queue
import threading
from collections.abc import Callable
from dataclasses import dataclass

from daiku_local.agent import probes
from daiku_local.agent.objects import Json
from daiku_local.agent.probes import Kind, Prober

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class Subject:
    """Who is probed."""

    name: str
    """The pod, for log lines."""
    container: Json
    """Its container's manifest."""
    ip: str
    """Its address."""
    wake: Callable[[], None]
    """Called when an answer has come."""


class Probing:
    """Probes of one run; each question has a thread, because an answer may take long."""

    def __init__(self, subject: Subject, now: float) -> None:
        self._subject = subject
        self._probers = probes.start(probes.decode(subject.container), now)
        self._answers: queue.SimpleQueue[tuple[Kind, str]] = queue.SimpleQueue()

    @property
    def started(self) -> bool:
        """Whether the startup probe has succeeded, or there is none."""
        startup = self._probers.get("startup")
        return startup is None or startup.verdict

    @property
    def ready(self) -> bool:
        """Whether the container has started and its readiness probe says so, or there is none."""
        readiness = self._probers.get("readiness")
        return self.started and (readiness is None or readiness.verdict)

    def presume(self, *, started: bool, ready: bool) -> None:
        """Take over what was true of a process before this agent knew it."""
        for kind, holds in (("startup", started), ("readiness", ready)):
            if holds and kind in self._probers:
                self._probers[kind].verdict = True

    def step(self, now: float) -> str:
        """Take answers and ask what is due. Returns why the container must be stopped, or nothing."""
        blame = self._take_answers()
        for kind, prober in self._probers.items():
            is_its_turn = not self.started if kind == "startup" else self.started
            if is_its_turn and prober.is_due(now):
                prober.ask(now)
                threading.Thread(
                    target=self._ask, args=(prober,), name=f"{kind} probe", daemon=True
                ).start()
        return blame

    def _ask(self, prober: Prober) -> None:
        problem = probes.ask(prober.probe, self._subject.ip)
        self._answers.put((prober.probe.kind, problem))
        self._subject.wake()

    def _take_answers(self) -> str:
        blame = ""
        while not self._answers.empty():
            kind, problem = self._answers.get()
            if not self._probers[kind].answer(good=not problem):
                continue
            text = (
                f"its {kind} probe failed: {problem}" if problem else f"its {kind} probe succeeds"
            )
            _log.info("pod %s: %s", self._subject.name, text)
            if problem and kind != "readiness":
                blame = text
        return blame
