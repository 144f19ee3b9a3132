"""Who may be disrupted, what it costs, when it has drifted, and when a saving is worth it: Karpenter's rules in rows.

Source of each table: sigs.k8s.io/karpenter pkg/controllers/disruption (suite_test, drift_test, consolidation_test,
balanced_test) and pkg/controllers/nodeclaim/disruption (drift_test), restated.
"""

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any

import pytest
from tests import build
from tests.build import NOW

from daiku.commands import PatchNodeClaim
from daiku.disruption import budgets, candidates, evaluation, eviction_cost
from daiku.events import Object
from daiku.lifecycle import drift
from daiku.lifecycle.draft import Draft
from daiku.model import labels, nodepool_hash
from daiku.model.budget import Budget
from daiku.model.condition import Condition, find
from daiku.model.nodeclaim import NodeClaim
from daiku.model.requirements import NO_REQUIREMENTS, Requirements
from daiku.model.taints import DISRUPTED, Toleration

LATER = NOW + timedelta(minutes=10)
NODE = "node-default-aaaaa"
CLAIM = build.node_claim()
BARE = build.node(claim=CLAIM)
APP = {"app": "web"}
TOLERANT = (Toleration(key=DISRUPTED.key, operator="Exists"),)


def keep(value: str) -> dict[str, str]:
    return {labels.DO_NOT_DISRUPT: value}


def found(*objects: Object, claim: NodeClaim = CLAIM) -> tuple[str, str]:
    """Why the node is no candidate, and what its pods object; both empty when it is one and nobody does."""
    cluster = build.cluster(claim, build.node_pool(), build.node_class(), *objects)
    able, kept = candidates.find(cluster.snapshot(LATER), {}, {}, LATER)
    if kept:
        return kept[0].reason, ""
    objection = able[0].objection
    return "", objection.reason if objection is not None else ""


@pytest.mark.parametrize(
    ("pod", "objection"),
    [
        pytest.param({}, "", id="a pod that says nothing"),
        pytest.param({"annotations": keep("true")}, "PodDoNotDisrupt", id="do-not-disrupt"),
        pytest.param({"annotations": keep("true"), "owner": "Node"}, "PodDoNotDisrupt", id="on a static pod"),
        pytest.param({"annotations": keep("true"), "owner": "DaemonSet"}, "PodDoNotDisrupt", id="on a daemon"),
        pytest.param({"annotations": keep("true"), "deleted": NOW}, "", id="on a pod that is going"),
        pytest.param({"annotations": keep("true"), "phase": "Succeeded"}, "", id="on a pod that has ended"),
        pytest.param({"annotations": keep("30m")}, "PodDoNotDisrupt", id="for longer than it runs"),
        pytest.param({"annotations": keep("5m")}, "", id="for less than it runs"),
        pytest.param({"annotations": keep("soon")}, "", id="a duration that is none"),
        pytest.param({"labels": APP}, "PodDisruptionBudget", id="a budget that allows none"),
        pytest.param({"labels": APP, "owner": "DaemonSet"}, "PodDisruptionBudget", id="of a daemon"),
        pytest.param({"labels": APP, "owner": "Node"}, "", id="of a static pod"),
        pytest.param({"labels": APP, "phase": "Failed"}, "", id="of a pod that has ended"),
        pytest.param({"labels": APP, "deleted": NOW}, "", id="of a pod that is going"),
        pytest.param({"labels": APP, "tolerations": TOLERANT}, "", id="of a pod that will not be evicted"),
    ],
)  # fmt: skip
def test_which_pods_object(pod: dict[str, Any], objection: str) -> None:
    on_it = build.pod(node=NODE, **pod)

    assert found(BARE, on_it, build.pdb(match=APP)) == ("", objection)


@pytest.mark.parametrize(
    ("pdbs", "ready", "objection"),
    [
        pytest.param([build.pdb(match=APP, allowed=1)], True, "", id="allows one"),
        pytest.param([build.pdb(match={"app": "x"})], True, "", id="is about others"),
        pytest.param([build.pdb("a", match=APP, allowed=1), build.pdb("b", match=APP, allowed=1)], True,
                     "SeveralBudgets", id="two"),
        pytest.param([replace(build.pdb(match=APP), lets_unready_go=True)], False, "", id="lets unready go"),
        pytest.param([replace(build.pdb(match=APP), lets_unready_go=True)], True, "PodDisruptionBudget",
                     id="lets unready go, and it is ready"),
    ],
)  # fmt: skip
def test_which_budgets_object(pdbs: Sequence[Object], ready: bool, objection: str) -> None:
    pod = replace(build.pod(node=NODE, labels=APP), ready=ready)

    assert found(BARE, pod, *pdbs) == ("", objection)


@pytest.mark.parametrize("grace", [None, timedelta(minutes=5)], ids=["no deadline", "a deadline"])
def test_drift_overrules_pods_when_a_deadline_bounds_them_and_consolidation_does_not(
    grace: timedelta | None,
) -> None:
    claim = build.node_claim(termination_grace_period=grace)
    pod = build.pod(node=NODE, annotations=keep("true"))
    cluster = build.cluster(claim, build.node(claim=claim), pod, build.node_pool())

    ((candidate,), _kept) = candidates.find(cluster.snapshot(LATER), {}, {}, LATER)

    assert candidate.objection is not None
    assert (candidate.objection_to_drift is None) == (grace is not None)


LEAVING = build.node_claim(deleted=NOW)


@pytest.mark.parametrize(
    ("claim", "objects", "reason"),
    [
        pytest.param(CLAIM, [BARE], "", id="a whole node"),
        pytest.param(CLAIM, [], "NotInitialized", id="a claim without a node"),
        pytest.param(CLAIM, [build.node(claim=CLAIM, initialized=False)], "NotInitialized", id="not initialized"),
        pytest.param(CLAIM, [build.node(claim=CLAIM, annotations=keep("true"))], "DoNotDisrupt", id="annotation true"),
        pytest.param(CLAIM, [build.node(claim=CLAIM, annotations=keep("false"))], "", id="annotation false"),
        pytest.param(build.node_claim(pool="gone"), [BARE], "NodePoolNotFound", id="an unknown NodePool"),
        pytest.param(build.node_claim(pool=""), [BARE], "NodePoolNotFound", id="no NodePool label"),
    ],
)  # fmt: skip
def test_which_nodes_are_candidates(claim: NodeClaim, objects: list[Object], reason: str) -> None:
    assert found(*objects, claim=claim)[0] == reason


@pytest.mark.parametrize("half", ["claim", "node"])
def test_a_node_that_is_going_is_neither_candidate_nor_kept(half: str) -> None:
    claim = LEAVING if half == "claim" else CLAIM
    node = build.node(claim=claim, deleted=NOW if half == "node" else None)
    cluster = build.cluster(claim, node, build.node_pool())

    assert candidates.find(cluster.snapshot(LATER), {}, {}, LATER) == ([], [])


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        pytest.param({}, 1.0, id="nothing said"),
        pytest.param({"annotations": {labels.POD_DELETION_COST: "134217728"}}, 2.0, id="2^27 more"),
        pytest.param({"annotations": {labels.POD_DELETION_COST: "-134217728"}}, 0.0, id="2^27 less"),
        pytest.param({"annotations": {labels.POD_DELETION_COST: "much"}}, 1.0, id="no number"),
        pytest.param({"annotations": {labels.POD_DELETION_COST: "nan"}}, 1.0, id="nan"),
        pytest.param({"priority": 33554432}, 2.0, id="2^25 of priority"),
        pytest.param({"priority": 2_000_000_000}, 10.0, id="at most ten"),
        pytest.param({"priority": -2_000_000_000}, -10.0, id="at least minus ten"),
    ],
)  # fmt: skip
def test_what_it_costs_to_move_a_pod(fields: dict[str, Any], expected: float) -> None:
    assert eviction_cost.of_eviction(build.pod(**fields)) == pytest.approx(expected)


def test_a_node_costs_one_and_what_its_pods_cost_and_never_less() -> None:
    cheap = build.pod("b", annotations={labels.POD_DELETION_COST: "-2147483647"})

    assert eviction_cost.of_pods(()) == 1.0
    assert eviction_cost.of_pods((build.pod("a"), cheap)) == 2.0


def fleet(
    count: int, *, ill: int = 0, going: int = 0, young: int = 0, ending: int = 0
) -> list[Object]:
    """Nodes of the default NodePool, the first ones with something about them."""
    made: list[Object] = []
    for number in range(count):
        claim = build.node_claim(
            f"default-{number:05d}", deleted=NOW if ill <= number < ill + going else None
        )
        if number >= count - ending:
            end = Condition(type="InstanceTerminating", status="True", last_transition=NOW)
            claim = replace(claim, conditions=(*claim.conditions, end))
        made += [
            claim,
            build.node(claim=claim, ready=number >= ill, initialized=number < count - young),
        ]
    return made


@pytest.mark.parametrize(
    ("nodes", "budget", "left"),
    [
        pytest.param(fleet(10), "3", 3, id="a count"),
        pytest.param(fleet(10), "10%", 1, id="a share"),
        pytest.param(fleet(11), "10%", 2, id="a share rounds up"),
        pytest.param(fleet(10), "0", 0, id="none"),
        pytest.param(fleet(10, ill=2), "3", 1, id="nodes that are not ready count"),
        pytest.param(fleet(10, going=2), "3", 1, id="nodes that go count"),
        pytest.param(fleet(10, ill=3, going=3), "3", 0, id="never less than none"),
        pytest.param(fleet(10, young=5), "20%", 1, id="nodes that come up are not there yet"),
        pytest.param(fleet(10, ending=5), "20%", 1, id="nodes whose machine ends are gone"),
    ],
)
def test_what_a_budget_leaves(nodes: list[Object], budget: str, left: int) -> None:
    pool = build.node_pool(budgets=[Budget(nodes=budget)])
    snapshot = build.cluster(*nodes, pool).snapshot(LATER)

    assert budgets.allowance(snapshot, "Empty", LATER).left == {"default": left}


def test_nodes_that_wait_for_their_replacements_use_up_the_budget() -> None:
    snapshot = build.cluster(*fleet(10), build.node_pool(budgets=[Budget(nodes="3")])).snapshot(
        LATER
    )

    assert budgets.allowance(snapshot, "Empty", LATER, {"default-00001"}).left == {"default": 2}


@pytest.mark.parametrize(
    ("saving", "disruption", "price", "whole", "score"),
    [
        pytest.param(5.0, 5.0, 10.0, 10.0, 1.0, id="half for half"),
        pytest.param(1.0, 5.0, 10.0, 10.0, 0.2, id="a tenth for half"),
        pytest.param(0.0, 5.0, 10.0, 10.0, 0.0, id="nothing saved"),
        pytest.param(-1.0, 5.0, 10.0, 10.0, 0.0, id="dearer"),
        pytest.param(1.0, 0.0, 10.0, 10.0, float("inf"), id="nobody disturbed"),
        pytest.param(1.0, 1.0, 0.0, 10.0, 0.0, id="a pool without a price"),
        pytest.param(1.0, 1.0, 10.0, 0.0, 0.0, id="a pool without pods"),
        pytest.param(50.0, 50.0, 100.0, 100.0, 1.0, id="the scale does not matter"),
    ],
)
def test_the_score_of_a_move(
    saving: float, disruption: float, price: float, whole: float, score: float
) -> None:
    assert evaluation.score(saving, disruption, price, whole) == pytest.approx(score)


TEMPLATE = nodepool_hash.of(build.node_pool().template)
MADE = {labels.NODEPOOL_HASH: TEMPLATE, labels.NODEPOOL_HASH_VERSION: nodepool_hash.VERSION}
HOUR_AGO = LATER - timedelta(hours=1)
IN_ZONE_B = build.needs(build.require(labels.ZONE, "In", "zone-b"))
NEEDS_TEAM = build.needs(build.require("example.com/team", "In", "a"))


@pytest.mark.parametrize(
    ("claim", "asked", "reason"),
    [
        pytest.param(build.node_claim(annotations=MADE), NO_REQUIREMENTS, "", id="as it was"),
        pytest.param(build.node_claim(), NO_REQUIREMENTS, "", id="no hash"),
        pytest.param(build.node_claim(annotations=MADE | {labels.NODEPOOL_HASH: "1"}), NO_REQUIREMENTS,
                     "NodePoolDrifted", id="another template"),
        pytest.param(build.node_claim(annotations={labels.NODEPOOL_HASH: "1", labels.NODEPOOL_HASH_VERSION: "v2"}),
                     NO_REQUIREMENTS, "", id="a hash of another version"),
        pytest.param(build.node_claim(annotations={labels.ROLL: "2026-03-02T12:00:00Z/4"}), NO_REQUIREMENTS,
                     "RollRequested", id="a person asked for it (ours)"),
        pytest.param(build.node_claim(annotations={labels.ROLL: "paused/2026-03-02T12:00:00Z/4"}), NO_REQUIREMENTS,
                     "", id="a person asked for it, and then to wait"),
        pytest.param(build.node_claim(), IN_ZONE_B, "RequirementsDrifted", id="another zone is asked for"),
        pytest.param(build.node_claim(), NEEDS_TEAM, "RequirementsDrifted", id="a label that it lacks"),
        pytest.param(build.node_claim(instance_type="c-old", since=HOUR_AGO), NO_REQUIREMENTS,
                     "InstanceTypeNotFound", id="its type is not sold any more"),
        pytest.param(build.node_claim(instance_type="c-old", since=LATER), NO_REQUIREMENTS, "",
                     id="its type is not sold, and it is new"),
        pytest.param(build.node_claim(zone="zone-z", since=HOUR_AGO), NO_REQUIREMENTS,
                     "InstanceTypeNotFound", id="its zone is not sold any more"),
        pytest.param(build.node_claim(capacity_type="reserved", since=HOUR_AGO), NO_REQUIREMENTS, "",
                     id="a reservation may become on-demand"),
        pytest.param(build.node_claim(launched=False, annotations=MADE | {labels.NODEPOOL_HASH: "1"}),
                     NO_REQUIREMENTS, "", id="not launched yet"),
    ],
)  # fmt: skip
def test_what_drifts(claim: NodeClaim, asked: Requirements, reason: str) -> None:
    pool = build.node_pool(requirements=asked)
    cluster = build.cluster(claim, pool, build.node_class())
    draft = Draft(claim, LATER)

    drift.advance(draft, drift.Standard.of(cluster.snapshot(LATER), cluster.catalogue))

    told = draft.condition("Drifted")
    assert (told.reason if told is not None else "") == reason


def test_a_node_that_has_not_drifted_any_more_says_so() -> None:
    before = Condition(type="Drifted", status="True", reason="AMIDrift", last_transition=NOW)
    claim = build.node_claim()
    claim = replace(claim, conditions=(*claim.conditions, before))
    cluster = build.cluster(claim, build.node_pool(), build.node_class())
    draft = Draft(claim, LATER)

    drift.advance(draft, drift.Standard.of(cluster.snapshot(LATER), cluster.catalogue))

    patch = draft.patch()
    assert isinstance(patch, PatchNodeClaim)
    told = find(patch.conditions, "Drifted")
    assert told is not None
    assert told.status == "False"


def _moment(hour: int) -> datetime:
    return NOW.replace(hour=hour)


@pytest.mark.parametrize(("hour", "left"), [(12, 0), (20, None)])
def test_a_budget_holds_by_its_schedule(hour: int, left: int | None) -> None:
    office = Budget(nodes="0", schedule="0 9 * * *", duration=timedelta(hours=8))
    snapshot = build.cluster(*fleet(3), build.node_pool(budgets=[office])).snapshot(_moment(hour))

    assert budgets.allowance(snapshot, "Drifted", _moment(hour)).left == {"default": left}
