import json
from dataclasses import replace
from typing import Any, cast

import pytest
from tests.build import NOW

from daiku.api import decode
from daiku.cli.rolling import following, holding, rounds
from daiku.cli.rolling.rounds import Mark, Member, Selection
from daiku.kube import errors

STARTED = "2026-03-02T12:00:00Z"
OLD, NEW = "2026-03-01T00:00:00Z", "2026-03-02T12:30:00Z"


def member(
    name: str, *, mark: Mark | None = None, created: str = OLD, going: bool = False
) -> Member:
    return Member(
        name=name, node=f"ip-{name}", pool="general", kubelet="v1.33.4-eks-1", created=created, going=going, mark=mark
    )  # fmt: skip


@pytest.mark.parametrize("paused", [False, True])
def test_a_mark_says_what_was_written(paused: bool) -> None:
    mark = Mark(started=STARTED, total=12, paused=paused)

    assert Mark.read(str(mark)) == mark


@pytest.mark.parametrize("text", ["", "yes", "a/b", "paused", "paused/x/y/z"])
def test_what_nobody_here_wrote_is_no_mark(text: str) -> None:
    assert Mark.read(text) is None


@pytest.mark.parametrize(
    ("version", "wanted", "is_it"),
    [
        ("v1.33.4-eks-1", "1.33", True),
        ("v1.33.4-eks-1", "v1.33.4", True),
        ("v1.33.4", "1.3", False),
        ("v1.34.0", "1.33", False),
        ("", "1.33", False),
        ("v1.33.4", "", True),
    ],
)
def test_a_version_is_meant_by_its_beginning(version: str, wanted: str, is_it: bool) -> None:
    assert rounds.is_version(version, wanted) is is_it


def test_a_roll_begins_with_all_that_are_meant_and_counts_them() -> None:
    marks = rounds.begin([member("a"), member("b"), member("c", going=True)], NOW)

    assert marks == dict.fromkeys("ab", Mark(started=STARTED, total=2))


def test_a_second_run_goes_on_and_leaves_what_the_roll_has_made_alone() -> None:
    mark = Mark(started=STARTED, total=4, paused=True)

    marks = rounds.begin([member("a", mark=mark), member("b"), member("new", created=NEW)], NOW)

    # "b" was not reached when the first run was interrupted.
    assert marks == dict.fromkeys("ab", Mark(started=STARTED, total=4))


def test_a_pause_keeps_what_was_begun() -> None:
    mark = Mark(started=STARTED, total=4)

    assert rounds.paused(
        [member("a", mark=mark), member("b"), member("c", mark=mark, going=True)]
    ) == {"a": replace(mark, paused=True)}


def test_how_far_it_is_says_what_is_going() -> None:
    mark = Mark(started=STARTED, total=4)
    now = following.stand([member("a", mark=mark), member("b", mark=mark, going=True)])

    assert str(now) == "2 of 4 nodes replaced; going: ip-b"


def test_nodes_are_meant_by_pool_and_version() -> None:
    assert Selection(pools=("general",), kubelet="1.33").has(member("a"))
    assert not Selection(pools=("other",)).has(member("a"))
    assert not Selection(kubelet="1.32").has(member("a"))


class Cluster:
    """What holding reads of a cluster: its events, or that they may not be read."""

    def __init__(self, *events: tuple[str, str, str, str], denied: bool = False) -> None:
        self.events, self.denied = events, denied

    def list(self, _path: str, _query: object) -> list[decode.Page]:
        if self.denied:
            raise errors.Denied("events is forbidden")
        items = [
            {
                "metadata": {"name": "e"},
                "involvedObject": {"kind": kind, "name": name},
                "message": said,
                "lastTimestamp": at,
            }
            for kind, name, said, at in self.events
        ]
        return [_page(items)]


def _page(items: list[Any]) -> decode.Page:
    return decode.page(json.dumps({"metadata": {}, "items": items}).encode())


LATELY, LONG_AGO = "2026-03-02T11:58:00Z", "2026-03-02T11:30:00Z"
WAITS = "waits for PDB web: 0 disruptions allowed (default/web-1)"


def test_what_holds_a_roll_up_is_said_of_each_node() -> None:
    left = [replace(member("a", going=True), held=WAITS), member("b"), member("c"), member("d")]
    cluster = Cluster(
        ("NodeClaim", "b", "Pod default/db has do-not-disrupt", LATELY),
        ("Node", "ip-b", "the same again", LATELY),
        ("NodeClaim", "c", "long ago", LONG_AGO),
        ("NodePool", "general", "its budget is used up", LATELY),
    )

    assert holding.held(cast("Any", cluster), left, NOW) == [
        f"ip-a goes and {WAITS}",
        f"ip-b stays: Pod default/db has do-not-disrupt (said at {LATELY})",
    ]


def test_a_budget_is_what_holds_a_roll_up_of_which_no_node_goes() -> None:
    said = ("NodePool", "general", "No allowed disruptions", LATELY)

    assert holding.held(cast("Any", Cluster(said)), [member("a")], NOW) == [
        f"NodePool general: No allowed disruptions (said at {LATELY})"
    ]


def test_events_that_may_not_be_read_are_said_to_be_missing() -> None:
    held = holding.held(cast("Any", Cluster(denied=True)), [member("a")], NOW)

    assert held == ["what keeps nodes is not known: events is forbidden"]


def test_a_node_that_goes_says_what_its_conditions_say() -> None:
    conditions = [
        {"type": "Drained", "status": "Unknown", "message": WAITS},
        {"type": "VolumesDetached", "status": "True", "message": "none"},
    ]
    raw = {"metadata": {"name": "a"}, "status": {"nodeName": "n", "conditions": conditions}}

    class Nodes:
        def list(self, path: str) -> list[decode.Page]:
            items = [raw] if path.endswith("nodeclaims") else []
            return [_page(items)]

    assert [m.held for m in rounds.read(cast("Any", Nodes()))] == [WAITS]


def test_what_holds_a_node_up_is_said_once_when_it_lasts() -> None:
    said: list[str] = []
    follower = following.Follower(cast("Any", None), Selection(), print, print, said.append)

    for held in (["a", "b"], ["a"], ["a"], ["a", "b"], ["b"]):
        follower._tell(held)

    assert said == ["a", "b"]
