"""What the metrics say of disruption: decisions, savings, who is kept, what budgets allow, what nodes cost."""

from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest
from prometheus_client import REGISTRY
from tests import build

from daiku import events, tick
from daiku.commands import CreateNodeClaim, DeleteNodeClaim, PatchNodeClaim
from daiku.disruption import disruption_commands
from daiku.model import labels, taints
from daiku.model.budget import Budget
from daiku.model.nodeclaim import NodeClaim
from daiku.report import Kept, Proposal, Report
from daiku.runtime.gauges import Gauges
from daiku.settings import Settings

LARGE = build.instance_type("large", price=0.4)
SMALL = build.instance_type("small", price=0.1)
CATALOGUE = build.catalogue(LARGE, SMALL)
DECISIONS = "karpenter_voluntary_disruption_decisions_total"
SAVED = "daiku_savings_usd_per_hour_total"


def value(metric: str, **asked: str) -> float | None:
    return REGISTRY.get_sample_value(metric, asked)


def observed(*objects: Any, report: Report | None = None, gauges: Gauges | None = None) -> Gauges:
    """Gauges that have seen a cluster of `objects`."""
    made = gauges or Gauges()
    snapshot = build.cluster(*objects, catalogue_of=CATALOGUE).snapshot(build.NOW)
    made.observe(snapshot, report or Report(), CATALOGUE)
    return made


def going(name: str, written: disruption_commands.Record, **fields: Any) -> NodeClaim:
    """The NodeClaim of a node that takes part in a disruption."""
    return build.node_claim(
        name, annotations={labels.DISRUPTION_COMMAND: disruption_commands.write(written)}, **fields
    )


def deletion(claim: NodeClaim, reason: str) -> DeleteNodeClaim:
    return DeleteNodeClaim(name=claim.meta.name, uid=claim.meta.uid, reason=reason)


def test_a_nodepool_costs_what_its_nodes_cost_until_it_is_gone() -> None:
    nodes = [build.node_claim(f"cost-{i}", pool="cost", instance_type="large") for i in "ab"]
    gauges = observed(build.node_pool("cost"), *nodes, *(build.node(claim=c) for c in nodes))

    assert value("karpenter_nodepools_cost_total", nodepool="cost") == pytest.approx(0.8)

    observed(build.node_pool("cost"), nodes[0], build.node(claim=nodes[0]), gauges=gauges)

    assert value("karpenter_nodepools_cost_total", nodepool="cost") == pytest.approx(0.4)

    observed(gauges=gauges)

    assert value("karpenter_nodepools_cost_total", nodepool="cost") is None
    assert value("karpenter_nodepools_allowed_disruptions", nodepool="cost", reason="Empty") is None


def test_utilization_follows_pods_and_nodes_as_they_come_and_go() -> None:
    first, second = build.node("first", cpu="4"), build.node("second", cpu="12")
    pod = build.pod("web", cpu="2", node="first")
    gauges = observed(first, pod)

    assert value("karpenter_cluster_utilization_percent", resource_type="cpu") == 50

    observed(first, second, pod, gauges=gauges)

    assert value("karpenter_cluster_utilization_percent", resource_type="cpu") == 12.5

    observed(second, gauges=gauges)

    assert value("karpenter_cluster_utilization_percent", resource_type="cpu") == 0


@pytest.mark.parametrize(
    ("budgets", "reason", "allowed"),
    [
        ((Budget(nodes="50%"),), "Empty", 2),
        ((Budget(nodes="50%"), Budget(nodes="1", reasons=("Drifted",))), "Drifted", 1),
        ((Budget(nodes="0", reasons=("Drifted",)),), "Underutilized", 2**31 - 1),
        ((Budget(nodes="some"),), "Underutilized", 0),
    ],
)
def test_what_the_budgets_of_a_nodepool_allow_is_shown_by_reason(
    budgets: tuple[Budget, ...], reason: str, allowed: int
) -> None:
    nodes = [build.node_claim(f"allowed-{i}", pool="allowed") for i in range(3)]

    observed(
        build.node_pool("allowed", budgets=budgets),
        *nodes,
        *(build.node(claim=claim) for claim in nodes),
        # One that is not ready for pods yet is none of which a budget is a share.
        build.node_claim("allowed-young", pool="allowed", initialized=False),
    )

    found = value("karpenter_nodepools_allowed_disruptions", nodepool="allowed", reason=reason)
    assert found == allowed


def test_a_budget_that_begins_meanwhile_is_shown_though_no_node_has_changed() -> None:
    nightly = Budget(nodes="0", schedule="5 * * * *", duration=timedelta(minutes=10))
    hour = build.NOW.replace(minute=0, second=0, microsecond=0)
    cluster = build.cluster(build.node_pool("nightly", budgets=(nightly,)), catalogue_of=CATALOGUE)
    gauges, seen = Gauges(), list[float | None]()
    for minute in (0, 5, 15):
        at = hour + timedelta(minutes=minute)
        gauges.observe(cluster.snapshot(at), Report(), CATALOGUE)
        seen.append(
            value("karpenter_nodepools_allowed_disruptions", nodepool="nightly", reason="Empty")
        )

    assert seen == [2**31 - 1, 0, 2**31 - 1]


def test_nodes_that_are_kept_are_counted_by_why_and_no_longer_when_they_are_not() -> None:
    kept = tuple(Kept(node_claim=f"k-{i}", reason="PodDoNotDisrupt", message="") for i in range(3))
    gauges = observed(report=Report(kept=kept))

    assert value("daiku_nodes_kept_count", reason="PodDoNotDisrupt") == 3

    observed(report=Report(), gauges=gauges)

    assert value("daiku_nodes_kept_count", reason="PodDoNotDisrupt") == 0


def test_eligible_are_nodes_that_only_a_budget_or_the_price_keeps() -> None:
    names = ("dear", "bare", "bound", "busy")
    claims = [build.node_claim(name) for name in names]
    kept = (
        Kept(node_claim="dear", reason="Unconsolidatable", message=""),
        Kept(node_claim="bare", reason="Budget", message=""),
        Kept(node_claim="bound", reason="PodDisruptionBudget", message=""),
        Kept(node_claim="busy", reason="NotEmpty", message=""),
    )
    pods = [build.pod(name, node=f"node-{name}") for name in ("dear", "bound", "busy")]
    objects = (*claims, *(build.node(claim=c) for c in claims), *pods)
    gauges = observed(*objects, report=Report(kept=kept))
    eligible = "karpenter_voluntary_disruption_eligible_nodes"

    assert value(eligible, reason="underutilized") == 1
    assert value(eligible, reason="empty") == 1
    assert value(eligible, reason="drifted") == 0

    resting = Proposal(
        id="a",
        reason="Underutilized",
        method="single",
        claims=("dear",),
        node_pools=("default",),
        new_nodes=0,
        saves_usd_per_hour=1.0,
        decided=build.NOW,
    )
    observed(*objects, report=Report(proposals=(resting,)), gauges=gauges)

    assert value(eligible, reason="underutilized") == 1


def test_a_replacement_is_one_decision_and_saves_the_difference() -> None:
    written = disruption_commands.Record(
        id="replace-1",
        reason="Underutilized",
        method="multi",
        claims=("old-a", "old-b"),
        replacements=("new-c",),
    )
    old = [going(name, written, instance_type="large") for name in written.claims]
    new = going("new-c", written, instance_type="small")
    gauges = observed(*old, new, *(build.node(claim=c) for c in (*old, new)))
    asked = {"decision": "replace", "reason": "underutilized", "consolidation_type": "multi"}
    decided, saved = value(DECISIONS, **asked) or 0, value(SAVED) or 0

    gauges.carried(CreateNodeClaim(node_claim=new, reason="underutilized"))

    assert value(DECISIONS, **asked) == decided + 1
    assert value(SAVED) == saved

    for claim in old:
        gauges.carried(deletion(claim, "Underutilized"))

    assert value(DECISIONS, **asked) == decided + 1
    assert value(SAVED) == pytest.approx(saved + 0.4 + 0.4 - 0.1)


def test_a_replacement_dearer_than_the_first_node_that_goes_never_lets_the_savings_fall() -> None:
    written = disruption_commands.Record(
        id="replace-2",
        reason="Underutilized",
        method="multi",
        claims=tuple(f"cheap-{i}" for i in range(5)),
        replacements=("dearer",),
    )
    old = [going(name, written, instance_type="small") for name in written.claims]
    new = going("dearer", written, instance_type="large")
    gauges = observed(*old, new, *(build.node(claim=c) for c in (*old, new)))
    before, seen = value(SAVED) or 0, list[float]()

    for claim in old:
        gauges.carried(deletion(claim, "Underutilized"))
        seen.append((value(SAVED) or 0) - before)

    assert seen == sorted(seen)
    assert seen[-1] == pytest.approx(0.5 - 0.4)


@pytest.mark.parametrize(
    ("method", "reason", "decision", "kind", "saves"),
    [
        ("empty", "Empty", "delete", "empty", 0.4),
        ("single", "Underutilized", "delete", "single", 0.4),
        ("drift", "Drifted", "delete", "", 0.0),
        ("static", "Drifted", "replace", "", 0.0),
    ],
)
def test_a_node_that_goes_is_one_decision_with_the_pods_that_move(
    method: str, reason: str, decision: str, kind: str, saves: float
) -> None:
    written = disruption_commands.Record(
        id=f"gone-{method}", reason=reason, method=method, claims=("gone",)
    )
    claim = going("gone", written, pool=f"gone-{method}", instance_type="large")
    pods = [build.pod(f"p{i}", node="node-gone") for i in range(2)]
    gauges = observed(claim, build.node(claim=claim), *pods)
    asked = {"decision": decision, "reason": reason.lower(), "consolidation_type": kind}
    decided, saved = value(DECISIONS, **asked) or 0, value(SAVED) or 0

    gauges.carried(deletion(claim, reason))

    assert value(DECISIONS, **asked) == decided + 1
    assert (value(SAVED) or 0) == pytest.approx(saved + saves)
    moved = value(
        "karpenter_pods_disruption_initiated_total",
        reason=reason.lower(),
        **of_pool(f"gone-{method}"),
    )
    assert moved == 2
    asked = {"reason": reason.lower(), **of_pool(f"gone-{method}")}
    assert value("karpenter_nodeclaims_disrupted_total", **asked) == 1


def of_pool(name: str, policy: str = "", mode: str = "graceful") -> dict[str, str]:
    return {
        "nodepool": name,
        "capacity_type": "on-demand",
        "consolidation_policy": policy,
        "termination_mode": mode,
    }


@pytest.mark.parametrize(
    ("reason", "grace", "policy", "mode"),
    [
        pytest.param("Underutilized", None, "when_empty", "graceful", id="no limit"),
        pytest.param("Empty", timedelta(minutes=1), "when_empty", "eventual", id="a limit"),
        pytest.param("Expired", timedelta(0), "", "forceful", id="at once, and no consolidation"),
    ],
)
def test_a_disrupted_claim_is_counted_by_policy_and_by_how_it_ends(
    reason: str, grace: timedelta | None, policy: str, mode: str
) -> None:
    pool = build.node_pool(f"mode-{mode}", consolidation_policy="WhenEmpty")
    claim = build.node_claim(f"mode-{mode}-1", pool=pool.meta.name, termination_grace_period=grace)
    gauges = observed(pool, claim, build.node(claim=claim))

    gauges.carried(deletion(claim, reason))

    asked = {"reason": reason.lower(), **of_pool(pool.meta.name, policy, mode)}
    assert value("karpenter_nodeclaims_disrupted_total", **asked) == 1


def test_a_node_that_expires_in_the_middle_of_a_consolidation_is_no_saving_of_it() -> None:
    written = disruption_commands.Record(
        id="expired-1", reason="Underutilized", method="single", claims=("expiring",)
    )
    claim = going("expiring", written, instance_type="large")
    gauges = observed(claim, build.node(claim=claim))
    saved = value(SAVED) or 0

    gauges.carried(deletion(claim, "Expired"))

    assert (value(SAVED) or 0) == saved


def test_the_gap_is_that_of_the_last_nodes_that_were_planned() -> None:
    observed(report=Report(lower_bound_usd_per_hour=2.0, new_usd_per_hour=2.1, planned_pods=True))
    observed(report=Report())

    assert value("daiku_gap_to_lower_bound_ratio") == pytest.approx(0.05)


def test_what_a_tick_decides_about_an_empty_node_is_what_is_counted() -> None:
    born = build.NOW - timedelta(hours=1)
    pool = build.node_pool("whole", consolidate_after=timedelta(0))
    claim = build.node_claim("whole-a", pool="whole", instance_type="large", since=born)
    cluster = build.cluster(
        pool, build.node_class(), claim, build.node(claim=claim), catalogue_of=CATALOGUE
    )
    begun = tick.tick(cluster.snapshot(build.NOW), CATALOGUE, Settings(), build.NOW)
    (patch,) = [c for c in begun.commands if isinstance(c, PatchNodeClaim)]
    marked = replace(
        claim,
        meta=replace(
            claim.meta,
            annotations={
                **claim.meta.annotations,
                **{k: v for k, v in (patch.annotations or {}).items() if v is not None},
            },
        ),
        conditions=(*claim.conditions, *patch.conditions),
    )
    cluster.apply(events.Seen(marked))
    cluster.apply(events.Seen(build.node(claim=marked, taints=(taints.DISRUPTED,))))
    snapshot = cluster.snapshot(build.NOW)
    plan = tick.tick(snapshot, CATALOGUE, Settings(), build.NOW)
    (end,) = [c for c in plan.commands if isinstance(c, DeleteNodeClaim)]
    saved = value(SAVED) or 0

    gauges = Gauges()
    gauges.observe(snapshot, plan.report, CATALOGUE)
    gauges.carried(end)

    assert (value(SAVED) or 0) == pytest.approx(saved + 0.4)
