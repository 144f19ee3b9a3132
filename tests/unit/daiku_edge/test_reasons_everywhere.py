"""Every reason is walked through all that gives it: the same word and the same remedy, wherever people meet it.

Reasons for which a small cluster can be made come from a tick; of the others only the rendering is walked, and `LATER`
and `ELSEWHERE` say why.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import timedelta

import pytest
from prometheus_client import REGISTRY
from tests import build
from tests.build import NOW

from daiku import explanation, reasons
from daiku.api import encode
from daiku.cli import plan_tables
from daiku.commands import Announce, CreateNodeClaim, DeleteNodeClaim
from daiku.disruption import telling
from daiku.events import Object
from daiku.kube import record as recorder
from daiku.lifecycle import conditions
from daiku.model import labels
from daiku.model.budget import Budget
from daiku.model.instance_type import Catalogue
from daiku.model.taints import AWAITING_PODS, Taint
from daiku.model.topology import AffinityTerm, HostPort
from daiku.prospect import Question
from daiku.reason import Kind, Reason, label
from daiku.report import Blocker, Kept, Report, Unschedulable
from daiku.runtime.gauges import Gauges
from daiku.scheduling.outcome import Refusal
from daiku.settings import Settings
from daiku.tick import tick

LATER_ON = NOW + timedelta(hours=1)
CLAIM = build.node_claim()
NAME = CLAIM.meta.name
NODE = build.node(claim=CLAIM)
ON = f"node-{NAME}"
APP = {"app": "web"}
KEEP = {labels.DO_NOT_DISRUPT: "true"}
HOLDS = build.pod("holds", cpu="3", node=ON, scheduled=NOW)


USUAL = build.catalogue()


@dataclass(frozen=True, kw_only=True)
class Case:
    """A cluster in which a tick gives the reason."""

    objects: Sequence[Object]
    catalogue: Catalogue = USUAL
    says: str = ""
    """Reason of an event that has the sentence too; empty: none has."""

    def question(self) -> Question:
        """The same to ask of."""
        pools = [o for o in self.objects if type(o).__name__ == "NodePool"]
        more = [] if pools else [build.node_pool()]
        return Question(
            objects=(*self.objects, *more, build.node_class()),
            catalogue=self.catalogue,
            settings=Settings(),
            now=LATER_ON,
        )


def mode(value: str) -> Object:
    pool = build.node_pool()
    return replace(
        pool,
        meta=replace(pool.meta, annotations={labels.DISRUPTION_MODE: value}),
    )


KEPT: dict[Reason, Case] = {
    reasons.BUDGET: Case(
        objects=[CLAIM, NODE, build.node_pool(budgets=[Budget(nodes="0")])], says=telling.BLOCKED
    ),
    reasons.CONSOLIDATION_DISABLED: Case(
        objects=[CLAIM, NODE, build.node_pool(consolidate_after=None)]
    ),
    reasons.DO_NOT_DISRUPT: Case(
        objects=[CLAIM, build.node(claim=CLAIM, annotations=KEEP)], says=telling.BLOCKED
    ),
    reasons.DRY_RUN: Case(objects=[CLAIM, NODE, mode("dry-run")], says=reasons.DRY_RUN),
    reasons.NODE_POOL_NOT_FOUND: Case(
        objects=[CLAIM, NODE, build.node_pool("other")], says=telling.BLOCKED
    ),
    reasons.NOMINATED: Case(objects=[CLAIM, build.node(claim=CLAIM, taints=[AWAITING_PODS])]),
    reasons.NOT_EMPTY: Case(
        objects=[CLAIM, NODE, HOLDS, build.node_pool(consolidation_policy="WhenEmpty")]
    ),
    reasons.PAUSED: Case(objects=[CLAIM, NODE, mode("paused")]),
    reasons.POD_DISRUPTION_BUDGET: Case(
        objects=[CLAIM, NODE, build.pod(node=ON, labels=APP), build.pdb(match=APP)],
        says=telling.BLOCKED,
    ),
    reasons.POD_DO_NOT_DISRUPT: Case(
        objects=[CLAIM, NODE, build.pod(node=ON, annotations=KEEP)], says=telling.BLOCKED
    ),
    reasons.SEVERAL_BUDGETS: Case(
        objects=[
            CLAIM, NODE, build.pod(node=ON, labels=APP),
            build.pdb("one", match=APP, allowed=1), build.pdb("two", match=APP, allowed=1),
        ],
        says=telling.BLOCKED,
    ),
    reasons.STATIC_NODE_POOL: Case(objects=[CLAIM, NODE, build.node_pool(replicas=1)]),
    reasons.TOO_YOUNG: Case(
        objects=[CLAIM, NODE, build.node_pool(consolidate_after=timedelta(hours=2))]
    ),
    reasons.UNCONSOLIDATABLE: Case(
        objects=[CLAIM, NODE, build.pod(node=ON, cpu="4")], says=reasons.UNCONSOLIDATABLE
    ),
}  # fmt: skip
"""Reason for which the node `NODE` is kept -> a cluster in which it is."""

LATER: dict[Reason, str] = {
    reasons.NOT_INITIALIZED: "explain says what it waits for, of the NodeClaim",
    reasons.LET_OFF: "passes within a minute of the question",
    reasons.DISRUPTING: "needs a disruption that is under way: test_moves",
    reasons.DRIFT_STOPPED: "needs a rollout: test_moves",
    reasons.CAPACITY_UNAVAILABLE: "needs a drifted node and sold out types: test_price_guard",
    reasons.DRIFT_WAITS: "needs a rollout: test_moves",
    reasons.DRIFT_WAVE: "needs a rollout: test_moves",
    reasons.LIMIT_EXCEEDED: "needs a rollout of a static NodePool: test_moves",
    reasons.LOOP: "needs an hour of history: test_past",
    reasons.NO_PLACE: "needs a rollout: test_moves",
    reasons.RETURN_WAITS: "needs a node that fell back to on-demand and its time: test_fallback",
    reasons.WAITS: "passes within a minute of the question",
}
"""Reasons for which nodes are kept that are only rendered here -> why."""

NEAR = AffinityTerm(
    key=labels.ZONE, selector=build.needs(build.require("app", "In", "db")), namespaces=("default",)
)
GONE = build.instance_type(offerings=[build.offering(0.2, available=False)])
APART = AffinityTerm(
    key=labels.HOSTNAME, selector=build.needs(build.require("app", "In", "web")), namespaces=("default",)
)  # fmt: skip
PORT = HostPort(ip="0.0.0.0", port=80, protocol="TCP")  # noqa: S104  (a fact of the pod, nobody listens)
FULL = build.node_pool(limits={"nodes": "1"})
WAITING: dict[Reason, Case] = {
    reasons.INSUFFICIENT_RESOURCES: Case(objects=[build.pod(cpu="999")]),
    reasons.DAEMON_SET_DOES_NOT_FIT: Case(objects=[build.pod(), build.daemon_set(cpu="999")]),
    reasons.REQUIREMENTS_NOT_MET: Case(objects=[build.pod(node_selector={"kubernetes.io/arch": "s390x"})]),
    reasons.TAINT_NOT_TOLERATED: Case(
        objects=[build.pod(), build.node_pool(taints=[Taint(key="own", effect="NoSchedule")])]
    ),
    reasons.NO_OFFERING: Case(objects=[build.pod()], catalogue=build.catalogue(GONE)),
    reasons.LIMIT_EXCEEDED: Case(objects=[build.pod(cpu="2"), build.node_pool(limits={"cpu": "1"})]),
    reasons.MIN_VALUES_NOT_MET: Case(
        objects=[
            build.pod(),
            build.node_pool(
                requirements=build.needs(build.require(labels.INSTANCE_TYPE, "Exists", min_values=50))
            ),
        ]
    ),
    reasons.NODE_POOL_NOT_READY: Case(objects=[build.pod(), build.node_pool(invalid="it is wrong")]),
    reasons.RESOURCE_CLAIMS_NOT_SUPPORTED: Case(objects=[build.pod(resource_claims=("gpu",))]),
    reasons.VOLUME_NOT_READY: Case(objects=[build.pod(volume_claims=("default/disk",))]),
    reasons.POD_AFFINITY_NOT_MET: Case(objects=[build.pod(pod_affinity=(NEAR,))]),
    reasons.HOST_PORT_TAKEN: Case(
        objects=[
            build.pod(cpu="100m", host_ports=(PORT,)), FULL, CLAIM, NODE,
            build.pod("holds", cpu="100m", node=ON, host_ports=(PORT,)),
        ]
    ),
    reasons.POD_ANTI_AFFINITY_NOT_MET: Case(
        objects=[
            build.pod(cpu="100m", pod_anti_affinity=(APART,)), FULL, CLAIM, NODE,
            build.pod("holds", cpu="100m", node=ON, labels=APP),
        ]
    ),
}  # fmt: skip
"""Reason why the pod web-1 waits -> a cluster in which it does."""

ELSEWHERE: dict[Reason, str] = {
    reasons.NO_NODE_POOL: "every cluster here has a NodePool: test_solver",
    reasons.CAPACITY_UNAVAILABLE: "needs a market: test_price_guard",
    reasons.TOPOLOGY_SPREAD_NOT_MET: "needs zones that are full: test_why_not",
}
"""Reasons why pods wait that are only rendered here -> why."""


def value(metric: str, **asked: str) -> float:
    """The sum over all series that have these labels."""
    return sum(
        sample.value
        for family in REGISTRY.collect()
        for sample in family.samples
        if sample.name == metric and asked.items() <= sample.labels.items()
    )


def of_kind(kind: Kind) -> list[Reason]:
    return [row.reason for row in reasons.TABLE.values() if kind in row.kinds]


def test_each_is_walked_from_a_tick_or_named_with_why_it_is_not() -> None:
    assert sorted([*KEPT, *LATER]) == sorted(of_kind(Kind.KEPT))
    assert sorted([*WAITING, *ELSEWHERE]) == sorted(of_kind(Kind.WAITING))


@pytest.mark.parametrize("reason", KEPT)
def test_a_node_is_kept_for_one_reason_in_report_metric_event_and_explanation(
    reason: Reason,
) -> None:
    case = KEPT[reason]
    question = case.question()
    snapshot = build.cluster(*question.objects, catalogue_of=case.catalogue).snapshot(LATER_ON)

    plan = tick(snapshot, case.catalogue, question.settings, LATER_ON)
    Gauges().observe(snapshot, plan.report, case.catalogue)
    found = explanation.node(question, ON)

    (kept,) = {k.reason: k for k in plan.report.kept if k.node_claim == NAME}.values()
    assert kept.reason == reason
    assert value("daiku_nodes_kept_count", reason=reason) == 1
    assert found.title == f"Node {ON} is still here: {reason}."
    assert found.reasons[0] == kept.message
    assert found.remedies == tuple(filter(None, [reasons.remedy(reason)]))
    told = [c for c in plan.commands if isinstance(c, Announce) and kept.message in c.message]
    assert {c.reason for c in told} == ({case.says} if case.says else set())


@pytest.mark.parametrize("reason", LATER)
def test_the_metric_shows_every_reason_for_which_a_node_can_be_kept(reason: Reason) -> None:
    snapshot = build.cluster(CLAIM, NODE).snapshot(LATER_ON)
    kept = Kept(node_claim=NAME, reason=reason, message=reasons.means(reason))

    Gauges().observe(snapshot, Report(kept=(kept,)), build.catalogue())

    assert value("daiku_nodes_kept_count", reason=reason) == 1


@pytest.mark.parametrize("reason", WAITING)
def test_a_pod_waits_for_one_reason_in_report_event_table_and_explanation(reason: Reason) -> None:
    case = WAITING[reason]
    question = case.question()
    cluster = build.cluster(*question.objects, catalogue_of=case.catalogue)
    cluster.snapshot(LATER_ON)
    closed = LATER_ON + timedelta(seconds=2)

    plan = tick(cluster.snapshot(closed), case.catalogue, question.settings, closed)
    found = explanation.pod(question, "default", "web-1")

    (each,) = plan.report.unschedulable
    sentences = [str(b) for b in each.blockers]
    assert reason in [b.reason for b in each.blockers]
    (event,) = [c for c in plan.commands if isinstance(c, Announce) and c.kind == "Pod"]
    assert (event.reason, event.message) == (reasons.FAILED_SCHEDULING, "; ".join(sentences))
    assert list(found.reasons) == sentences
    assert reasons.remedy(reason) in found.remedies
    assert reason in [row[1] for row in plan_tables.reasons(each).rows]


@pytest.mark.parametrize("reason", of_kind(Kind.WAITING))
def test_what_a_pod_is_told_begins_with_the_word(reason: Reason) -> None:
    blocker = Blocker(nodepool="general", reason=reason, asked="cpu 9", offered="there is 8")

    assert str(blocker) == f"NodePool general: {reason}: asks for cpu 9; there is 8"
    assert plan_tables.reasons(Unschedulable(pods=("a/b",), blockers=(blocker,))).rows == (
        ("general", reason, "asks for cpu 9; there is 8"),
    )


@pytest.mark.parametrize("reason", [*of_kind(Kind.ENDED), *of_kind(Kind.DISRUPTED)])
def test_a_deletion_is_counted_under_its_reason(reason: Reason) -> None:
    asked = {"reason": label(reason)}
    before = value("karpenter_nodeclaims_disrupted_total", **asked)

    Gauges().carried(DeleteNodeClaim(name="gone", uid="gone", reason=reason))

    assert value("karpenter_nodeclaims_disrupted_total", **asked) == before + 1


@pytest.mark.parametrize("reason", [*of_kind(Kind.MADE), reasons.DRIFTED, reasons.UNDERUTILIZED])
def test_a_creation_is_counted_under_its_reason(reason: Reason) -> None:
    asked = {"reason": label(reason), "nodepool": "everywhere"}
    before = value("karpenter_nodeclaims_created_total", **asked)

    Gauges().carried(CreateNodeClaim(node_claim=build.node_claim(pool="everywhere"), reason=reason))

    assert value("karpenter_nodeclaims_created_total", **asked) == before + 1


@pytest.mark.parametrize("reason", of_kind(Kind.EVENT))
def test_an_event_reaches_the_api_server_under_its_reason(reason: Reason) -> None:
    told = Announce.on(
        "Node", NODE.meta, type_="Normal", reason=reason, message=reasons.means(reason)
    )

    written = recorder._body(told, "name", "default", encode.time(NOW))

    assert (written["reason"], written["message"]) == (reason, reasons.means(reason))


@pytest.mark.parametrize(
    "reason",
    [
        row.reason
        for row in reasons.TABLE.values()
        if not {Kind.CONDITION, Kind.CALLED_OFF, Kind.DISRUPTED, Kind.DRIFT, Kind.LAUNCH, Kind.CLASS}
        .isdisjoint(row.kinds)
    ],
)  # fmt: skip
def test_a_condition_reaches_the_api_server_under_its_reason(reason: Reason) -> None:
    made = conditions.make(
        (), kind="Some", status="False", reason=reason, message=reasons.means(reason), generation=1, now=NOW
    )  # fmt: skip
    there = encode.Current(metadata=encode.CurrentMeta())

    (written,) = encode.merged_conditions(there, [made], NOW)

    assert (written["reason"], written["message"]) == (reason, reasons.means(reason))


def test_what_if_refusals_say_three_things() -> None:
    said = {reason: str(Refusal(reason=reason)) for reason in of_kind(Kind.REFUSED)}

    assert len(set(said.values())) == 3
