"""What was asked for and has not been seen yet: commands under way, and the pauses after them.

The problem: between a command and its effect in the watches lies time in which a tick would ask for the same again.
The idea: every command has a key. While it runs, its key is held; when it is done, the key stays held until the
object it changed has been seen, or a short while; when it failed, for a growing pause. A tick plans nothing for a key
that is held. All of this is a cache: after a restart it is empty, and the commands are idempotent.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Final

from daiku import commands
from daiku.commands import Command
from daiku.model import quick, waking

_SETTLE: Final = timedelta(seconds=3)
"""How long a change may take to come back through a watch; then it is asked for again."""
_POLL: Final = timedelta(seconds=5)
"""Pause between two questions whether an instance is gone (Karpenter's interval)."""
_REPEAT: Final = timedelta(minutes=2)
"""The same announcement is not made twice within this (Karpenter's interval)."""
_BACKOFF_FIRST: Final = timedelta(seconds=1)
_NOMINATED: Final = timedelta(seconds=1)
"""How long after pods were nominated to a Node it shows whether that lasts."""
_BACKOFF_MOST: Final = timedelta(minutes=1)


@quick.made
@dataclass(frozen=True, slots=True, kw_only=True)
class Hold:
    """Why nothing is planned for a key now."""

    key: str
    since: datetime
    until: datetime | None
    """None: a command is under way."""
    failures: int = 0
    """How often in a row the command of this key has failed."""
    why: str = ""
    """The last failure, for people."""
    version: str = ""
    """Version that the last command made of the object of the key; the pause ends when it is seen."""


@dataclass(slots=True)
class _Running:
    command: Command
    since: datetime
    seen: str = ""
    """Version of its object as it was seen last since then; empty while it was not."""
    written: str = ""
    """Version that the command made of its object; empty when that is not known."""


@dataclass(slots=True)
class Inflight:
    """Keys of commands under way, and of commands that are not to be repeated yet. Part of `Cluster`."""

    running: dict[str, _Running] = field(default_factory=dict[str, _Running])
    pauses: dict[str, Hold] = field(default_factory=dict[str, Hold])
    _fresh: dict[str, datetime] = field(default_factory=dict[str, datetime])
    """Ends of the pauses that began after the last decision, which does not know of them."""

    @property
    def again_at(self) -> datetime | None:
        """When the first pause ends that no decision has taken into account; None when there is none."""
        # Asked many times between two decisions, and most often there is none.
        return min(self._fresh.values()) if self._fresh else None

    def begin(self, command: Command, now: datetime) -> None:
        """A command is handed to the executor."""
        self.running[command.key] = _Running(command, now)

    def done(self, command: Command, finished: datetime) -> bool:
        """A command was carried out; whether its key is free from now on."""
        running = self.running.pop(command.key, None)
        self.pauses.pop(command.key, None)
        pause = _pause_after(command)
        if pause is None:
            return True
        version = ""
        if running is not None:
            version = running.written
            # A command of two writes is seen twice, and what is planned after the first would conflict with the second.
            if running.seen and _is_as_new(running.seen, version):
                return True
        # Of many instances that end, several are asked about together.
        until = self._fresh[command.key] = waking.shared(finished + pause, pause)
        self.pauses[command.key] = Hold(
            key=command.key, since=finished, until=until, version=version
        )
        return False

    def written(self, key: str, version: str) -> None:
        """The command that is under way for a key made this version of its object."""
        if (running := self.running.get(key)) is not None:
            running.written = version

    def failed(
        self, key: str, error: Exception, finished: datetime, retry_after: timedelta | None = None
    ) -> None:
        """A command was not carried out: leave its key alone for as long as asked, or twice as long as last time."""
        self.running.pop(key, None)
        before = self.pauses.get(key)
        failures = 1 + (before.failures if before is not None else 0)
        growing = min(_BACKOFF_FIRST * 2 ** min(failures - 1, 16), _BACKOFF_MOST)
        until = self._fresh[key] = finished + (retry_after if retry_after is not None else growing)
        why = str(error) or type(error).__name__
        self.pauses[key] = Hold(key=key, since=finished, until=until, failures=failures, why=why)

    def observed(self, key: str, version: str) -> bool:
        """The object of a key was seen again, so what is planned next is planned on fresh knowledge.

        Returns:
            Whether that ended a pause.
        """
        running = self.running.get(key)
        if running is not None:
            running.seen = version
        pause = self.pauses.get(key)
        if pause is None or pause.failures > 1 or not _is_as_new(version, pause.version):
            return False
        del self.pauses[key]
        self._fresh.pop(key, None)
        return True

    def forget(self, key: str) -> None:
        """The object of a key is gone for good."""
        self.pauses.pop(key, None)
        self._fresh.pop(key, None)

    def held(self, now: datetime) -> Mapping[str, Hold]:
        """Every key for which nothing is to be planned at `now`: what is decided next knows all of them.

        A pause that is over is kept for a while, so that the next failure knows how many came before it.
        """
        self._fresh.clear()
        long_ago = now - 2 * _BACKOFF_MOST
        self.pauses = {
            k: pause
            for k, pause in self.pauses.items()
            if pause.until is None or pause.until > long_ago
        }
        held = {k: p for k, p in self.pauses.items() if p.until is None or p.until > now}
        for key, running in self.running.items():
            held[key] = Hold(key=key, since=running.since, until=None)
        return held


def _is_as_new(version: str, wanted: str) -> bool:
    """Whether a resource version is that of `wanted` or a later one of the same object.

    Source: KEP 5504; versions of one resource are numbers that grow.
    """
    if version.isdecimal() and wanted.isdecimal():
        return int(version) >= int(wanted)
    return not wanted or version == wanted


def _pause_after(command: Command) -> timedelta | None:
    """How long a key stays held after a command was carried out and no effect has been seen."""
    match command:
        case commands.TerminateInstance():
            return _POLL
        case commands.Announce():
            return _REPEAT
        case commands.Launch() | commands.CreateNodeClaim():
            return None
        case commands.PatchNode(only_nominates=True):
            # It is pods that change; kube-scheduler may take it off again.
            return _NOMINATED
        case _:
            return _SETTLE
