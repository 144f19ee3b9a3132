"""What `daiku view` and `daiku doctor` say of the controller's decisions."""

import json
from typing import Any

import pytest
from tests import build
from tests.build import NOW

from daiku.api.decisions import Decisions, Failing, KeptNode
from daiku.cli.doctoring import controller, examination
from daiku.cli.leader import Word
from daiku.cli.viewing import decided, rows
from daiku.cli.viewing.ledger import Machine
from daiku.report import Blocker, Unschedulable
from daiku.runtime import clock


def row(name: str) -> rows.Row:
    claim = build.node_claim(name)
    machine = Machine(node=build.node(claim=claim), claim=claim)
    return rows.rows([machine], lambda *_: 0.2, 0.0, NOW)[0]


def kept(name: str, reason: str = "PodDoNotDisrupt", **fields: Any) -> KeptNode:
    return KeptNode(
        node_claim=name,
        node=f"node-{name}",
        node_pool="default",
        reason=reason,
        message=f"pod default/db-{name} says so",
        decided=NOW,
        **fields,
    )


def word(**fields: Any) -> Word:
    said = Decisions(version="1", identity="daiku_a_b", leading=True, now=NOW, at=NOW, **fields)
    return Word(decisions=said, heard=0.0)


@pytest.fixture(autouse=True)
def no_time_passes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(clock, "monotonic", lambda: 0.0)


def test_a_line_counts_what_becomes_of_the_nodes_that_are_shown() -> None:
    reasons = ["TooYoung", "TooYoung", "Budget", "Paused", "Loop", "Nominated"]
    stays = tuple(kept(f"n{n}", reason) for n, reason in enumerate(reasons))
    said = word(kept=(*stays, kept("filtered-away")), going={"g": "Empty: now", "other": "x"})

    found = decided.line(said, [row("g"), *(row(f"n{n}") for n in range(6))])

    assert found == (
        "1 about to go, 6 stay (TooYoung 2, Budget 1, Loop 1, Nominated 1, other reasons 1), "
        "from the controller, 0 s ago"
    )


def test_without_a_controller_there_is_no_line() -> None:
    assert decided.line(Word(why="nobody leads"), [row("a")]) == ""


@pytest.mark.parametrize(
    ("said", "expected"),
    [
        (
            word(kept=(kept("a", until=NOW),)),
            ("PodDoNotDisrupt: pod default/db-a says so (until 12:00:00 UTC)", "from the controller, 0 s ago"),
        ),
        (word(going={"a": "Empty: now"}), ("about to go: Empty: now", "from the controller, 0 s ago")),
        (word(), ("", "nothing said of it, from the controller, 0 s ago")),
        (Word(why="nobody leads"), ("", "without the controller's reasons: nobody leads")),
    ],
    ids=["kept", "going", "unsaid", "unasked"],
)  # fmt: skip
def test_a_node_says_what_becomes_of_it_and_by_whose_word(
    said: Word, expected: tuple[str, str]
) -> None:
    assert decided.of_node(said, row("a")) == expected


def test_json_says_of_each_node_what_is_decided_and_where_that_is_from() -> None:
    said = word(kept=(kept("a"), kept("b")), going={"b": "Empty: now"})
    found = [row("a"), row("b"), row("c")]

    value = decided.add(rows.to_json(found, rows.totals(found, 0)), said)

    assert json.loads(json.dumps(value))["source"] == "controller"
    assert value["ageSeconds"] < 5
    assert [(n["keptReason"], n["going"]) for n in value["nodes"]] == [
        ("PodDoNotDisrupt", ""),
        ("", "Empty: now"),
        ("", ""),
    ]


def test_doctor_says_what_fails_again_and_again_once_for_all_it_fails_on() -> None:
    said = [
        Failing(key=f"Launch/{name}", failures=count, why="UnauthorizedOperation.", until=NOW)
        for name, count in (("b", 3), ("a", 7), ("soon", 2))
    ]

    (found,) = controller.examine(word(failing=tuple(said)).decisions)  # type: ignore[arg-type]

    assert found.check == "controller-fails"
    assert found.about == ("Launch a", "Launch b")
    assert found.cause == "the controller has failed up to 7 times in a row: UnauthorizedOperation"


def test_doctor_says_which_pods_fit_nowhere_and_what_would_help() -> None:
    blockers = tuple(
        Blocker(nodepool=f"p{n}", reason="LimitExceeded", asked="", offered="no room.")
        for n in range(5)
    )
    said = word(unschedulable=(Unschedulable(pods=("shop/web",), blockers=blockers),))

    (found,) = controller.examine(said.decisions)  # type: ignore[arg-type]

    assert found.about == ("Pod shop/web",)
    assert "NodePool p2: LimitExceeded: no room; and 2 more reasons" in found.cause
    assert found.remedy == "raise spec.limits of the NodePool"
    value = examination.to_json([found], [], said)
    assert (value["findings"][0]["source"], value["ageSeconds"] < 5) == ("controller", True)
    assert "from the controller, 0 s ago" in examination.lines([found], [], said)[-2].plain
