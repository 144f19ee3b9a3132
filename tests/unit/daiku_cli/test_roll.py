from dataclasses import replace

import pytest
from tests.build import NOW

from daiku.cli.rolling import following, rounds
from daiku.cli.rolling.rounds import Mark, Member, Selection

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
