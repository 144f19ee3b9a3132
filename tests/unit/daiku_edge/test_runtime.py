"""The machinery around the core: order per key, fencing, bounds, and what a death of a thread means."""

import threading
import time
from collections.abc import Callable, Sequence
from typing import Any

import pytest

from daiku import commands, events
from daiku.kube import errors
from daiku.runtime.carrier import Carrier, NodeClassIndex, NotLeadingError
from daiku.runtime.executor import Executor
from daiku.runtime.inbox import Inbox
from daiku.runtime.threads import Supervisor

SECONDS_MAX = 10.0


class Slow:
    """A carrier that notes what it carries and takes its time."""

    def __init__(self, fail: Exception | None = None) -> None:
        self.order: list[str] = []
        self.busy: dict[str, int] = {}
        self.overlapped = False
        self.fail = fail
        self.lock = threading.Lock()

    def carry(self, command: commands.Command) -> Sequence[events.Event]:
        with self.lock:
            self.overlapped |= self.busy.get(command.key, 0) > 0
            self.busy[command.key] = self.busy.get(command.key, 0) + 1
        time.sleep(0.01)
        with self.lock:
            self.busy[command.key] -= 1
            self.order.append(f"{command.key}:{getattr(command, 'uid', '')}")
        if self.fail is not None:
            raise self.fail
        return ()


def _delete(name: str, number: int) -> commands.DeleteNode:
    return commands.DeleteNode(name=name, uid=str(number))


def _results(inbox: Inbox, count: int) -> list[events.Event]:
    found: list[events.Event] = []
    deadline = time.monotonic() + SECONDS_MAX
    while len(found) < count and time.monotonic() < deadline:
        found += inbox.take(0.1)
    return found


def _executor(carrier: Any, inbox: Inbox) -> Executor:
    made = Executor(carrier, inbox)
    made.start(Supervisor())
    return made


def test_commands_of_one_key_keep_their_order_and_never_overlap() -> None:
    carrier, inbox = Slow(), Inbox()
    executor = _executor(carrier, inbox)

    for number in range(20):
        executor.submit(_delete("a", number))
        executor.submit(_delete("b", number))

    assert len(_results(inbox, 40)) == 40
    for name in ("a", "b"):
        own = [entry for entry in carrier.order if entry.startswith(f"Node/{name}:")]
        assert own == [f"Node/{name}:{number}" for number in range(20)]
    assert not carrier.overlapped


def test_a_refused_command_comes_back_as_failed_with_how_long_to_wait() -> None:
    refusal = errors.TooMany("budget", retry_after_seconds=7.0)
    inbox = Inbox()

    _executor(Slow(refusal), inbox).submit(_delete("a", 1))

    (failed,) = _results(inbox, 1)
    assert isinstance(failed, events.Failed)
    assert failed.error is refusal
    assert failed.retry_after_seconds == 7.0


def test_closing_begins_nothing_more_and_waits_for_what_is_under_way() -> None:
    carrier, inbox = Slow(), Inbox()
    executor = _executor(carrier, inbox)
    for number in range(200):
        executor.submit(_delete("a", number))

    executor.close(SECONDS_MAX)
    carried = len(carrier.order)
    time.sleep(0.1)

    assert carried < 200
    assert len(carrier.order) <= carried + 1


def test_who_does_not_lead_writes_nothing() -> None:
    class Untouchable:
        def __getattr__(self, name: str) -> Callable[..., Any]:
            raise AssertionError(f"{name} was called")

    nobody: Any = Untouchable()
    carrier = Carrier(
        client=nobody,
        cloud=nobody,
        recorder=nobody,
        node_classes=NodeClassIndex(),
        may_write=lambda: False,
    )

    with pytest.raises(NotLeadingError, match="Node/a"):
        carrier.carry(_delete("a", 1))


def test_a_full_inbox_makes_who_puts_wait_until_somebody_takes() -> None:
    inbox = Inbox(events_max=2)
    done = threading.Event()

    def put_three() -> None:
        for name in ("a", "b", "c"):
            inbox.put(events.Gone(events.Pod, name))
        done.set()

    threading.Thread(target=put_three, daemon=True).start()
    assert not done.wait(0.2)
    first = inbox.take(1.0)
    assert done.wait(SECONDS_MAX)

    assert [getattr(e, "key", "") for e in [*first, *inbox.take(1.0)]] == ["a", "b", "c"]


def test_waking_ends_a_wait_though_nothing_happened() -> None:
    inbox = Inbox()
    threading.Timer(0.05, inbox.wake).start()
    began = time.monotonic()

    assert inbox.take(SECONDS_MAX) == []
    assert time.monotonic() - began < SECONDS_MAX / 2


@pytest.mark.parametrize(
    "run",
    [
        pytest.param(lambda: None, id="that ends"),
        pytest.param(lambda: 1 / 0, id="that fails"),
    ],
)
def test_a_thread_that_dies_ends_the_process(run: Callable[[], None]) -> None:
    supervisor = Supervisor()

    supervisor.start("victim", run)

    assert supervisor.stop.wait(SECONDS_MAX)
    assert supervisor.failure is not None


def test_a_thread_that_ends_because_the_process_stops_is_no_failure() -> None:
    supervisor = Supervisor()
    supervisor.stop.set()

    supervisor.start("victim", lambda: None).join(SECONDS_MAX)

    assert supervisor.failure is None
