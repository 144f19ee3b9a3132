"""Explanations in the words of the controller that leads, and of clusters of hundreds of nodes."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import timedelta
from typing import Any

import msgspec
import pytest
from tests import build

from daiku import explanation, prospect, reasons
from daiku.api.decisions import Decisions, Failing
from daiku.events import Object
from daiku.model import labels
from daiku.prospect import Question
from daiku.report import Blocker, Unschedulable
from daiku.runtime.decided import Telling, Tick
from daiku.settings import Settings
from daiku.tick import tick

NOW = build.NOW + timedelta(hours=1)
GUARD = {labels.DO_NOT_DISRUPT: "true"}


def asked(*objects: Object) -> Question:
    return Question(
        objects=(*objects, build.node_pool(), build.node_class()),
        catalogue=build.catalogue(),
        settings=Settings(),
        now=NOW,
    )


def decided(question: Question, *, later: timedelta = timedelta()) -> Decisions:
    """What a controller says that has just seen the same cluster, asked so much later."""
    cluster = prospect.cluster_of(question)
    snapshot = cluster.snapshot(NOW)
    plan = tick(snapshot, cluster.catalogue, question.settings, NOW)
    telling = Telling(identity="daiku_a_b", settings=question.settings, leads=lambda: True)
    telling.hear(Tick(snapshot=snapshot, plan=plan, at=NOW, next_at=None))
    return telling.told(NOW + later)


def said(**fields: Any) -> Decisions:
    return Decisions(version="1", identity="daiku_a_b", leading=True, now=NOW, at=NOW, **fields)


def machine(name: str = "default-aaaaa", **fields: Any) -> Sequence[Object]:
    """A node with one pod."""
    claim = build.node_claim(name)
    node = build.node(claim=claim)
    return [claim, node, build.pod(f"db-{name}", node=node.meta.name, **fields)]


@pytest.fixture
def nothing_computed(monkeypatch: pytest.MonkeyPatch) -> None:
    def refused(*_rest: Any, **_named: Any) -> None:
        raise AssertionError("it was decided here")

    monkeypatch.setattr(prospect, "tick", refused)
    monkeypatch.setattr(explanation, "forecast", refused)


@pytest.mark.usefixtures("nothing_computed")
@pytest.mark.parametrize("kind", ["node", "node_claim"])
def test_a_node_is_explained_by_what_the_controller_said_of_it(kind: str) -> None:
    world = machine(annotations=GUARD)
    word = decided(asked(*world))
    ask = explanation.node if kind == "node" else explanation.node_claim

    found = ask(asked(*world), "default-aaaaa", word)

    assert found.title.endswith("default-aaaaa is still here: PodDoNotDisrupt.")
    assert found.reasons == (word.kept[0].message,)
    assert found.remedies == (reasons.remedy(reasons.POD_DO_NOT_DISRUPT),)
    assert (found.source, found.decided) == (explanation.CONTROLLER, NOW)


def test_the_controllers_words_are_those_of_what_is_recomputed() -> None:
    question = asked(*machine(annotations=GUARD))

    here = explanation.node(question, "default-aaaaa")
    there = explanation.node(question, "default-aaaaa", decided(question))

    assert (here.source, there.source) == (explanation.RECOMPUTED, explanation.CONTROLLER)
    assert replace(there, source=here.source, decided=None) == here


def test_a_node_that_goes_is_told_with_when_that_is_acted_upon() -> None:
    question = asked(*machine(cpu="100m"))

    found = explanation.node(question, "default-aaaaa", decided(question))

    assert found.title == "Node default-aaaaa is about to go."
    assert found.reasons[0].startswith("Underutilized/")
    assert dict(found.facts)["acted upon"] == "13:00:15 UTC, if it is still right"


@pytest.mark.usefixtures("nothing_computed")
def test_a_pod_that_fits_nowhere_is_told_so_in_the_controllers_words() -> None:
    blocker = Blocker(nodepool="default", reason="LimitExceeded", asked="cpu 1", offered="none")
    group = Unschedulable(pods=("default/web", "default/other"), blockers=(blocker,))

    found = explanation.pod(asked(build.pod("web")), "default", "web", said(unschedulable=(group,)))

    assert found.title == "Pod default/web fits nowhere."
    assert found.reasons == (str(blocker),)
    assert dict(found.facts)["alike"].startswith("1 other pod ")
    assert found.source == explanation.CONTROLLER


@pytest.mark.parametrize(
    ("going", "is_up", "title"),
    [
        ({}, True, "Pod default/web fits on node node-default-aaaaa, which has room for it."),
        ({}, False, "Pod default/web gets the node of node-default-aaaaa, which comes up."),
        (
            {"default-aaaaa": "Empty: now"},
            True,
            "Pod default/web would fit on node-default-aaaaa, but that is about to go.",
        ),
    ],
)
@pytest.mark.usefixtures("nothing_computed")
def test_a_pod_with_a_place_is_told_which_the_controller_remembers(
    going: dict[str, str], is_up: bool, title: str
) -> None:
    claim = build.node_claim(initialized=is_up)
    node = build.node(claim=claim, initialized=is_up)
    word = said(placements={"default/web": "node-default-aaaaa"}, going=going)

    found = explanation.pod(asked(claim, node, build.pod("web")), "default", "web", word)

    assert (found.title, found.source) == (title, explanation.CONTROLLER)


def test_a_pod_whose_node_is_just_being_made_is_told_its_name() -> None:
    word = said(placements={"default/web": "default-x7k2p"})

    found = explanation.pod(asked(build.pod("web")), "default", "web", word)

    assert found.title == "Pod default/web gets the node of default-x7k2p, which comes up."


@pytest.mark.parametrize(
    ("omitted", "why"),
    [
        ({}, "the controller has not said anything of the pod yet"),
        ({"placements": 1200}, "the controller's answer leaves out 1,200 of its decisions"),
    ],
)
def test_what_the_controller_says_nothing_of_is_recomputed_and_it_is_said_why(
    omitted: dict[str, int], why: str
) -> None:
    found = explanation.pod(asked(build.pod("web")), "default", "web", said(omitted=omitted))

    assert found.title == "Pod default/web gets a new node of NodePool default."
    assert found.source == explanation.RECOMPUTED
    assert found.silent.startswith(why)


def test_a_node_that_the_controller_has_not_seen_yet_is_recomputed() -> None:
    found = explanation.node(asked(*machine(annotations=GUARD)), "default-aaaaa", said())

    assert found.source == explanation.RECOMPUTED
    assert found.silent == "the controller has not said anything of the node yet"


def test_what_stands_in_the_cluster_is_nobodys_decision() -> None:
    found = explanation.pod(
        asked(build.pod("web", node="n"), build.node("n")), "default", "web", said()
    )

    assert (found.source, found.silent) == (explanation.CLUSTER, "")


def test_a_claim_whose_launch_fails_says_so_with_when_it_is_tried_again() -> None:
    claim = build.node_claim(launched=False, registered=False, initialized=False)
    again = NOW + timedelta(seconds=8)
    failing = Failing(key=f"Launch/{claim.meta.name}", failures=3, why="no capacity", until=again)

    found = explanation.node_claim(asked(claim), claim.meta.name, said(failing=(failing,)))

    assert found.reasons == ("no capacity; tried 3 times, again at 13:00:08 UTC",)
    assert found.source == explanation.CONTROLLER


MANY = 300


def large(**fields: Any) -> Question:
    return asked(*(o for n in range(MANY) for o in machine(f"default-{n:05}", **fields)))


def test_a_pool_of_hundreds_of_nodes_is_told_whole_in_the_controllers_words() -> None:
    question = large(annotations=GUARD)

    found = explanation.node_pool(question, "default", decided(question))

    assert dict(found.facts)["nodes"] == str(MANY)
    assert dict(found.facts)["kept, PodDoNotDisrupt"] == f"{MANY} nodes"
    assert (found.source, found.reasons) == (explanation.CONTROLLER, ())


def test_a_pool_of_which_the_controller_leaves_something_out_says_how_much() -> None:
    question = large(annotations=GUARD)
    word = decided(question)
    cut = msgspec.structs.replace(word, kept=word.kept[:100], omitted={"kept": 200})

    found = explanation.node_pool(question, "default", cut)

    assert dict(found.facts)["kept, PodDoNotDisrupt"] == "100 nodes"
    assert found.reasons == ("the controller's answer leaves out 200 decisions",)


@pytest.mark.parametrize("kind", ["node", "node_pool"])
def test_hundreds_of_nodes_are_explained_here_in_as_many_ticks_as_a_hundred(
    kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    counted: list[int] = []

    def counting(*rest: Any, **named: Any) -> Any:
        counted.append(1)
        return tick(*rest, **named)

    monkeypatch.setattr(prospect, "tick", counting)
    question = large(cpu="3")

    if kind == "node":
        found = explanation.node(question, "default-00299")
    else:
        found = explanation.node_pool(question, "default")

    assert 1 <= len(counted) <= 2
    # What was not asked is said: nothing is left out without a word.
    assert any("300" in reason for reason in found.reasons)


def test_every_one_of_hundreds_of_kept_nodes_is_counted_here() -> None:
    found = explanation.node_pool(large(annotations=GUARD), "default")

    assert dict(found.facts)["kept, PodDoNotDisrupt"] == f"{MANY} nodes"
