"""Who does not lead any more writes nothing, not even the rest of what it had begun; and who waits to lead, sleeps.

Most of these were found by the simulation (tests/simulation).
"""

import threading
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

import msgspec
import pytest
import structlog
from tests import build

from daiku import commands, events, tick
from daiku.kube import errors, lease
from daiku.kube.record import Recorder
from daiku.model.condition import Condition
from daiku.model.node import Node
from daiku.report import Report
from daiku.runtime import clock, loop
from daiku.runtime.carrier import Carrier, NodeClassIndex, NotLeadingError
from daiku.runtime.executor import Executor
from daiku.runtime.inbox import Inbox
from daiku.settings import Settings
from daiku.state.cluster import KINDS, Cluster
from daiku.telemetry import metrics
from daiku.tick import Plan

if TYPE_CHECKING:
    from collections.abc import Callable

    from daiku.runtime.decided import Tick

NOW = datetime(2026, 3, 2, 12, 0, tzinfo=UTC)


class Objects:
    """An API server of one object, which notes what is written."""

    def __init__(self) -> None:
        self.body: dict[str, Any] | None = None
        self.writes: list[str] = []
        self.after_read: Callable[[], None] = lambda: None

    def get(self, path: str) -> bytes:
        if self.body is None:
            raise errors.NotFound(path)
        self.after_read()
        return msgspec.json.encode(self.body)

    def create(self, path: str, body: dict[str, Any]) -> bytes:
        self.writes.append(f"POST {path}")
        if self.body is not None:
            self.after_read()
            raise errors.AlreadyExists(path)
        self.body = body
        return msgspec.json.encode(body)

    def replace(self, path: str, body: dict[str, Any]) -> bytes:
        self.writes.append(f"PUT {path}")
        self.body = body
        return msgspec.json.encode(body)

    def patch(self, path: str, _body: dict[str, Any]) -> bytes:
        self.writes.append(f"PATCH {path}")
        return msgspec.json.encode(self.body)


class Leading:
    """Whether this process leads."""

    def __init__(self) -> None:
        self.is_held = True

    def lose(self) -> None:
        self.is_held = False

    def __call__(self) -> bool:
        return self.is_held


def carrier(objects: Any, leading: Leading) -> Carrier:
    return Carrier(
        client=objects,
        cloud=objects,
        recorder=Recorder(objects, lambda: NOW),
        node_classes=NodeClassIndex(),
        may_write=leading,
    )


def test_a_command_ends_where_the_lease_does() -> None:
    """Reading before the write may take long, or the process may stand still in between."""
    objects, leading = Objects(), Leading()
    objects.body = {"metadata": {"name": "a", "resourceVersion": "1"}}
    objects.after_read = leading.lose
    ready = Condition(type="Launched", status="True")
    patch = commands.PatchNodeClaim(name="a", resource_version="1", conditions=(ready,))

    with pytest.raises(NotLeadingError):
        carrier(objects, leading).carry(patch)

    assert objects.writes == []


def test_an_event_is_not_updated_by_who_does_not_lead_any_more() -> None:
    objects, leading = Objects(), Leading()
    objects.body = {}
    objects.after_read = leading.lose
    said = commands.Announce(
        kind="Pod", namespace="default", name="a", uid="1", type="Normal", reason="X", message="y"
    )

    Recorder(objects, lambda: NOW, may_write=leading).announce(said)  # type: ignore[arg-type]

    assert [write.split()[0] for write in objects.writes] == ["POST"]


def test_who_stood_still_for_longer_than_its_lease_stops_even_if_nobody_took_over() -> None:
    """What it decided before it stood still is old."""
    seconds = [0.0]
    objects: Any = Objects()
    held = lease.Lease(
        client=objects,
        namespace="kube-system",
        name="x",
        identity=f"{lease.IDENTITY_PREFIX}a",
        stop=threading.Event(),
        now=lambda: NOW,
        monotonic=lambda: seconds[0],
    )
    held.step()
    seconds[0] = lease.RENEW_SECONDS + 1

    with pytest.raises(lease.LeaseLostError):
        held.step()

    assert not held.is_held()


def _lease(objects: Any, name: str, seconds: list[float]) -> lease.Lease:
    return lease.Lease(
        client=objects,
        namespace="kube-system",
        name="x",
        identity=f"{lease.IDENTITY_PREFIX}{name}",
        stop=threading.Event(),
        now=lambda: NOW + timedelta(seconds=seconds[0]),
        monotonic=lambda: seconds[0],
    )


@pytest.mark.parametrize("then", ["the Lease is gone", "it was held by nobody", "it was another's"])
def test_a_lease_that_goes_back_to_what_it_was_is_not_taken_while_its_last_holder_may_believe_in_it(
    then: str,
) -> None:
    """So it is after a backup of etcd was restored; the holder finds that out when it renews."""
    seconds, objects = [0.0], Objects()
    leader, standby = _lease(objects, "a", seconds), _lease(objects, "b", seconds)
    leader.step()
    standby.step()
    seconds[0] = 2.0
    leader.step()
    standby.step()
    held: Any = objects.body
    long_ago = held["spec"] | {"renewTime": "2026-03-01T12:00:00.000000Z"}
    objects.body = {
        "the Lease is gone": None,
        "it was held by nobody": held | {"spec": long_ago | {"holderIdentity": ""}},
        "it was another's": held | {"spec": long_ago | {"holderIdentity": "daiku_dead"}},
    }[then]

    taken: list[float] = []
    while not taken:
        standby.step()
        assert not (leader.is_held() and standby.is_held())
        taken += [seconds[0]] if standby.is_held() else []
        seconds[0] += lease.RETRY_SECONDS

    assert 2.0 + lease.DURATION_SECONDS <= taken[0] <= 2.0 + lease.DURATION_SECONDS + 4


def test_whoever_holds_a_lease_that_goes_back_renews_it() -> None:
    seconds, objects = [0.0], Objects()
    leader = _lease(objects, "a", seconds)
    leader.step()
    objects.body = None
    seconds[0] = 2.0

    leader.step()

    made: Any = objects.body
    assert made["spec"]["holderIdentity"] == "daiku_a"
    assert leader.is_held()


@pytest.mark.parametrize(
    ("error", "unsure"),
    [
        pytest.param(errors.Unreachable("no answer"), True, id="no answer"),
        pytest.param(errors.Conflict("changed"), False, id="an answer"),
    ],
)
def test_a_failure_says_whether_the_command_may_have_been_carried_out(
    error: errors.KubeError, *, unsure: bool
) -> None:
    class Refusing:
        def carry(self, _command: commands.Command) -> None:
            raise error

    inbox, refusing = Inbox(), Refusing()
    executor = Executor(refusing, inbox)  # type: ignore[arg-type]

    executor.carry(commands.DeleteNode(name="a", uid="1"))

    (failed,) = inbox.take(0.0)
    assert isinstance(failed, events.Failed)
    assert failed.unsure is unsure


@pytest.mark.parametrize(
    ("leads", "sleeps"),
    [
        pytest.param(False, True, id="a standby with news sleeps"),
        pytest.param(True, False, id="a leader with news decides at once"),
    ],
)
def test_how_long_the_owner_sleeps(*, leads: bool, sleeps: bool) -> None:
    owner = _owner(leads=leads)
    owner.is_synced = True

    assert (owner.wait_seconds() == loop.IDLE_SECONDS) is sleeps


@pytest.mark.parametrize(
    ("tick_seconds", "pause_seconds"),
    [
        pytest.param(0.01, loop.PACE_SECONDS - 0.01, id="a burst is decided on together"),
        pytest.param(0.4, 0.4, id="a tick that takes long leaves as much time to the others"),
        pytest.param(20.0, loop.PAUSE_MOST_SECONDS, id="but no more than that"),
    ],
)
def test_the_owner_pauses_after_a_tick(
    tick_seconds: float, pause_seconds: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    seconds = [100.0]

    def decide(*_args: object, **_fields: object) -> Plan:
        seconds[0] += tick_seconds
        return Plan(commands=(), report=Report(), wake_at=None)

    monkeypatch.setattr(clock, "monotonic", lambda: seconds[0])
    monkeypatch.setattr(tick, "tick", decide)
    owner = _owner(leads=True)
    owner.step(0.0)
    owner._dirty = True

    assert owner.wait_seconds() == pytest.approx(pause_seconds)


def test_a_leader_decides_nothing_beside_a_kind_that_has_to_be_listed_again() -> None:
    """After a restored backup Pods may be fresh and Nodes not: who goes on drains nodes that have lost their taint."""
    owner = _owner(leads=True)
    before = metrics.TICKS._value.get()

    owner.inbox.put(events.Outdated(Node))
    owner.step(0.0)
    assert metrics.TICKS._value.get() == before
    assert owner.wait_seconds() == loop.IDLE_SECONDS

    owner.inbox.put(events.Listed(Node, frozenset()))
    owner.step(0.0)
    assert metrics.TICKS._value.get() == before + 1


def test_what_another_controller_owns_is_left_alone_and_said_once() -> None:
    owner = _owner(leads=True, settings=Settings(node_class_kind=("example.com", "Other")))
    foreign = build.node_claim("theirs"), build.node_pool("their-pool")

    with structlog.testing.capture_logs() as told:
        for _ in range(3):
            for each in foreign:
                owner.inbox.put(events.Seen(each))
            owner.step(0.0)

    said = [line["name"] for line in told if line["event"].startswith("left alone")]
    assert said == ["theirs", "their-pool"]
    snapshot = owner.cluster.snapshot(NOW)
    assert (snapshot.state_nodes, snapshot.node_pools) == ((), ())


@pytest.mark.parametrize("leads", [True, False], ids=["leads", "stands by"])
def test_what_was_decided_is_handed_over_by_who_decides(*, leads: bool) -> None:
    heard: list[Tick] = []
    owner = _owner(leads=leads)
    owner.decided = heard.append

    owner.step(0.0)

    assert len(heard) == int(leads)
    for each in heard:
        assert each.snapshot.synced
        assert each.next_at is not None
        assert each.next_at <= each.at + loop.LOOK_EVERY


def _owner(*, leads: bool, settings: Settings | None = None) -> loop.Loop:
    """The owner of a state in which every kind is listed and nothing is there."""
    inbox = Inbox()
    owner = loop.Loop(
        cluster=Cluster(settings or Settings()),
        settings=settings or Settings(),
        inbox=inbox,
        executor=Executor(None, inbox),  # type: ignore[arg-type]
        node_classes=NodeClassIndex(),
        may_act=lambda: leads,
        stopping=lambda: False,
        node_classes_changed=lambda: None,
    )
    for kind in KINDS:
        owner.cluster.apply(events.Listed(kind, frozenset()))
    return owner
