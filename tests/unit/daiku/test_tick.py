"""One decision: what may be begun now, what is reported, and when to decide again."""

from datetime import timedelta

import pytest
from tests import answers, build
from tests.build import NOW

from daiku import commands
from daiku.commands import CreateNodeClaim, Launch
from daiku.events import Interrupted
from daiku.model import labels
from daiku.settings import Settings
from daiku.state.cluster import Cluster
from daiku.tick import Plan, tick

SECOND = timedelta(seconds=1)


def decide(
    cluster: Cluster, *, after: timedelta = 2 * SECOND, settings: Settings | None = None
) -> Plan:
    cluster.snapshot(NOW)
    return tick(
        cluster.snapshot(NOW + after), cluster.catalogue, settings or Settings(), NOW + after
    )


def kinds(plan: Plan) -> list[str]:
    return [type(command).__name__ for command in plan.commands]


def test_before_everything_was_listed_nothing_is_decided() -> None:
    plan = decide(Cluster(Settings()))

    assert plan.commands == ()
    assert plan.wake_at is None
    assert plan.report.notes


def test_pending_pods_make_claims_and_the_report_says_where_they_go() -> None:
    plan = decide(build.cluster(*build.pods(4), build.node_pool(), build.node_class()))

    (create,) = [c for c in plan.commands if isinstance(c, CreateNodeClaim)]
    assert set(plan.report.placements.values()) == {create.node_claim.meta.name}
    assert plan.report.planned_pods
    assert plan.report.new_usd_per_hour >= plan.report.lower_bound_usd_per_hour > 0


def test_the_same_snapshot_makes_the_same_plan() -> None:
    cluster = build.cluster(*build.pods(30), build.node_pool(), build.node_class())
    snapshot = cluster.snapshot(NOW)

    plans = [tick(snapshot, cluster.catalogue, Settings(), NOW + 5 * SECOND) for _ in range(2)]

    assert plans[0] == plans[1]


def test_no_two_commands_share_a_key() -> None:
    claim = build.node_claim(initialized=False)
    plan = decide(
        build.cluster(
            claim, build.node(claim=claim), *build.pods(9), build.node_pool(), build.node_class()
        )
    )

    keys = [command.key for command in plan.commands]
    assert len(keys) == len(set(keys))


def test_a_key_that_is_held_is_left_alone_until_it_is_free() -> None:
    claim = build.node_claim(launched=False, registered=False, initialized=False)
    cluster = build.cluster(claim, build.node_class())
    (launch,) = [c for c in decide(cluster).commands if isinstance(c, Launch)]
    cluster.begin(launch, NOW)
    assert "Launch" not in kinds(decide(cluster))

    cluster.apply(answers.failed(launch))

    plan = decide(cluster, after=timedelta(0))
    assert "Launch" not in kinds(plan)
    assert plan.wake_at == NOW + SECOND
    assert "Launch" in kinds(decide(cluster))


def test_no_more_commands_are_begun_than_may_be_under_way() -> None:
    cluster = build.cluster(*build.pods(90), build.node_pool(), build.node_class())
    cluster.begin(commands.DeleteNode(name="a", uid="u"), NOW)

    plan = decide(cluster, settings=Settings(commands_in_flight_max=3))

    assert len(plan.commands) == 2


def test_an_empty_node_goes_and_the_audit_agrees() -> None:
    claim = build.node_claim()
    cluster = build.cluster(claim, build.node(claim=claim), build.node_pool(), build.node_class())

    plan = decide(cluster, after=timedelta(minutes=5))

    patches = [c for c in plan.commands if isinstance(c, commands.PatchNodeClaim)]
    assert [c.reason for p in patches for c in p.conditions if c.type == "DisruptionReason"] == [
        "Empty"
    ]
    assert plan.report.notes == ()


def test_of_two_reasons_to_end_a_node_the_one_that_nobody_chose_is_told() -> None:
    claim = build.node_claim()
    cluster = build.cluster(claim, build.node(claim=claim), build.node_pool(), build.node_class())
    cluster.apply(Interrupted(instance_id="default-aaaaa", kind="spot_interrupted"))

    plan = decide(cluster, after=timedelta(minutes=5))

    (deletion,) = [c for c in plan.commands if isinstance(c, commands.DeleteNodeClaim)]
    assert deletion.reason == "spot_interrupted"


def test_what_the_nodes_cost_is_their_offerings_prices() -> None:
    claim = build.node_claim()

    report = decide(build.cluster(claim, build.node(claim=claim), build.node_pool())).report

    assert report.usd_per_hour == pytest.approx(0.192)


def test_every_node_that_stays_is_reported_with_its_reason() -> None:
    claim = build.node_claim()
    node = build.node(claim=claim, annotations={labels.DO_NOT_DISRUPT: "true"})

    report = decide(
        build.cluster(claim, node, build.node_pool()), after=timedelta(minutes=5)
    ).report

    assert [(k.node_claim, k.reason) for k in report.kept] == [("default-aaaaa", "DoNotDisrupt")]


def test_the_next_decision_is_due_when_the_first_thing_is() -> None:
    cluster = build.cluster(build.pod(), build.node_pool(), build.node_class())

    assert decide(cluster, after=timedelta(0)).wake_at == NOW + SECOND / 2


def test_a_node_that_pending_pods_will_use_is_not_taken_away_in_the_same_breath() -> None:
    claim = build.node_claim()
    cluster = build.cluster(
        build.pod(), claim, build.node(claim=claim), build.node_pool(), build.node_class()
    )

    plan = decide(cluster, after=timedelta(minutes=5))

    assert "DeleteNodeClaim" not in kinds(plan)
    assert plan.report.placements == {"default/web-1": "node-default-aaaaa"}
