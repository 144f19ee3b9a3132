"""What the controller does when the cloud says that an instance will not stay."""

from dataclasses import replace
from datetime import timedelta

import pytest
from tests import build
from tests.build import NOW

from daiku.commands import Announce, Command, DeleteNodeClaim, PatchNodeClaim
from daiku.events import Interrupted
from daiku.model import interruption, labels
from daiku.model.condition import Condition
from daiku.model.nodeclaim import NodeClaim
from daiku.settings import Settings
from daiku.state.cluster import Cluster
from daiku.tick import Plan, tick

CLAIM = build.node_claim(capacity_type="spot")
NODE = build.node(claim=CLAIM)
ENDING = (
    interruption.SPOT,
    interruption.SCHEDULED_CHANGE,
    interruption.STOPPED,
    interruption.TERMINATED,
    interruption.RESERVATION,
    interruption.EVENT_STATUS,
)


def warning(kind: str, message: str = "m-1", instance: str = "default-aaaaa") -> Interrupted:
    return Interrupted(instance, kind, message)


def cluster(*warnings: Interrupted, claim: NodeClaim = CLAIM) -> Cluster:
    made = build.cluster(claim, NODE, build.node_pool(), build.node_class())
    for each in warnings:
        made.apply(each)
    return made


def decide(of: Cluster, settings: Settings | None = None) -> Plan:
    return tick(of.snapshot(NOW), of.catalogue, settings or Settings(), NOW)


def deletions(commands: tuple[Command, ...]) -> list[str]:
    return [c.reason for c in commands if isinstance(c, DeleteNodeClaim)]


def told(commands: tuple[Command, ...], kind: str) -> list[str]:
    return [c.reason for c in commands if isinstance(c, Announce) and c.kind == kind]


@pytest.mark.parametrize("kind", ENDING)
def test_the_claim_of_an_instance_that_goes_is_deleted_at_once(kind: str) -> None:
    plan = decide(cluster(warning(kind)))

    assert deletions(plan.commands) == [kind]


def test_people_who_look_at_the_claim_or_the_node_are_told_why() -> None:
    plan = decide(cluster(warning(interruption.SPOT)))

    for kind in ("NodeClaim", "Node"):
        assert told(plan.commands, kind) == ["SpotInterrupted", "TerminatingOnInterruption"]


def test_the_pool_of_an_interrupted_spot_instance_is_not_asked_for_three_minutes() -> None:
    of = cluster(warning(interruption.SPOT))

    assert dict(of.snapshot(NOW).sold_out) == {
        ("c-4x", "zone-a", "spot"): NOW + timedelta(minutes=3)
    }
    assert dict(of.snapshot(NOW + timedelta(minutes=4)).sold_out) == {}


def test_other_warnings_sell_nothing_out() -> None:
    assert dict(cluster(warning(interruption.STOPPED)).snapshot(NOW).sold_out) == {}


def test_a_recommendation_is_told_and_nothing_else() -> None:
    plan = decide(cluster(warning(interruption.REBALANCE)))

    assert deletions(plan.commands) == []
    assert told(plan.commands, "NodeClaim") == ["SpotRebalanceRecommendation"]
    assert plan.report.settled == (warning(interruption.REBALANCE),)


def test_a_recommendation_is_followed_when_a_setting_asks_for_it() -> None:
    settings = Settings(drain_on_rebalance=True)

    first = decide(cluster(warning(interruption.REBALANCE)), settings)
    (patch,) = [c for c in first.commands if isinstance(c, PatchNodeClaim)]
    marked = build.node_claim(capacity_type="spot", annotations={labels.REBALANCE: "true"})
    second = decide(cluster(warning(interruption.REBALANCE), claim=marked), settings)

    assert patch.annotations == {labels.REBALANCE: "true"}
    assert deletions((*first.commands, *second.commands)) == [], "a replacement comes first"
    assert (first.report.settled, len(second.report.settled)) == ((), 1)
    (patch,) = [c for c in second.commands if isinstance(c, PatchNodeClaim)]
    assert [(c.type, c.reason) for c in patch.conditions] == [("Drifted", "RebalanceRecommended")]


def test_a_node_that_is_not_to_be_relied_on_gets_a_replacement_before_it_goes() -> None:
    drifted = Condition(
        type="Drifted",
        status="True",
        reason="RebalanceRecommended",
        last_transition=NOW - timedelta(minutes=5),
        observed_generation=1,
    )
    claim = build.node_claim(annotations={labels.REBALANCE: "true"})
    claim = replace(claim, conditions=(*claim.conditions, drifted))
    node = build.node(claim=claim)
    of = build.cluster(
        claim, node, build.pod("web-1", node=node.meta.name), build.node_pool(), build.node_class()
    )

    plan = decide(of)

    begun = [
        c.annotations[labels.DISRUPTION_COMMAND]
        for c in plan.commands
        if isinstance(c, PatchNodeClaim) and labels.DISRUPTION_COMMAND in (c.annotations or {})
    ]
    assert len(begun) == 1, "its replacement is written down, and only then made"
    assert deletions(plan.commands) == []


def test_a_recommendation_is_told_once() -> None:
    of = cluster(warning(interruption.REBALANCE))
    of.planned(decide(of).report, NOW)

    assert told(decide(of).commands, "NodeClaim") == []


def test_a_warning_is_open_until_the_deletion_is_seen() -> None:
    about = warning(interruption.SPOT)
    of = cluster(about)
    before = decide(of).report.settled

    of.apply(build.events.Seen(replace(CLAIM, meta=replace(CLAIM.meta, deleted=NOW))))

    assert before == ()
    assert decide(of).report.settled == (about,)


def test_a_warning_about_a_strange_instance_is_settled_at_once() -> None:
    about = warning(interruption.SPOT, instance="i-strange")

    plan = decide(cluster(about))

    assert deletions(plan.commands) == told(plan.commands, "NodeClaim") == []
    assert plan.report.settled == (about,)


def test_what_is_settled_is_forgotten() -> None:
    of = cluster(warning(interruption.SPOT, instance="i-strange"))

    of.planned(decide(of).report, NOW)

    assert of.snapshot(NOW).interruptions == ()


def test_a_warning_that_comes_twice_is_acted_on_once() -> None:
    plan = decide(cluster(*[warning(interruption.SPOT, m) for m in ("m-1", "m-1", "m-2")]))

    assert len(deletions(plan.commands)) == 1
    assert told(plan.commands, "NodeClaim") == ["SpotInterrupted", "TerminatingOnInterruption"]


@pytest.mark.parametrize("kind", sorted(interruption.FORCED))
def test_a_broken_machine_gets_a_deadline_of_now_before_it_is_given_up(kind: str) -> None:
    first = decide(cluster(warning(kind)))
    (patch,) = [c for c in first.commands if isinstance(c, PatchNodeClaim)]
    annotated = build.node_claim(annotations=patch.annotations or {})
    second = decide(cluster(warning(kind), claim=annotated))

    assert patch.annotations == {labels.TERMINATION_TIMESTAMP: "2026-03-02T12:00:00Z"}
    assert (deletions(first.commands), deletions(second.commands)) == ([], [kind])


def test_a_broken_machine_that_drains_already_gets_a_deadline_too() -> None:
    going = replace(CLAIM, meta=replace(CLAIM.meta, deleted=NOW))
    about = warning(interruption.SYSTEM_STATUS)

    plan = decide(cluster(about, claim=going))

    (patch,) = [c for c in plan.commands if isinstance(c, PatchNodeClaim)]
    assert patch.annotations == {labels.TERMINATION_TIMESTAMP: "2026-03-02T12:00:00Z"}
    assert plan.report.settled == ()


def test_a_deadline_that_was_given_before_is_kept() -> None:
    dated = {labels.TERMINATION_TIMESTAMP: "2026-03-02T13:00:00Z"}

    plan = decide(
        cluster(warning(interruption.SYSTEM_STATUS), claim=build.node_claim(annotations=dated))
    )

    assert deletions(plan.commands) == [interruption.SYSTEM_STATUS]
