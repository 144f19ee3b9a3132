from collections.abc import Sequence
from dataclasses import replace
from datetime import timedelta

import pytest
from tests import build
from tests.unit.daiku.moving_world import running

from daiku import explanation, prospect, reasons
from daiku.events import Object
from daiku.explanation import Explanation
from daiku.model import labels
from daiku.model.budget import Budget
from daiku.model.condition import Condition
from daiku.prospect import Question
from daiku.reason import WHERE
from daiku.settings import Settings

HOUR = timedelta(hours=1)


def asked(*objects: Object) -> Question:
    pool = [] if any(type(o).__name__ == "NodePool" for o in objects) else [build.node_pool()]
    return Question(
        objects=(*objects, *pool, build.node_class()),
        catalogue=build.catalogue(),
        settings=Settings(),
        now=build.NOW + HOUR,
    )


def facts(found: Explanation) -> dict[str, str]:
    return dict(found.facts)


def test_a_pod_that_runs_is_where_it_is() -> None:
    found = explanation.pod(
        asked(build.pod("web-1", node="n"), build.node("n")), "default", "web-1"
    )

    assert found.title == "Pod default/web-1 runs on node n."
    assert facts(found)["requests"] == "cpu 1, memory 1Gi"


def test_a_pod_that_fits_gets_a_node_with_a_price() -> None:
    found = explanation.pod(
        asked(*build.pods(3, cpu="200m", memory="64Mi")), "default", "web-00000"
    )

    assert found.title == "Pod default/web-00000 gets a new node of NodePool default."
    assert facts(found)["shares it with"] == "2 other pods"
    assert facts(found)["price"].startswith("$")


@pytest.mark.parametrize(
    ("stage", "reason"),
    [({"launched": False}, "(launch_timeout)"), ({}, "(registration_timeout)")],
    ids=["never launched", "never registered"],
)
def test_a_pod_is_not_sent_to_a_node_that_is_given_up(stage: dict[str, bool], reason: str) -> None:
    late = build.node_claim("default-late", registered=False, initialized=False, **stage)  # pyright: ignore[reportArgumentType]

    found = explanation.pod(asked(late, build.pod("web", cpu="100m")), "default", "web")

    assert found.title == (
        "Pod default/web would fit on node default-late, but that is about to go."
    )
    assert found.reasons[0].endswith(reason)


def test_a_pod_on_a_node_that_is_going_is_told_so() -> None:
    pod = build.pod("web", node="n")

    found = explanation.pod(asked(pod, build.node("n", deleted=build.NOW)), "default", "web")

    assert found.title == "Pod default/web runs on node n, which is going."


def test_a_pod_that_fits_nowhere_is_told_why_and_what_would_change_it() -> None:
    found = explanation.pod(asked(build.pod("big", cpu="900")), "default", "big")

    assert found.title == "Pod default/big fits nowhere."
    assert "900" in found.reasons[0]
    assert found.remedies == (reasons.remedy(reasons.INSUFFICIENT_RESOURCES),)


def ours(name: str = "default-aaaaa") -> Sequence[Object]:
    claim = build.node_claim(name)
    return [claim, build.node(claim=claim)]


@pytest.mark.parametrize("name", ["default-aaaaa", "node-default-aaaaa"])
def test_an_empty_node_is_about_to_go(name: str) -> None:
    found = explanation.node(asked(*ours()), name)

    assert found.title == f"Node {name} is about to go."


def test_a_node_is_still_here_because_of_a_pod() -> None:
    wish = {labels.DO_NOT_DISRUPT: "true"}
    guarded = build.pod("db", node="node-default-aaaaa", annotations=wish)

    found = explanation.node(asked(*ours(), guarded), "node-default-aaaaa")

    assert found.title.startswith("Node node-default-aaaaa is still here: ")
    assert "default/db" in found.reasons[0]
    assert found.remedies == (reasons.remedy(reasons.POD_DO_NOT_DISRUPT),)


def test_a_node_of_somebody_else_is_left_to_them() -> None:
    found = explanation.node(asked(build.node("mine")), "mine")

    assert found.title.startswith("Node mine has no NodeClaim")


KNOWN = {labels.INSTANCE_TYPE: "c-4x", labels.ZONE: "zone-a", labels.CAPACITY_TYPE: "on-demand"}


@pytest.mark.parametrize(
    ("labels_of", "price"),
    [(KNOWN, "$0.1920 an hour, $140 a month"), ({}, "unknown")],
    ids=["of the catalogue", "no labels"],
)
def test_a_node_of_somebody_else_has_its_price(labels_of: dict[str, str], price: str) -> None:
    found = explanation.node(asked(build.node("mine", labels_of=labels_of)), "mine")

    assert facts(found)["price"] == price


def test_a_price_that_nobody_says_is_unknown_not_nothing() -> None:
    claim = build.node_claim("default-new", instance_type="brand-new")
    new = [claim, build.node(claim=claim)]

    assert facts(explanation.node(asked(*new), "default-new"))["price"] == "unknown"
    assert facts(explanation.node_pool(asked(*new), "default"))["price"] == "unknown"
    assert facts(explanation.node_pool(asked(*new, *ours()), "default"))["price"] == (
        "$0.1920 an hour, $140 a month, without 1 node of unknown price"
    )


def test_as_many_nodes_are_about_to_go_as_their_pool_says() -> None:
    """Either could go to the other, and then the other stays."""
    two = [
        each
        for name in ("default-a", "default-b")
        for each in (
            *ours(name),
            replace(
                build.pod(f"web-{name}", cpu="500m", node=f"node-{name}"),
                scheduled=build.NOW - timedelta(hours=2),
            ),
        )
    ]
    question = asked(*two, build.node_pool(budgets=(Budget(nodes="1"),)))

    of_pool = facts(explanation.node_pool(question, "default"))
    titles = sorted(explanation.node(question, n).title for n in ("default-a", "default-b"))

    assert of_pool["about to go"] == "1 node"
    assert titles == [
        "Node default-a could go, but others go first.",
        "Node default-b is about to go.",
    ]


YOUNG: list[tuple[Sequence[Object], str, str, str]] = [
    (
        [build.node_claim("c", launched=False, registered=False, initialized=False)],
        "NodeClaim c has no instance yet.",
        "none yet",
        "2026-03-02 12:05:00 UTC, no instance was launched in time (launch_timeout)",
    ),
    (
        [build.node_claim("c", registered=False, initialized=False)],
        "NodeClaim c waits for its node to join the cluster.",
        "none yet",
        "2026-03-02 12:15:00 UTC, its node did not join the cluster in time (registration_timeout)",
    ),
    (
        [
            claim := build.node_claim("c", initialized=False),
            build.node("n", claim=claim, initialized=False),
        ],
        "NodeClaim c has a node that is not ready for pods yet.",
        "n",
        "",
    ),
]


@pytest.mark.parametrize(("objects", "title", "node", "given_up"), YOUNG)
def test_a_node_claim_that_comes_up_says_what_it_waits_for_and_for_how_long(
    objects: Sequence[Object], title: str, node: str, given_up: str
) -> None:
    found = explanation.node_claim(asked(*objects), "c")

    assert found.title == title
    assert facts(found)["node"] == node
    assert facts(found).get("given up", "") == given_up
    assert found.reasons


def test_a_node_claim_says_what_its_condition_says() -> None:
    claim = build.node_claim("c", launched=False, registered=False, initialized=False)
    sold_out = Condition(
        type="Launched", status="Unknown", reason="X", message="sold out in zone-a"
    )

    found = explanation.node_claim(asked(replace(claim, conditions=(sold_out,))), "c")

    assert found.reasons == ("sold out in zone-a",)


def test_a_node_claim_whose_node_is_up_is_explained_as_its_node() -> None:
    found = explanation.node_claim(asked(*ours()), "default-aaaaa")

    assert found.title == "NodeClaim default-aaaaa is about to go."
    assert facts(found)["node"] == "node-default-aaaaa"
    assert found.reasons == explanation.node(asked(*ours()), "default-aaaaa").reasons


def test_a_pool_says_what_it_has_and_would_make() -> None:
    pool = build.node_pool(limits={"cpu": "100"})

    found = explanation.node_pool(asked(pool, *ours(), *build.pods(30, cpu="2")), "default")

    assert found.title == "NodePool default is ready."
    assert facts(found)["nodes"] == "1"
    assert facts(found)["limit cpu"] == "4 of 100"
    assert facts(found)["would make"].endswith("pods")


def six(count: int = 6) -> list[Object]:
    """Nodes whose pods fit on no other one of them; only together they could become something cheaper."""
    return [
        each
        for n in range(count)
        for each in (
            *running(f"default-{n:05d}", "c-8x", cpu="8"),
            replace(
                build.pod(f"web-{n}", cpu="4500m", node=f"node-default-{n:05d}"),
                scheduled=build.NOW - timedelta(hours=2),
            ),
        )
    ]


def test_a_pool_says_what_all_its_nodes_could_become() -> None:
    found = explanation.node_pool(asked(*six()), "default")

    assert any(
        each.startswith("repacking 6 of 6 nodes into 1 new ones")
        and "from $2.3040/h to $1.5360/h; no cluster that holds their pods costs less than" in each
        for each in found.reasons
    )


def test_a_pool_that_is_not_ready_says_why() -> None:
    pool = replace(build.node_pool(), invalid="spec.template: nothing fits")

    found = explanation.node_pool(asked(pool), "default")

    assert found.title.startswith("NodePool default is not ready")
    assert found.reasons == ("spec.template: nothing fits",)


@pytest.mark.parametrize(
    ("ask", "message"),
    [
        (lambda q: explanation.pod(q, "default", "web-9"), "there is no pod default/web-9 among 3"),
        (lambda q: explanation.node(q, "nowhere"), "there is no node nowhere among 0"),
        (lambda q: explanation.node_claim(q, "nowhere"), "there is no NodeClaim nowhere among 0"),
        (lambda q: explanation.node_pool(q, "defau"), "there is no NodePool defau among 1; there are default"),
    ],
)  # fmt: skip
def test_an_unknown_name_is_answered_with_those_that_are_there(ask: object, message: str) -> None:
    assert callable(ask)
    with pytest.raises(explanation.UnknownNameError, match=message):
        ask(asked(*build.pods(3)))


def test_a_node_that_goes_only_together_with_others_is_about_to_go() -> None:
    found = explanation.node(asked(*six()), "node-default-00003")

    assert found.title == "Node node-default-00003 is about to go."
    assert "default-00002" in found.reasons[0]


def test_a_node_of_a_large_cluster_is_looked_at_by_itself_and_says_so() -> None:
    many = explanation.TOGETHER_MOST + 1

    found = explanation.node(asked(*six(many)), "node-default-00003")

    assert found.title == "Node node-default-00003 is still here: Unconsolidatable."
    assert "$" in found.reasons[0]
    assert found.reasons[1].startswith(f"it was looked at by itself; what all {many} nodes")


def test_a_node_by_itself_is_said_to_stay_for_the_reason_that_the_whole_round_gives() -> None:
    guarded = build.pod(
        "db", node="node-default-00001", cpu="1", annotations={labels.DO_NOT_DISRUPT: "true"}
    )
    question = asked(*six(3), guarded)

    whole = prospect.within_a_minute(prospect.cluster_of(question), question)

    stay = sorted(set(whole.kept) - set(whole.going))
    assert stay
    for claim in stay:
        found = explanation.node(question, f"node-{claim}")
        assert found.reasons[0] == whole.kept[claim].message


def test_a_pool_of_a_large_cluster_says_what_of_it_goes_first_and_who_looks_further() -> None:
    many = explanation.TOGETHER_MOST + 1
    spare = running("default-spare", "c-8x", cpu="8")
    pod = replace(build.pod("web", cpu="1", node="node-default-spare"), scheduled=build.NOW)

    found = explanation.node_pool(asked(*six(many), *spare, pod), "default")

    assert facts(found)["about to go"] == "1 node"
    assert facts(found)["cpu"].endswith(" % requested")
    assert found.reasons[0].startswith("Underutilized/")
    assert found.reasons[-1] == (
        f"nodes were looked at one by one; what all {many + 1} nodes could become together is searched by "
        "`daiku plan --repack`"
    )


@pytest.mark.parametrize(("seconds", "title"), [(30, "about to go"), (90, "still here: TooYoung")])
def test_a_node_that_a_pod_joined_lately_is_asked_what_becomes_of_it_in_a_minute(
    seconds: int, title: str
) -> None:
    pool = build.node_pool(consolidate_after=timedelta(seconds=seconds))
    pod = replace(build.pod("web", cpu="1", node="node-default-00000"), scheduled=build.NOW + HOUR)

    found = explanation.node(
        asked(pool, *running("default-00000", "c-8x", cpu="8"), pod), "node-default-00000"
    )

    assert title in found.title


@pytest.mark.parametrize("row", reasons.TABLE.values(), ids=lambda row: row.reason)
def test_every_reason_can_be_asked_for_by_its_word(row: reasons.Row) -> None:
    found = explanation.reason(row.reason)

    assert found.title == f"{row.reason}: {row.means}."
    assert found.remedies == ((row.remedy,) if row.remedy else ())
    assert found.facts == tuple((kind.value, WHERE[kind]) for kind in row.kinds)


def test_how_a_reason_is_capitalised_matters_only_where_two_are_told_apart_by_it() -> None:
    titles = [explanation.reason(word).title for word in ("BUDGET", "Unneeded", "unneeded")]

    assert [title.partition(":")[0] for title in titles] == ["Budget", "Unneeded", "unneeded"]


def test_a_word_that_is_no_reason_is_answered_with_near_ones() -> None:
    with pytest.raises(
        explanation.UnknownNameError, match=r"there is no reason Buget .* there are Budget"
    ):
        explanation.reason("Buget")


def test_a_node_that_has_drifted_says_in_which_respect() -> None:
    drifted = Condition(type="Drifted", status="True", reason="AMIDrift", message="another image")
    claim = build.node_claim()
    claim = replace(claim, conditions=(*claim.conditions, drifted))

    found = explanation.node(asked(claim, build.node(claim=claim)), claim.meta.name)

    assert facts(found)["drifted"] == "AMIDrift: another image"
