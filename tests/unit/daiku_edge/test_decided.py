"""What a controller answers when it is asked what it decided, from ticks as they are to bytes over HTTP."""

import http.client
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest
from tests import build
from tests.running import free_port

from daiku.api import decisions
from daiku.api.decisions import Decisions, DecisionsError
from daiku.commands import Announce
from daiku.model import labels
from daiku.report import Kept, Look, Report, Unschedulable
from daiku.runtime import decided, health
from daiku.runtime.decided import Telling, Tick
from daiku.settings import Settings
from daiku.state.inflight import Hold
from daiku.tick import Plan, tick

NOW = build.NOW + timedelta(hours=1)
IDENTITY = "daiku_pod-1_abcd"
DAY = {labels.DO_NOT_DISRUPT: "true"}


def ticked(*objects: Any) -> Tick:
    """What a tick says of a cluster that has just been listed."""
    cluster = build.cluster(build.node_pool(), build.node_class(), *objects)
    snapshot = cluster.snapshot(NOW)
    plan = tick(snapshot, cluster.catalogue, Settings(), NOW)
    return Tick(snapshot=snapshot, plan=plan, at=NOW, next_at=plan.wake_at)


def said(last: Tick | None, *, leads: bool = True, later: timedelta = timedelta()) -> Decisions:
    telling = Telling(identity=IDENTITY, settings=Settings(), leads=lambda: leads)
    if last is not None:
        telling.hear(last)
    return telling.told(NOW + later)


def guarded(name: str = "default-aaaaa") -> list[Any]:
    """A node with a pod that nobody may disturb."""
    claim = build.node_claim(name)
    node = build.node(claim=claim)
    return [claim, node, build.pod(f"db-{name}", node=node.meta.name, annotations=DAY)]


def reported(base: Tick, **changed: Any) -> Tick:
    """The same tick with another report."""
    report = replace(base.plan.report, **changed)
    return replace(base, plan=replace(base.plan, report=report))


def test_a_kept_node_is_told_in_the_words_of_its_event() -> None:
    last = ticked(*guarded())

    (kept,) = said(last).kept

    events = [c.message for c in last.plan.commands if isinstance(c, Announce)]
    assert kept.message in events
    assert (kept.node_claim, kept.node) == ("default-aaaaa", "node-default-aaaaa")
    assert (kept.node_pool, kept.reason) == ("default", "PodDoNotDisrupt")
    assert (kept.decided, kept.until) == (NOW, None)


def test_the_age_is_told_by_the_clock_of_the_controller() -> None:
    found = said(ticked(), later=timedelta(seconds=3.4))

    assert found.age_seconds == pytest.approx(3.4)  # pyright: ignore[reportUnknownMemberType]
    assert found.at == NOW


def test_a_node_that_goes_is_told_with_when() -> None:
    claim = build.node_claim("default-aaaaa")
    pods = [build.pod("web", node="node-default-aaaaa", cpu="100m")]

    found = said(ticked(claim, build.node(claim=claim), *pods))

    (resting,) = found.proposals
    assert resting.until - resting.decided == timedelta(seconds=15)
    assert found.going == {"default-aaaaa": resting.sentence}


def test_an_empty_node_that_goes_at_once_is_not_told_as_kept() -> None:
    claim = build.node_claim("default-aaaaa")

    found = said(ticked(claim, build.node(claim=claim)))

    assert list(found.going) == ["default-aaaaa"]
    assert found.kept == ()


def test_a_node_that_was_passed_over_is_told_as_it_was_when_its_turn_was() -> None:
    base, earlier = ticked(*guarded()), NOW - timedelta(seconds=20)
    remembered = Kept(node_claim="default-aaaaa", reason="Unconsolidatable", message="it is full")
    look = Look(at=earlier, changes=1, kept=(remembered,), complete=True)
    passing = Kept(node_claim="default-aaaaa", reason="Waits", message="later")

    (kept,) = said(reported(base, kept=(passing,), looks={"consolidation": look})).kept

    assert (kept.reason, kept.message, kept.decided) == ("Unconsolidatable", "it is full", earlier)


def test_a_node_that_may_go_when_it_is_older_is_told_with_when() -> None:
    claim = build.node_claim("default-aaaaa", since=NOW - timedelta(seconds=10))

    (kept,) = said(ticked(claim, build.node(claim=claim))).kept

    assert (kept.reason, kept.until) == ("TooYoung", NOW + timedelta(seconds=20))


def test_what_an_earlier_pass_found_no_place_for_is_told_while_nothing_is_planned() -> None:
    base = ticked()
    stuck = Unschedulable(pods=("shop/web",), blockers=())
    last = replace(base, snapshot=replace(base.snapshot, unschedulable=(stuck,)))

    assert said(last).unschedulable == (stuck,)
    assert said(reported(last, planned_pods=True)).unschedulable == ()


def test_a_pod_that_fits_nowhere_is_told_with_what_blocks_it() -> None:
    big = build.pod("big", cpu="900")
    cluster = build.cluster(build.node_pool(), build.node_class(), big)
    cluster.snapshot(NOW)
    snapshot = cluster.snapshot(NOW + timedelta(seconds=10))
    plan = tick(snapshot, cluster.catalogue, Settings(), snapshot.at)

    (found,) = said(Tick(snapshot=snapshot, plan=plan, at=NOW, next_at=None)).unschedulable

    assert found.pods == ("default/big",)
    assert found.blockers[0].reason == "InsufficientResources"


def test_commands_that_fail_are_told_with_the_words_and_when_they_are_tried_again() -> None:
    base, again = ticked(), NOW + timedelta(seconds=8)
    holds = {
        "Launch/a": Hold(key="Launch/a", since=NOW, until=again, failures=3, why="no capacity"),
        "Launch/b": Hold(key="Launch/b", since=NOW, until=None),
        "Event/Pod/x": Hold(key="Event/Pod/x", since=NOW, until=None),
        "Node/c": Hold(key="Node/c", since=NOW, until=again),
    }

    found = said(replace(base, snapshot=replace(base.snapshot, holds=holds)))

    assert [(f.key, f.failures, f.why, f.until) for f in found.failing] == [
        ("Launch/a", 3, "no capacity", again)
    ]
    assert [c.key for c in found.commands if not c.kind] == ["Launch/b"]


@pytest.mark.parametrize("last", [ticked(*guarded()), None], ids=["once led", "never led"])
def test_a_standby_says_that_it_does_not_lead_and_nothing_else(last: Tick | None) -> None:
    found = said(last, leads=False)

    assert (found.leading, found.identity, found.at) == (False, IDENTITY, None)
    assert (found.kept, found.age_seconds) == ((), 0.0)


def test_long_lists_are_cut_and_what_is_cut_is_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(decided, "LISTED_MOST", 3)
    kept = [node for name in "abcde" for node in guarded(f"default-{name}")]
    groups = (
        Unschedulable(pods=("a/1", "a/2"), blockers=()),
        Unschedulable(pods=("b/1", "b/2", "b/3"), blockers=()),
        Unschedulable(pods=("c/1",), blockers=()),
    )
    places = {f"default/web-{n}": "node" for n in range(4)}
    last = reported(ticked(*kept), unschedulable=groups, planned_pods=True, placements=places)

    found = said(last)

    assert [len(found.kept), len(found.placements)] == [3, 3]
    assert [each.pods for each in found.unschedulable] == [("a/1", "a/2"), ("b/1",)]
    assert {n: found.omitted[n] for n in ("kept", "placements", "unschedulable")} == {
        "kept": 2,
        "placements": 1,
        "unschedulable": 3,
    }


def test_an_answer_is_made_once_a_tick_and_not_before_somebody_asks(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    made: list[Tick] = []
    real = decided.of_tick

    def counted(last: Tick, *rest: Any, **named: Any) -> Decisions:
        made.append(last)
        return real(last, *rest, **named)

    monkeypatch.setattr(decided, "of_tick", counted)
    telling = Telling(identity=IDENTITY, settings=Settings(), leads=lambda: True)
    first, second = ticked(), ticked(*guarded())
    telling.hear(first)
    telling.hear(second)

    assert made == []
    assert [telling.told(NOW + timedelta(seconds=n)).age_seconds for n in (1, 2)] == [1.0, 2.0]
    assert made == [second]


@contextmanager
def served(telling: Telling) -> Generator[int]:
    port = free_port()
    server = health.serve("127.0.0.1", port, {decisions.PATH: telling.answer})
    try:
        yield port
    finally:
        server.shutdown()
        server.server_close()


def asked(port: int, verb: str) -> tuple[int, str | None, bytes]:
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=5)
    try:
        connection.request(verb, decisions.PATH)
        answer = connection.getresponse()
        return answer.status, answer.getheader("Content-Type"), answer.read()
    finally:
        connection.close()


def test_it_is_served_to_who_gets_it_and_to_nobody_who_would_change_it() -> None:
    telling = Telling(identity=IDENTITY, settings=Settings(), leads=lambda: True)
    telling.hear(ticked(*guarded()))
    with served(telling) as port:
        answers = {verb: asked(port, verb) for verb in ("GET", "POST", "PUT", "DELETE")}

    status, kind, body = answers.pop("GET")
    found = decisions.decode(body)
    assert (status, kind, found.leading) == (200, "application/json", True)
    assert [each.reason for each in found.kept] == ["PodDoNotDisrupt"]
    assert [status for status, _, _ in answers.values()] == [501, 501, 501]


@pytest.mark.parametrize(
    ("content", "why"),
    [
        (b'{"schemaVersion": 2}', "the controller is newer than this command"),
        (b'{"schemaVersion": 1}', "not one of a controller"),
        (b"404 page not found", "not one of a controller"),
        (b"[]", "not one of a controller"),
    ],
)
def test_what_is_no_answer_is_refused_with_why(content: bytes, why: str) -> None:
    with pytest.raises(DecisionsError, match=why):
        decisions.decode(content)


def test_fields_that_a_later_release_adds_are_passed_over() -> None:
    known = decisions.encode(said(None))
    later = known[:-1] + b',"somethingNew":{"a":1}}'

    assert decisions.decode(later) == decisions.decode(known)


def test_an_empty_plan_has_nothing_to_tell() -> None:
    base = ticked()
    plan = Plan(commands=(), report=Report(), wake_at=None)

    found = said(replace(base, plan=plan, next_at=None))

    assert (found.kept, found.going, found.commands, found.next_at) == ((), {}, (), None)
